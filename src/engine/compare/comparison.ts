import type { Endpoint, Lab, LabLink, LabNetwork, LabNode } from "../../intent/lab/lab.ts";
import type { ObservedLab, ObservedNode } from "../model/observed.ts";
import type { Change, Disruption, HostRules, TemplateRules } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import type { UnsupportedField } from "../model/support.ts";
import type { LinkDifference } from "./diff-link.ts";
import type { FieldDifference } from "./diff-node.ts";
import type { JoinedIds } from "./join.ts";

/** create: only in the intent. keep: in both. delete: only on the host, and will be deleted. extra: only on the host, and stays. */
export type Fate = "create" | "keep" | "delete" | "extra";

/** One node: its state on the host and its wanted state. propagate.ts sets `need` and `level` after all nodes are compared. */
export interface NodeWork {
  readonly key: string;
  readonly fate: Fate;
  /** The node as written in the intent; absent for delete and extra. */
  readonly intent: LabNode | undefined;
  readonly observed: ObservedNode | undefined;
  /** The observed node with the intent's field names. */
  readonly before: LabNode | undefined;
  /** The node as the host should hold it; absent for delete. */
  after: LabNode | undefined;
  /** Rules of the template that is on the host now; for a new node, of the wanted template. */
  readonly template: TemplateRules | undefined;
  readonly up: boolean;
  /** The node is stopped only because an earlier change was cut off before it started the node. */
  readonly isOwed: boolean;
  /** Whether the node runs after the plan. */
  readonly wantUp: boolean;
  differences: readonly FieldDifference[];
  /** The power change that the node needs for its own changes or those of its links. */
  need: "none" | "restart" | "recreate";
  /** The action that requires `need`, if it is not the node's own action. */
  cause: string | undefined;
  /** How much the stop, deletion or recreation of the node disturbs running nodes and links, including everything that must happen with it. */
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
  /** The type changes: the links are taken off, and the network is deleted and recreated. */
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
  /** Why an extra link is deleted although prune is off. */
  readonly reason: Reason<"interface_taken" | "interface_gone"> | undefined;
  readonly nodes: readonly NodeWork[];
  readonly network: NetworkWork | undefined;
  /** The action whose recreation takes this link off and puts it back. */
  relink: string | undefined;
  /** Extra links whose interfaces this new link takes. */
  readonly takes: LinkWork[];
  /** The new links that take interfaces of this extra link. */
  readonly takenBy: LinkWork[];
  level: Disruption;
}

/** The result of comparing the intent with the host. */
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

/** Differences of the lab's own fields. */
export interface LabDifference {
  readonly changes: readonly Change[];
  readonly textChanges: readonly Change[];
}

export function interfacesOf(endpoints: readonly Endpoint[]): readonly { readonly node: string; readonly interface: string }[] {
  return endpoints.filter((endpoint) => "node" in endpoint);
}
