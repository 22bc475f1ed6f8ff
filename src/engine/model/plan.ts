import type { Lab, LabLink, LabNetwork, LabNode, LabText, TrafficFilter } from "../../intent/lab/lab.ts";
import type { Reason } from "./reasons.ts";
import type { UnsupportedField } from "./support.ts";

/** What running things feel: nothing, a link that flaps, or a node that goes down. */
export type Disruption = "none" | "link" | "restart" | "stop" | "recreate";
export type PlanOp = "create" | "update" | "replace" | "delete" | "start" | "stop" | "wipe";
export type PlanKind = "lab" | "network" | "node" | "config" | "link" | "text";

export interface Change {
  /** Dotted from the resource: image, attributes.daemons, quality.a.delay. */
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly sensitive?: boolean;
  readonly origin?: Origin;
}

/** Who made a difference since the last apply: the intent, the host (a change by hand), or both. */
export type Origin = "intent" | "host" | "both";

/** A node, link or network that feels the change of another resource. */
export interface Affected {
  readonly kind: "node" | "link" | "network";
  readonly key: string;
}

/** One changed resource, for people. On the wire as it is (api-v1 PlanAction). */
export interface Action {
  readonly id: string;
  readonly op: PlanOp;
  readonly kind: PlanKind;
  readonly key: string;
  readonly native_id?: string;
  readonly name?: string;
  /** Explains the action. Nothing is decided by it. */
  readonly reason: Reason;
  readonly disruption: Disruption;
  /** Keys of the other nodes and links that the change disturbs. */
  readonly affects: readonly string[];
  /** The same things with their kinds, in the order of `affects`. Absent: `affects` is empty, or this is a step: its action has the list. */
  readonly affected?: readonly Affected[];
  readonly changes: readonly Change[];
  readonly prune: boolean;
  /** Where the intent says it, from 1. */
  readonly line?: number;
  /** Absent: not known, or an action of power. */
  readonly origin?: Origin;
}

/** One ordered host step. The wire shows it without `step`; the host runs `step`. */
export interface Operation extends Action {
  /** The id of the action it belongs to. */
  readonly of: string;
  readonly step: Step;
}

/** What the host is asked to do, as data. Nodes, networks and links are named by intent key; the driver joins them to its ids. */
export type Step =
  /**
   * An empty lab with name, description, texts and traffic filters. The whole wanted lab comes with it, template defaults filled
   * in, so that a driver with a bulk path may make everything at once: the create steps that follow are idempotent.
   */
  | { readonly do: "create-lab"; readonly lab: Lab }
  | {
      readonly do: "update-lab";
      readonly name?: string;
      readonly description?: string;
      readonly texts?: readonly LabText[];
      readonly trafficFilters?: readonly TrafficFilter[];
    }
  | { readonly do: "delete-lab"; readonly wipe: boolean }
  | { readonly do: "create-network"; readonly network: LabNetwork }
  | { readonly do: "update-network"; readonly network: LabNetwork }
  | { readonly do: "delete-network"; readonly network: string }
  | { readonly do: "create-node"; readonly node: LabNode }
  /**
   * The whole wanted node; fields (of LabNode) names what differs. Includes startup-config (kind config). Fields that wait for a
   * restart are still as observed in the step that changes the live ones.
   */
  | { readonly do: "update-node"; readonly node: LabNode; readonly fields: readonly string[] }
  /** The node and its disk. */
  | { readonly do: "delete-node"; readonly node: string }
  | { readonly do: "create-link"; readonly link: LabLink }
  | { readonly do: "update-link"; readonly link: LabLink; readonly fields: readonly string[] }
  | { readonly do: "delete-link"; readonly link: string }
  | { readonly do: "start"; readonly node: string }
  | { readonly do: "stop"; readonly node: string; readonly mode: StopMode }
  | { readonly do: "wipe"; readonly node: string };

/** 0 graceful, 1 poweroff, 2 hibernate, 3 auto (graceful, then poweroff). */
export type StopMode = 0 | 1 | 2 | 3;

export interface PlanSummary {
  readonly creates: number;
  readonly updates: number;
  readonly deletes: number;
  readonly replaces: number;
  readonly stops: number;
  readonly starts: number;
  readonly unchanged: number;
  readonly skipped_prune: number;
  readonly unsupported: number;
}

export interface Plan {
  /** One per changed resource, sorted for people. */
  readonly actions: readonly Action[];
  /** What apply runs, in this order. */
  readonly operations: readonly Operation[];
  /** Actions that cannot be applied now, each with its reason. */
  readonly blocked: readonly Action[];
  /** "<key>.<field>: why". */
  readonly unsupported: readonly string[];
  /** The same as parts. Not on the wire. */
  readonly unsupportedFields: readonly UnsupportedField[];
  readonly summary: PlanSummary;
  /** Nothing blocked, not locked, and nothing unsupported unless that is allowed. */
  readonly applicable: boolean;
  /** What a terminal shows. */
  readonly text: string;
}

