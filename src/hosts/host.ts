import type { Duplex } from "node:stream";
import type { Failure } from "../contract/errors.ts";
import type { NumberClash, ObservedEndpoint, ObservedLab, ObservedLink, Power } from "../engine/model/observed.ts";
import type { HostRules, Operation, StopMode } from "../engine/model/plan.ts";
import type { Quality, Scalar } from "../intent/lab/lab.ts";
import type { HostCaptures } from "./host-captures.ts";
import type { HostDisks } from "./host-disks.ts";
import type { HostPictures } from "./host-pictures.ts";
import type { HostSnapshots } from "./host-snapshots.ts";
import type { HostTraffic } from "./host-traffic.ts";

/**
 * A network-emulation host, as the service sees it. Small on purpose: what the service can do with observe, apply and
 * status it does not ask a driver for. Shaped for a kernel host and for REST hosts: reads are whole-lab (one or few calls),
 * changes are a list of steps that the driver may batch, bulk-upload or run one call at a time; native ids stay the driver's.
 *
 * Errors: every method throws `Failure` (contract/errors.ts) with host_error, host_unreachable, host_timeout,
 * expired_host_session, lab_not_found, node_not_found, unsupported, invalid_credentials …; anything else is a defect.
 */
export interface Host {
  /** embedded, memory, eve, gns3 … */
  readonly kind: string;
  /** Where it is: "local:" for the embedded host, the base URL for others. */
  readonly url: string;
  /** Opens a session for this user. Throws invalid_credentials or host_unreachable. */
  login(user: string, password: string, signal?: AbortSignal): Promise<HostSession>;
  /**
   * A session without a password, for hosts that live inside the service's own trust (embedded, memory): used after a service
   * restart and to finish jobs that a crash cut off. Absent: users must log in again. null: no such user.
   */
  readonly resume?: (user: string) => Promise<HostSession | null>;
  /** What the host says of its users at any time. Absent: it says it at login only, and a session keeps the role of its login. */
  readonly accounts?: HostAccounts;
  /** The path of the lab that a capture belongs to, undefined where there is no such capture. Absent: the host makes none. */
  readonly labOfCapture?: (capture: string) => Promise<string | undefined>;
  /**
   * Whether a lab is at this path, also one in quarantine, whoever owns it. For hosts whose labs are all made through Labwright: a lab without a record is for admins only.
   * Absent: the host has labs of its own and decides who sees them, by the session of each user.
   */
  readonly holds?: (lab: string) => Promise<boolean>;
  /**
   * The host's id of the lab at this path, whoever owns it; undefined if there is none. Cheap. Another lab at the same path has another id. Absent: the
   * host's paths change through Labwright alone, or ids cost a whole read.
   */
  readonly labId?: (lab: string) => Promise<string | undefined>;
  /** All labs in quarantine, as `HostQuarantine.list` returns them, for the service itself. Absent: the host has none. */
  readonly quarantined?: () => Promise<readonly QuarantinedLab[]>;
  close(): Promise<void>;
}

/** Asked with every request: answers come at once, from what the host has in memory. Throws host_error where they cannot be read. */
export interface HostAccounts {
  /** Another text whenever any account may have changed. */
  mark(): string;
  /** null: no such user. */
  find(user: string): HostAccount | null;
}

export interface HostAccount {
  readonly role: HostSession["role"];
  /** Another text with every new password; tells nothing of the password itself. */
  readonly credential: string;
}

