import type { Lab, LabLink, LabNetwork, LabNode, LabText, Management, TrafficFilter } from "../../intent/lab/lab.ts";
import type { KernelFeature } from "./kernel-features.ts";
import type { Reason } from "./reasons.ts";
import type { UnsupportedField } from "./support.ts";

/**
 * How a change disturbs running nodes. none: not at all. link: a link flaps. restart: a node stops and starts again. stop: a node stops. recreate: a node is
 * deleted and made again.
 */
export type Disruption = "none" | "link" | "restart" | "stop" | "recreate";
export type PlanOp = "create" | "update" | "replace" | "delete" | "start" | "stop" | "wipe";
export type PlanKind = "lab" | "network" | "node" | "config" | "link" | "text";

export interface Change {
  /** Dotted path in the resource: image, attributes.daemons, quality.a.delay. */
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly sensitive?: boolean;
  readonly origin?: Origin;
}

/** Who made a difference since the last apply: the intent, the host (a change by hand), or both. */
export type Origin = "intent" | "host" | "both";

/** A node, link or network that the change of another resource disturbs. */
export interface Affected {
  readonly kind: "node" | "link" | "network";
  readonly key: string;
}

/** One changed resource, for people. Sent as it is (PlanAction of API v1). */
export interface Action {
  readonly id: string;
  readonly op: PlanOp;
  readonly kind: PlanKind;
  readonly key: string;
  readonly native_id?: string;
  readonly name?: string;
  /** Explains the action to people. No code may decide by it. */
  readonly reason: Reason;
  readonly disruption: Disruption;
  /** Keys of the other nodes and links that the change disturbs. */
  readonly affects: readonly string[];
  /** The same things with their kinds, in the order of `affects`. Absent: `affects` is empty, or this is a step: its action has the list. */
  readonly affected?: readonly Affected[];
  readonly changes: readonly Change[];
  readonly prune: boolean;
  /** Line of the resource in the intent, from 1. */
  readonly line?: number;
  /** Absent: not known, or an action of power. */
  readonly origin?: Origin;
  /** A fact that people need before they approve the action, for example a step that is still needed until it takes effect. */
  readonly note?: string;
}

/** One ordered host step. API v1 sends it without `step`, which is what the driver runs. */
export interface Operation extends Action {
  /** The id of the action that the step belongs to. */
  readonly of: string;
  readonly step: Step;
}

/** A host change as data. Nodes, networks and links are named by intent key; the driver maps keys to its ids. */
export type Step =
  /**
   * An empty lab with name, description, texts and traffic filters. `lab` is the whole wanted lab with template defaults, so that a driver can make
   * everything at once. The create steps that follow are idempotent.
   */
  | { readonly do: "create-lab"; readonly lab: Lab }
  | {
      readonly do: "update-lab";
      readonly name?: string;
      readonly description?: string;
      /** null: none. */
      readonly management?: Management | null;
      readonly texts?: readonly LabText[];
      readonly trafficFilters?: readonly TrafficFilter[];
    }
  | { readonly do: "delete-lab"; readonly wipe: boolean }
  | { readonly do: "create-network"; readonly network: LabNetwork }
  | { readonly do: "update-network"; readonly network: LabNetwork }
  | { readonly do: "delete-network"; readonly network: string }
  | { readonly do: "create-node"; readonly node: LabNode }
  /**
   * The whole wanted node, also for a startup-config (kind config). `fields` lists the fields of LabNode that differ. In the step that makes the live
   * changes, fields that wait for a restart still have their observed values.
   */
  | { readonly do: "update-node"; readonly node: LabNode; readonly fields: readonly string[] }
  /** Deletes the node and its disk. */
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
  /** The steps of apply, in order. */
  readonly operations: readonly Operation[];
  /** Actions that cannot be applied now, each with its reason. */
  readonly blocked: readonly Action[];
  /** "<key>.<field>: why". */
  readonly unsupported: readonly string[];
  /** The same as data. Not sent. */
  readonly unsupportedFields: readonly UnsupportedField[];
  readonly summary: PlanSummary;
  /** Nothing is blocked, the lab is not locked, and nothing is unsupported unless the caller allows that. */
  readonly applicable: boolean;
  /** The plan as a terminal shows it. */
  readonly text: string;
}

