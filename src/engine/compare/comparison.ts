import type { Endpoint, Lab, LabLink, LabNetwork, LabNode } from "../../intent/lab/lab.ts";
import type { ObservedLab, ObservedNode } from "../model/observed.ts";
import type { Change, Disruption, HostRules, TemplateRules } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import type { UnsupportedField } from "../model/support.ts";
import type { LinkDifference } from "./diff-link.ts";
import type { FieldDifference } from "./diff-node.ts";
import type { JoinedIds } from "./join.ts";

/** create: only in the intent; keep: in both; delete: only on the host, and goes; extra: only on the host, and stays. */
export type Fate = "create" | "keep" | "delete" | "extra";

/** One node on its way from what is to what shall be. `need` and `level` are settled after all is compared (settle.ts). */
export interface NodeWork {
  readonly key: string;
  readonly fate: Fate;
  /** As written; absent for delete and extra. */
  readonly intent: LabNode | undefined;
  readonly observed: ObservedNode | undefined;
  /** The observed node in intent words. */
  readonly before: LabNode | undefined;
  /** What the host shall hold; absent for delete. */
  after: LabNode | undefined;
  /** Rules of what runs there now; for a new node, of the wanted template. */
  readonly template: TemplateRules | undefined;
  readonly up: boolean;
  /** It is stopped only because a change that was to start it broke off. */
  readonly isOwed: boolean;
  /** Whether it shall run when the plan is done. */
  readonly wantUp: boolean;
  differences: readonly FieldDifference[];
  /** What must happen to the node so that its own or its links' changes can be made. */
  need: "none" | "restart" | "recreate";
  /** The action that asked for `need`, where it is not the node's own. */
  cause: string | undefined;
  /** What its being stopped, deleted or recreated, and all that must go with it, does to running things. */
  level: Disruption;
  readonly links: LinkWork[];
}

export interface NetworkWork {
  readonly key: string;
  readonly fate: Fate;
  readonly before: LabNetwork | undefined;
  readonly after: LabNetwork | undefined;
  readonly id: string | undefined;
  readonly changes: readonly Change[];
  /** Its type changes: its links are taken off, it is deleted and made anew. */
  readonly replaced: boolean;
  level: Disruption;
  readonly links: LinkWork[];
}

export interface LinkWork {
  readonly key: string;
  readonly fate: Fate;
  readonly id: string | undefined;
  readonly before: LabLink | undefined;
  readonly after: LabLink | undefined;
  readonly differences: readonly LinkDifference[];
  /** Why an extra link goes although the intent does not name it. */
  readonly reason: Reason<"interface_taken" | "interface_gone"> | undefined;
  readonly nodes: readonly NodeWork[];
  readonly network: NetworkWork | undefined;
  /** The action whose recreation takes this link off and puts it back. */
  relink: string | undefined;
  /** Extra links whose interface this new link takes. */
  readonly takes: LinkWork[];
  /** The new links that take this extra link's interfaces. */
  readonly takenBy: LinkWork[];
  level: Disruption;
}

/** Everything the intent and the host say, side by side. */
export interface Comparison {
  readonly desired: Lab;
  readonly observed: ObservedLab | null;
  readonly rules: HostRules;
  readonly ids: JoinedIds;
  readonly nodes: ReadonlyMap<string, NodeWork>;
  readonly networks: ReadonlyMap<string, NetworkWork>;
  readonly links: ReadonlyMap<string, LinkWork>;
  readonly lab: LabDifference;
  readonly unsupported: readonly UnsupportedField[];
}

/** What differs of the lab itself. */
export interface LabDifference {
  readonly changes: readonly Change[];
  readonly textChanges: readonly Change[];
}

export function interfacesOf(endpoints: readonly Endpoint[]): readonly { readonly node: string; readonly interface: string }[] {
  return endpoints.filter((endpoint) => "node" in endpoint);
}