export interface HostSession {
  readonly user: string;
  /** admin may everything; user may change labs; viewer may look. */
  readonly role: "admin" | "user" | "viewer";
  capabilities(): Promise<HostCapabilities>;
  templates(): Promise<readonly HostTemplate[]>;
  networkTypes(): Promise<readonly HostNetworkType[]>;
  icons(): Promise<readonly HostIcon[]>;
  /** The facts the engine plans with; derived from the catalogue, cheap. */
  rules(): Promise<HostRules>;
  /**
   * The persisted definition and power of one lab, or null where the host has none at that path. Throws what `unreadableLab` makes for a lab that is
   * there and cannot be read.
   */
  observe(lab: string): Promise<ObservedLab | null>;
  /**
   * The link between these two ends, from the definition alone: in either order of the ends, undefined where there is none or more than one. Absent
   * where it would cost about what observe does. Throws lab_not_found.
   */
  readonly findLink?: (lab: string, ends: readonly [ObservedEndpoint, ObservedEndpoint]) => Promise<ObservedLink | undefined>;
  /** Why the host can have no lab at this path; undefined: it can. Absent: the host takes every path. */
  readonly checkLabPath?: (lab: string) => string | undefined;
  /** Paths of the labs that the host holds. */
  labs(): Promise<readonly string[]>;
  /**
   * Runs the steps in order. The driver may batch neighbours, but reports each step once through `progress`, in order, and stops
   * at the first failure (throws host_error with data.host; steps already reported stay done). A batch of power steps goes on after a node that fails:
   * then the steps of the others are reported in any order, and data.failures holds each failed step: `{ id, message }`. Between batches it honours
   * `signal` and `progress.locked`. Every step is idempotent: running a list again after a crash converges.
   */
  apply(lab: string, operations: readonly Operation[], progress: Progress): Promise<Applied>;
  /**
   * The nodes with these ids that go on running though the host has no such lab any more. Absent: nodes end with their lab, or nobody can see them.
   */
  readonly leftRunning?: (lab: string, ids: NativeIds) => Promise<readonly ChangeWarning[]>;
  /** Removes a folder if it is empty. Returns whether the folder is gone. Absent: folders are not objects of the host's own. */
  readonly removeFolder?: (folder: string) => Promise<boolean>;
  /**
   * Copies into the lab `to` what the lab `from` has beyond its definition, such as drawings and notes. The source is only read. Safe to run again. Returns
   * what became of each part. Absent: labs of the host have nothing beyond their definition. Throws lab_not_found.
   */
  readonly copyExtras?: (from: string, to: string, about: ExtrasCopy) => Promise<readonly CopiedExtra[]>;
  /** Power of all nodes, live. One read for all pollers; the service calls it at most once per interval and lab. */
  status(lab: string): Promise<LiveStatus>;
  /**
   * What leaves endpoints[0] (a) and endpoints[1] (b) of the link from now on; a side absent is cleared. With save it is persisted, without it
   * lasts until it is declared anew or an end of the link stops. Throws link_not_found, lab_locked, unsupported (feature `linkQuality`).
   */
  setLinkQuality(lab: string, linkId: string, quality: LinkSides<Quality>, options: { readonly save: boolean }): Promise<LinkQualityState>;
  /**
   * Takes the carrier away from endpoints[0] (a), endpoints[1] (b) of the link, or gives it back; a side absent stays. Persisted. Answers both. Throws
   * link_not_found, lab_locked, unsupported (feature `linkSuspend`).
   */
  setLinkSuspend(lab: string, linkId: string, suspended: LinkSides<boolean>): Promise<Required<LinkSides<boolean>>>;
  /** What is wrong with a pcap filter, undefined for one that compiles. Absent: the host has nothing that could tell. */
  readonly checkPcapFilter?: (filter: string) => Promise<string | undefined>;
  /**
   * What is wrong with the value of a template's attribute that has a grammar of its own, which rules() do not tell; undefined for a good one and
   * for what there is no grammar of. Absent: the host has no such attribute.
   */
  readonly checkAttribute?: (template: string, name: string, value: Scalar) => Promise<ValueProblem | undefined>;
  /** Disks of labs that were removed without wiping. Absent where the host keeps none (feature `keptDisks`). */
  readonly disks?: HostDisks;
  /** Packet captures. Absent where the host has none (feature `capture`). */
  readonly captures?: HostCaptures;
  /** Packets of links as they pass. Absent where the host has none (feature `traffic`). */
  readonly traffic?: HostTraffic;
  /** Gives the lab to another user, for admins only. Absent: the host's labs have no owner that Labwright could set. */
  readonly setOwner?: (lab: string, owner: string) => Promise<void>;
  /** Labs that the host holds and does not know any more, for admins. Absent: the host has none such. */
  readonly quarantine?: HostQuarantine;
  /**
   * Makes running nodes keep the configuration that they run with: they boot with it from then on, and `observe` returns it as their startup
   * configuration. One node that fails keeps no other from its turn. Absent where the host has no way to save (feature `saveConfigs`).
   * @returns by node id, the configuration or why there is none: unsupported, node_not_running, host_error
   */
  readonly saveConfigs?: (lab: string, nodeIds: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, string | Failure>>;
  /** How busy the host is now; may take more than a second. Absent: the host does not report it (feature `hostLoad`). */
  readonly load?: () => Promise<HostLoad>;
  /** The host's users, for admins. Absent: the host does not list them (feature `hostUsers`). Throws operation_not_allowed for others. */
  readonly users?: () => Promise<readonly HostUserRow[]>;
  /**
   * Gives new numbers to the nodes and networks of a stopped lab that have a number of another lab, and wipes such nodes. `ids` as in Progress. Absent:
   * labs share no numbers on this host (feature `renumber`). Throws lab_locked, lab_in_use, and number_clash if a node may run.
   */
  readonly renumber?: (lab: string, ids: NativeIds) => Promise<Renumbered>;
  /** Snapshots of stopped labs. Absent where the host has none (feature `snapshots`). */
  readonly snapshots?: HostSnapshots;
  /** Pictures that labs hold. Absent where the host has none (feature `pictures`). */
  readonly pictures?: HostPictures;
  /** The tasks that the lab's author wrote for its users; empty if there are none. Absent where labs have no such text (feature `tasks`). Throws lab_not_found. */
  readonly tasks?: (lab: string) => Promise<string>;
  /** Sets or clears the lab's lock, where the host has one (feature `lock`). */
  setLock(lab: string, locked: boolean): Promise<void>;
  /**
   * The node's console bytes, telnet negotiation already removed, starting with the host's scrollback where it keeps one.
   * Throws node_not_running.
   */
  console(lab: string, nodeId: string): Promise<HostConsole>;
  /**
   * What the node's console said since its last start, 64 KiB at most, with its escape sequences; of one that has ended until it starts anew.
   * Absent: the host keeps none of it (feature `consoleLog`).
   */
  readonly consoleLog?: (lab: string, nodeId: string) => Promise<string>;
  /**
   * Where VNC clients on the service's own machine find the screens of running nodes that have one beside their console: node id → address, such
   * as `unix:<path>`. Absent: the host has none.
   */
  readonly screens?: (lab: string) => Promise<ReadonlyMap<string, string>>;
  close(): Promise<void>;
}

/** What is left of labs whose definitions were lost: nothing of it is removed until an admin decides. Every method throws operation_not_allowed for others. */
export interface HostQuarantine {
  /** Sorted by id. */
  list(): Promise<readonly QuarantinedLab[]>;
  /** Makes the lab known again, with what runs of it. Returns its path. Throws lab_not_found, lab_exists, and bad_request if it has no definition that reads. */
  restore(id: string): Promise<string>;
  /** Ends what runs of the lab and removes its files. Throws lab_not_found. */
  remove(id: string): Promise<void>;
}

export interface QuarantinedLab {
  /** The host's id of the lab. */
  readonly id: string;
  /** Why it is in quarantine, for people. */
  readonly reason: string;
  /** Of its last good definition; absent if there is none. */
  readonly lab?: string;
  readonly owner?: string;
  /** Its processes run. */
  readonly running: boolean;
  /** Whether it has a definition that it can be restored by. */
  readonly restorable: boolean;
}

/** For people: what is wrong with a value, and what to write instead. */
export interface ValueProblem {
  readonly problem: string;
  readonly hint: string;
}

/** One value for each end of a link, in the definition's endpoint order. */
export interface LinkSides<T> {
  readonly a?: T;
  readonly b?: T;
}

export interface LinkQualityState {
  /** As persisted. */
  readonly stored: LinkSides<Quality>;
  /** As read back from the running link; a side absent has no effect, as has a link whose ends do not both run. */
  readonly effective: LinkSides<Required<Quality>>;
}

export interface HostConsole {
  readonly stream: Duplex;
  /** How many of its first bytes are from before it was opened. Default 0. */
  readonly recalled?: number;
  /** Absent where the host's console has no size. */
  readonly resize?: (columns: number, rows: number) => void;
  /**
   * Gives what is read to `each` and not to the stream's readers, in memory that is used again after the call; the stream's pause(), resume() and
   * events hold as ever. Absent: the stream is read.
   */
  readonly listen?: (each: (bytes: Buffer) => void) => void;
}

export interface Progress {
  /** Steps for nodes join intent keys to native ids by this; the driver adds those it creates to Applied. */
  readonly ids: NativeIds;
  readonly signal?: AbortSignal;
  /** Called as each step begins and ends, in order, by Operation.id. */
  readonly step: (operation: string, state: "running" | "done") => void;
  /** Told what was done otherwise than people would expect, before the step is done. Absent: nobody wants to know. */
  readonly warn?: (warning: ChangeWarning) => void;
  /**
   * Receives the path of each folder that does not exist and is made for the lab, before it is made: after a crash its maker is known. Once more with
   * isOurs false if somebody else made the folder at the same moment.
   */
  readonly madeFolder?: (folder: string, isOurs: boolean) => void;
  /** Who the lab belongs to, also one that is made. Absent: the session's user. Sessions of users who are no admins make labs for nobody else. */
  readonly owner?: string;
  /** Whether wipe and stop steps use this mode where a step does not name one. */
  readonly stopMode?: StopMode;
  /** Delete the lab also where another user uses it or a node cannot be stopped; each node that may go on running is a warning. */
  readonly force?: boolean;
}

export interface ChangeWarning {
  /**
   * stop_forced: a node that was to end by itself did not in time, and was switched off. left_running: the node runs, or may run, on the host, and no
   * call of the host ends it any more. wipe_needed: a node that runs gets its changed startup-config only after a wipe.
   */
  readonly code: "stop_forced" | "left_running" | "wipe_needed";
  /** Intent key. */
  readonly node: string;
  /** For people. */
  readonly message: string;
}

export interface Renumbered {
  readonly ids: NativeIds;
  /** By the name on the host. */
  readonly nodes: readonly NumberChange[];
  readonly networks: readonly NumberChange[];
}

export interface NumberChange {
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

/** Intent key → native id. */
export interface NativeIds {
  readonly nodes: Readonly<Record<string, string>>;
  readonly networks: Readonly<Record<string, string>>;
  readonly links: Readonly<Record<string, string>>;
}

export interface Applied {
  /** All keys known after the run: those given, plus created, minus deleted. */
  readonly ids: NativeIds;
  /** The host's id of the lab; absent after delete-lab. */
  readonly labId?: string;
}

/** How a lab and its copy belong together. */
export interface ExtrasCopy {
  /** Ids of the lab and of its copy, by the same keys. */
  readonly from: NativeIds;
  readonly to: NativeIds;
  /** Whether startup configs that no node uses are copied, too: they may hold secrets. */
  readonly configs: boolean;
}

/** A part of a lab that no intent has words for: in the copy as it was, in another form, or not at all. */
export interface CopiedExtra {
  readonly level: "kept" | "mapped" | "dropped";
  /** For people: the part, and how it changed. */
  readonly message: string;
  /** Intent key of the node or network that it belongs to; absent: it belongs to the lab. */
  readonly node?: string;
  readonly network?: string;
}

export interface LiveStatus {
  readonly nodes: readonly LiveNode[];
  readonly links: readonly LiveLink[];
}

export interface LiveNode {
  readonly id: string;
  readonly name: string;
  readonly status: Power;
  /** The template's ready check passed; absent where the template has none. */
  readonly ready?: boolean;
  readonly exit_code?: number;
  readonly uptime_ms?: number;
  readonly cpu_percent?: number;
  readonly memory_bytes?: number;
  /**
   * It is wanted running and ended unasked: host_restart with the machine, or with all that ran on it; lab_killed with its lab alone. Told by hosts
   * with feature `resume`.
   */
  readonly lost?: "host_restart" | "lab_killed";
  /** It is stopped; it was given time to end, did not, and was switched off. */
  readonly forced?: true;
  /** Of what it keeps on the host, when that was looked at last. */
  readonly disk_bytes?: number;
  /** It is suspended, because its disk takes more than it may. Started, it goes on, and is suspended again when it writes more. */
  readonly disk_full?: true;
  /** Of a node whose status is unknown. */
  readonly clash?: NumberClash;
  /** It has failed, and the host starts it only after a wipe. */
  readonly stuck?: true;
  /** It is stopped for the session's user, and runs (certain) or may run for this other user of the host. */
  readonly other_user?: { readonly user: string; readonly certain: boolean };
}

/** Only links with an effect. Sides as in the definition's endpoint order. */
export interface LiveLink {
  readonly id: string;
  readonly a?: Required<Quality>;
  readonly b?: Required<Quality>;
}

export interface HostCapabilities {
  readonly reachable: boolean;
  readonly features: Readonly<Record<Feature, boolean>>;
  readonly stopModes: readonly StopMode[];
}

export const featureNames = [
  "linkQuality",
  "linkSuspend",
  "capture",
  "traffic",
  "consoleStream",
  "consoleRun",
  "wipe",
  "hibernate",
  "gracefulStop",
  "hotPlug",
  "lock",
  "importLab",
  "nat",
  "kvm",
  "events",
  "webUi",
  "jobs",
  "checkpoints",
  "resume",
  "cpuLimit",
  "memoryLimit",
  "processLimit",
  "nodeLoad",
  "consoleLog",
  "keptDisks",
  "saveConfigs",
  "hostLoad",
  "hostUsers",
  "renumber",
  "snapshots",
  "pictures",
  "tasks",
] as const;
export type Feature = (typeof featureNames)[number];

export interface HostUserRow {
  readonly user: string;
  /** In the host's own word. */
  readonly role: string;
  readonly name?: string;
  readonly email?: string;
  /** EVE-NG: the number from which console ports follow. */
  readonly pod?: number;
  /** The lab that the user has open on the host. */
  readonly lab?: string;
}

/** Percentages are of all there is, 0 to 100. */
export interface HostLoad {
  /** Of the host's software. */
  readonly version?: string;
  readonly cpuPercent: number;
  readonly memoryPercent: number;
  /** Of the file system that holds the labs. */
  readonly diskPercent: number;
  readonly swapPercent?: number;
  readonly cpus?: number;
  readonly memoryBytes?: number;
  /** Nodes of all users that run, by type. */
  readonly running: Readonly<Record<string, number>>;
}

export interface HostTemplate {
  readonly id: string;
  readonly description: string;
  /** linux, router, switch, pc, qemu, … */
  readonly type: string;
  /** Whether an image is there, so that a node can start. */
  readonly provisioned: boolean;
  readonly icon?: string;
  readonly configSupported: boolean;
  readonly images: readonly {
    readonly name: string;
    readonly default: boolean;
    readonly size_bytes?: number;
    readonly modified_at?: string;
  }[];
  readonly attributes: readonly TemplateAttribute[];
  /** "eth{0}" style, see docs/templates.md. */
  readonly ethFormat: string;
  readonly consoleType: "telnet" | "serial" | "vnc" | "none";
  /** A console prompt this template always has (regular expression), where learning it is not enough. */
  readonly prompt?: string;
  /** Who logs in where the console asks for it. */
  readonly login?: { readonly username: string; readonly password?: string };
  /** The console command that makes a node keep its configuration, where `saveConfigs` alone would return an older one. */
  readonly saveCommand?: string;
  /** A pager of its own: the regular expression of the line where it waits, and the key that goes on. */
  readonly pager?: { readonly pattern: string; readonly key: string };
}

export interface TemplateAttribute {
  readonly name: string;
  readonly label: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "enum" | "text";
  readonly default?: string | number | boolean;
  readonly required: boolean;
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  readonly min?: number;
  readonly max?: number;
  readonly unit?: string;
  readonly description?: string;
}

export interface HostNetworkType {
  readonly type: string;
  readonly description: string;
  readonly external: boolean;
  readonly nat: boolean;
}

export interface HostIcon {
  readonly name: string;
  readonly url?: string;
  readonly media_type?: string;
}