/** How a running node takes a change of one field. "unsupported": the host cannot store the field. */
export type FieldRule = "live" | "restart" | "recreate" | "unsupported";

/** The registries from which a host fetches images that it does not have. */
export interface PullRules {
  /** For names without a registry. */
  readonly defaultRegistry?: string;
  /** Those that the user may name, sorted; "any" if all. */
  readonly registries: readonly string[] | "any";
}

/** The facts of a template that plans need: its defaults, and how each field of a node changes. From the host's catalogue. */
export interface TemplateRules {
  readonly id: string;
  readonly type: string;
  readonly image?: string;
  /** Names of the installed images; empty if there are none. Absent: the template takes no image, or the host cannot list them. */
  readonly images?: readonly string[];
  /** The file that an image is made from, and its source: "the file vios-*.qcow2 of Cisco IOSv from …". Absent: not known. */
  readonly needs?: string;
  /** A name that an image of the template can have, if its file does not contain one: "ceos:VERSION". */
  readonly imageName?: string;
  /** The host fetches images for this template. Absent: it has all that nodes can have. */
  readonly pulls?: PullRules;
  /** The origin of its images, for people. */
  readonly imageSource?: string;
  /** Needs of its nodes that the host does not meet. */
  readonly lacks?: readonly TemplateLack[];
  readonly icon?: string;
  readonly cpu?: number;
  readonly ram?: number;
  /** MiB that a node takes if the intent declares no ram. */
  readonly need?: number;
  /** Interfaces of a node if neither intent nor links need more; absent: none. */
  readonly ethernet?: number;
  /** Ethernet interfaces come in groups of this many: a count is rounded up to whole groups. Default 1. */
  readonly ethernetGroup?: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Allowed values of "cpu" and "ram" if they are limited, and of each attribute as "attributes.<name>". Absent: the host itself checks values. */
  readonly values?: Readonly<Record<string, ValueRule>>;
  readonly startupConfig: boolean;
  /** The language of startup-configs. frr: a running node takes most changes (base/frr-config.ts); the others restart it, if the field is "live". */
  readonly configLanguage?: "frr";
  /** When an existing node gets a changed startup-config: a sentence for people. Absent: as the field\'s rule states. */
  readonly configTaken?: string;
  /** LabNode field (name, image, icon, kernel, startupConfig, exec, cpu, ram, ethernet, position, env, attributes, labels) → rule. A field without a rule is "live". */
  readonly fields: Readonly<Record<string, FieldRule>>;
  /** Why a field is unsupported, for people: field → text. */
  readonly why?: Readonly<Record<string, string>>;
  /** Its nodes publish ports over the management network of their lab, and so only in a lab that has one. */
  readonly portsNeedManagement?: true;
  /** How a running node of this template takes a new or deleted link. */
  readonly links: "live" | "restart" | "recreate";
  /** Format of interface names, such as "eth{0}", as in the catalogue. Used to count the interfaces that a link needs. */
  readonly ethFormat: string;
  /** The highest number of ethernet interfaces. */
  readonly maxInterfaces: number;
  /** Limits of its nodes with a kernel of their own; absent: it has no such nodes. Memory in MiB. */
  readonly ownKernel?: { readonly maxInterfaces: number; readonly minRam: number };
  /** Serial interfaces in slots that follow the ethernet slots, as on IOL: s1/0 if e0/0 to e0/3 are all ethernet. Absent: none. */
  readonly serial?: SerialRule;
  /** Interfaces of modules in numbered slots, as on Dynamips: fa1/0 if the attribute slot1 is "NM-1FE-TX". Absent: none. */
  readonly modules?: ModuleRule;
}

