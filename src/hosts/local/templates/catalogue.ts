import type { ObservedLimits } from "../../../engine/model/observed.ts";
import type { HostRules } from "../../../engine/model/plan.ts";
import type { Feature, HostIcon, HostNetworkType, HostTemplate } from "../../host.ts";
import type { LocalImage } from "../images/images.ts";
import type { NodeSize } from "./node-needs.ts";
import type { LocalTemplate } from "./template.ts";

/** The current templates and images of this host. */
export interface Catalogue {
  readonly template: (id: string) => LocalTemplate | undefined;
  readonly images: readonly LocalImage[];
  /** Returns the limits that the machine enforces for a node, `undefined` for a node without processes. */
  readonly limits: (node: NodeSize) => ObservedLimits | undefined;
  readonly templates: readonly HostTemplate[];
  readonly networkTypes: readonly HostNetworkType[];
  readonly icons: readonly HostIcon[];
  readonly features: Readonly<Record<Feature, boolean>>;
  readonly rules: HostRules;
}
