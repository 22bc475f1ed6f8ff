import type { ObservedLimits } from "../../../engine/model/observed.ts";
import type { HostRules } from "../../../engine/model/plan.ts";
import type { Feature, HostIcon, HostNetworkType, HostTemplate } from "../../host.ts";
import type { LocalImage } from "../images/images.ts";
import type { NodeSize } from "./node-needs.ts";
import type { LocalTemplate } from "./template.ts";

/** What this host offers at one moment. */
export interface Catalogue {
  readonly template: (id: string) => LocalTemplate | undefined;
  readonly images: readonly LocalImage[];
  /** What the machine keeps a node to; undefined for one that has no process. */
  readonly limits: (node: NodeSize) => ObservedLimits | undefined;
  readonly templates: readonly HostTemplate[];
  readonly networkTypes: readonly HostNetworkType[];
  readonly icons: readonly HostIcon[];
  readonly features: Readonly<Record<Feature, boolean>>;
  readonly rules: HostRules;
}