/** Something that the software of a template needs and that the host does not give to its nodes. Texts are for people. */
export interface TemplateLack {
  /** A noun phrase. */
  readonly what: string;
  readonly for: string;
  /** The effect, a sentence. */
  readonly without: string;
  readonly instead?: string;
  /** Only nodes whose startup-config matches this regular expression need it, with the flag m; absent: all. */
  readonly ifConfig?: string;
}

/** A rule for the value as text, because an attribute of type number may also be written as "4". */
export interface ValueRule {
  readonly type: "string" | "integer" | "number" | "boolean" | "enum" | "text";
  /** Allowed values of an enum. */
  readonly options?: readonly string[];
  /** For a string that is a list: the allowed words, separated by spaces or commas. `usual` is the value that means no list. */
  readonly words?: readonly string[];
  readonly usual?: string;
  readonly min?: number;
  readonly max?: number;
}

export interface SerialRule {
  /** Text before slot and port: "s" of s1/0. */
  readonly prefix: string;
  /** Interfaces per slot, ethernet or serial. */
  readonly ports: number;
  /** The attribute that holds the number of a node's serial slots. */
  readonly attribute: string;
}

export interface ModuleRule {
  /** Text before the slot number in the attribute's name: "slot" of slot1. */
  readonly attribute: string;
  /** By the attribute's value: the letters before slot and port, and the number of ports of the module. */
  readonly kinds: Readonly<Record<string, { readonly prefix: string; readonly ports: number }>>;
}

/** Which networks of type vxlan a host can have. */
export interface TunnelRules {
  /** IPv4 networks with a prefix length, such as 192.0.2.0/24. */
  readonly remotes: readonly string[];
  readonly vnis: { readonly first: number; readonly last: number };
  readonly port: number;
  /** The largest MTU of links that fits into the packets of the network between the machines. */
  readonly mtu: number;
}

/** The facts of a host that plans need. Data only: the engine never calls the host. */
export interface HostRules {
  readonly templates: readonly TemplateRules[];
  readonly networkTypes: readonly string[];
  /** By a type that the host does not have: the type to use instead, for people. */
  readonly otherNetworkTypes?: Readonly<Record<string, string>>;
  /** The tunnels that the host's administrator allows. Absent: none. */
  readonly tunnels?: TunnelRules;
  /** Features as in capabilities. linkQuality and linkSuspend decide which link fields are unsupported. */
  readonly features: Readonly<Record<string, boolean>>;
  /**
   * Fields that the host cannot store: texts, trafficFilters, description, position, labels, env, mtu, start …, for every kind or for one
   * ("network.icon", "lab.name", "link.mtu"). A field that is not listed is stored.
   */
  readonly unsupportedFields: readonly string[];
  /** Why a field is unsupported, for people: field as in unsupportedFields → text. */
  readonly why?: Readonly<Record<string, string>>;
  /** Features that the kernel of the host's machine does not have; absent: the host does not report them. */
  readonly kernelLacks?: readonly KernelFeature[];
  /** The host stores positions as whole numbers from 0: others are rounded. Default false. */
  readonly wholePositions?: boolean;
  /**
   * The host stores link quality as whole numbers, and only at ends that are nodes. Serial links and links from a node to itself have none. Default
   * false: all quality is stored.
   */
  readonly plainQuality?: boolean;
  /** CPU cores of the host; absent if the host does not report them. */
  readonly cores?: number;
  /** MiB of memory that is free for nodes that start; absent if the host does not report it. */
  readonly freeMemory?: number;
  /** A regular expression that shown names of nodes must match; absent: any name is accepted. */
  readonly nodeName?: string;
  /** A regular expression that shown names of networks must match, and why, for people; absent: any name is accepted. */
  readonly networkName?: { readonly pattern: string; readonly why: string };
  /** Highest number of nodes in a lab; absent: no limit. */
  readonly maxNodes?: number;
}