/** How a change of one field is taken by a running node. "unsupported": the host has no home for the field at all. */
export type FieldRule = "live" | "restart" | "recreate" | "unsupported";

/** What the engine must know of a template: its defaults and how each field of a node changes. From the host's catalogue. */
export interface TemplateRules {
  readonly id: string;
  readonly type: string;
  readonly image?: string;
  /** Names of the images that are there; empty: none provisioned. Absent: the template takes no image, or the host cannot tell. */
  readonly images?: readonly string[];
  readonly icon?: string;
  readonly cpu?: number;
  readonly ram?: number;
  /** MiB that a node takes whose intent declares no ram. */
  readonly need?: number;
  /** Interfaces that a node has when neither intent nor links ask for more; absent: none. */
  readonly ethernet?: number;
  /** Ethernet interfaces come in groups of this many: a count is rounded up to whole groups. Default 1. */
  readonly ethernetGroup?: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** What values may be: of "cpu" and "ram" where they are bounded, and of each attribute that there is, as "attributes.<name>". Absent: the host tells itself. */
  readonly values?: Readonly<Record<string, ValueRule>>;
  readonly startupConfig: boolean;
  /** LabNode field (name, image, icon, startupConfig, exec, cpu, ram, ethernet, position, env, attributes, labels) → rule; a field left out is "live". */
  readonly fields: Readonly<Record<string, FieldRule>>;
  /** Why a field is unsupported, for people: field → text. */
  readonly why?: Readonly<Record<string, string>>;
  /** What adding or removing a link does to a running node of this template. */
  readonly links: "live" | "restart" | "recreate";
  /** Interface names by index: "eth{0}" style, as in the catalogue; used to count interfaces a link needs. */
  readonly ethFormat: string;
  /** First interface index a person links (1 where eth0 is management), only for completion order. */
  readonly maxInterfaces: number;
  /** Serial interfaces in slots that follow those of the ethernet interfaces, as on IOL: s1/0 where e0/0 to e0/3 are all. Absent: none. */
  readonly serial?: SerialRule;
  /** Interfaces of modules in numbered slots, as on Dynamips: fa1/0 where the attribute slot1 is "NM-1FE-TX". Absent: none. */
  readonly modules?: ModuleRule;
}

/** Of the value as text: an attribute of type number may be written as "4" too. */
export interface ValueRule {
  readonly type: "string" | "integer" | "number" | "boolean" | "enum" | "text";
  /** Of an enum. */
  readonly options?: readonly string[];
  /** Of a string that is a list: its words, with spaces or commas between them. `usual` stands for no list. */
  readonly words?: readonly string[];
  readonly usual?: string;
  readonly min?: number;
  readonly max?: number;
}

export interface SerialRule {
  /** Before slot and port: "s" of s1/0. */
  readonly prefix: string;
  /** Interfaces in a slot, of either kind. */
  readonly ports: number;
  /** The attribute that counts a node's slots of serial interfaces. */
  readonly attribute: string;
}

export interface ModuleRule {
  /** Before the number of the slot in the attribute's name: "slot" of slot1. */
  readonly attribute: string;
  /** By the attribute's value: the letters before slot and port, and how many ports the module has. */
  readonly kinds: Readonly<Record<string, { readonly prefix: string; readonly ports: number }>>;
}

/** What the engine must know of the host: facts, no calls. */
export interface HostRules {
  readonly templates: readonly TemplateRules[];
  readonly networkTypes: readonly string[];
  /** Features as in capabilities; linkQuality and linkSuspend decide what of a link is unsupported. */
  readonly features: Readonly<Record<string, boolean>>;
  /**
   * Fields that have no home on the host: texts, trafficFilters, description, position, labels, env, mtu, start …, for every kind or
   * for one ("network.icon", "lab.name", "link.mtu"). A word that is not listed has a home.
   */
  readonly unsupportedFields: readonly string[];
  /** Positions are whole numbers from 0 here: others are moved to the nearest. Default false. */
  readonly wholePositions?: boolean;
  /** Link quality is kept in whole numbers, at the ends that are nodes, not of serial links, and not of a link from a node to itself. Default: all of it is kept. */
  readonly plainQuality?: boolean;
  /** CPU cores of the host; absent: the host does not tell. */
  readonly cores?: number;
  /** MiB of memory that nodes which are started may still have; absent: the host does not tell. */
  readonly freeMemory?: number;
  /** A regular expression that shown names of nodes must match; absent: any name will do. */
  readonly nodeName?: string;
  /** A regular expression that shown names of networks must match, and why, for people; absent: any name will do. */
  readonly networkName?: { readonly pattern: string; readonly why: string };
  /** How many nodes a lab can have; absent: any number. */
  readonly maxNodes?: number;
}
