import type { Duplex } from "node:stream";
import type { Failure } from "../contract/errors.ts";
import type { NumberClash, ObservedEndpoint, ObservedLab, ObservedLink, Power } from "../engine/model/observed.ts";
import type { HostRules, Operation, StopMode } from "../engine/model/plan.ts";
import type { LabPlacement, PullPolicy, Quality, Scalar } from "../intent/lab/lab.ts";
import type { HostCaptures } from "./host-captures.ts";
import type { ConfigProblem, ConfigToCheck } from "./host-configs.ts";
import type { HostDisks } from "./host-disks.ts";
import type { HostMoves, HostParts } from "./host-fleet.ts";
import type { HostImages } from "./host-images.ts";
import type { HostPictures } from "./host-pictures.ts";
import type { HostProcesses } from "./host-processes.ts";
import type { HostSnapshots } from "./host-snapshots.ts";
import type { SwitchState } from "./host-switches.ts";
import type { HostTraffic } from "./host-traffic.ts";

/**
 * A network-emulation host, as the service uses it. The interface is small: a driver has no method for what the service can do with observe, apply
 * and status. It fits a kernel host and REST hosts: reads are of a whole lab (one or few calls), and changes are a list of steps that the driver may
 * batch, upload together or run one by one. Native ids stay in the driver.
 *
 * Errors: every method throws `Failure` (contract/errors.ts) with host_error, host_unreachable, host_timeout, expired_host_session, lab_not_found,
 * node_not_found, unsupported, invalid_credentials …; any other error is a defect.
 */
export interface Host {
  /** embedded, memory, eve, gns3 … */
  readonly kind: string;
  /** Address of the host: "local:" for the embedded host, the base URL for others. */
  readonly url: string;
  /** Opens a session for this user. Throws invalid_credentials or host_unreachable. */
  login(user: string, password: string, signal?: AbortSignal): Promise<HostSession>;
  /**
   * Opens a session without a password, for hosts that trust the service (embedded, memory). Used after a restart of the service, and to finish
   * jobs that a crash interrupted. Absent: users must log in again. null: no such user. With `limit`, an admin's session has only the rights of a user:
   * for changes that somebody else makes to the admin's lab.
   */
  readonly resume?: (user: string, limit?: "user") => Promise<HostSession | null>;
  /** Reads the host's users at any time. Absent: only a login returns the role, and a session keeps it. */
  readonly accounts?: HostAccounts;
  /** Changes the host's users, for admins: the service checks that. Absent: others manage them (feature `userChanges`). */
  readonly userChanges?: HostUserChanges;
  /** Users who sign in at a provider of identities (OIDC). Absent: the host has none. */
  readonly externalUsers?: HostExternalUsers;
  /** Returns the path of the lab of a capture, undefined if there is no such capture. Absent: the host makes none. */
  readonly labOfCapture?: (capture: string) => Promise<string | undefined>;
  /**
   * Whether a lab of any owner is at this path, also a lab in quarantine. For hosts whose labs are all made through Labwright: a lab without a record
   * is for admins only. Absent: the host has labs of its own and decides by each user's session who sees them.
   */
  readonly holds?: (lab: string) => Promise<boolean>;
  /**
   * Returns the host's id of the lab at this path, of any owner; undefined if there is none. Cheap. Another lab at the same path has another id. Absent:
   * only Labwright changes the host's paths, or an id needs a whole read.
   */
  readonly labId?: (lab: string) => Promise<string | undefined>;
  /** Returns the host's ids of all labs of all owners, also of labs in quarantine. Absent: only the embedded host and the memory host need it. */
  readonly labIds?: () => Promise<readonly string[]>;
  /** All labs in quarantine, as `HostQuarantine.list` returns them, for the service itself. Absent: the host has none. */
  readonly quarantined?: () => Promise<readonly QuarantinedLab[]>;
  /** Images that machines of a fleet fetch from each other. Absent: the host fetches none. */
  readonly images?: HostImages;
  /** Parts of labs of other machines of a fleet. Absent: the host has none. */
  readonly parts?: HostParts;
  /** Labs that move to other machines of a fleet. Absent: labs of the host cannot move. */
  readonly moves?: HostMoves;
  close(): Promise<void>;
}

/** Called with every request: returns at once, from memory. Throws host_error if the accounts cannot be read. */
export interface HostAccounts {
  /** Changes whenever any account may have changed. */
  mark(): string;
  /** null: no such user. */
  find(user: string): HostAccount | null;
}

/** Each call throws bad_request for an unknown user, and for a change that would leave no admin. */
export interface HostUserChanges {
  /** Throws bad_request for a user that exists, and for a name or password that the host refuses. */
  add(user: string, password: string, role: HostSession["role"]): Promise<void>;
  setPassword(user: string, password: string): Promise<void>;
  setRole(user: string, role: HostSession["role"]): Promise<void>;
  /** Labs and disks of the user stay. */
  remove(user: string): Promise<void>;
}

/** A person, as a provider of identities reports it. `issuer` and `subject` are the identity; all else may change. */
export interface ExternalIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** Names that the account may get, the best first. The person may have chosen them. */
  readonly names: readonly string[];
  readonly role: HostSession["role"];
}

export interface HostExternalUsers {
  /**
   * Returns the name of the account of an identity. Makes the account at the first sign-in, and sets its role at each. A new account gets a name that no other
   * account has, in any case of letters, and that owns nothing on the host.
   * @param isTaken whether a name must not be used, for example because a removed account has left labs that a new account of its name would own
   */
  signIn(identity: ExternalIdentity, isTaken: (name: string) => boolean): Promise<string>;
}

export interface HostAccount {
  readonly role: HostSession["role"];
  /** Changes with every new password, and reveals nothing about it. */
  readonly credential: string;
}

export interface HostSession {
  readonly user: string;
  /** admin may do everything; user may change labs; viewer may only read. */
  readonly role: "admin" | "user" | "viewer";
  capabilities(): Promise<HostCapabilities>;
  templates(): Promise<readonly HostTemplate[]>;
  networkTypes(): Promise<readonly HostNetworkType[]>;
  icons(): Promise<readonly HostIcon[]>;
  /** The facts of the host that plans need; derived from the catalogue, cheap. */
  rules(): Promise<HostRules>;
  /**
   * Returns the persisted definition and power of one lab, or null if the host has none at that path. Throws the error of `unreadableLab` for a lab
   * that exists and cannot be read.
   */
  observe(lab: string): Promise<ObservedLab | null>;
  /**
   * Returns the link between two ends, in either order, from the definition alone; undefined if there is none or more than one. Absent if it would
   * cost about as much as observe. Throws lab_not_found.
   */
  readonly findLink?: (lab: string, ends: readonly [ObservedEndpoint, ObservedEndpoint]) => Promise<ObservedLink | undefined>;
  /** Returns why the host can have no lab at this path, or undefined if it can. Absent: the host accepts every path. */
  readonly checkLabPath?: (lab: string) => string | undefined;
  /** Paths of the labs that the host holds. */
  labs(): Promise<readonly string[]>;
  /**
   * Returns the path of the lab with this id: somebody may have moved or renamed it on the host. undefined: no lab has the id, or the host did not
   * send all labs in time. Absent: only Labwright changes the paths of labs.
   */
  readonly findLab?: (id: string) => Promise<string | undefined>;
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
   * Copies everything beyond the definition, such as drawings and notes, from the lab `from` to the lab `to`. Only reads the source. Safe to run
   * again. Returns the result for each part. Absent: labs of the host have nothing beyond their definition. Throws lab_not_found.
   */
  readonly copyExtras?: (from: string, to: string, about: ExtrasCopy) => Promise<readonly CopiedExtra[]>;
  /** Returns the live power of all nodes. The service calls it at most once per interval and lab, for all pollers. */
  status(lab: string): Promise<LiveStatus>;
  /**
   * Sets the impairments of traffic that leaves endpoints[0] (a) and endpoints[1] (b) of the link; an absent side is cleared. With `save` they are
   * persisted; otherwise they last until the quality is declared again or an end of the link stops. Throws link_not_found, lab_locked, unsupported
   * (feature `linkQuality`).
   */
  setLinkQuality(lab: string, linkId: string, quality: LinkSides<Quality>, options: { readonly save: boolean }): Promise<LinkQualityState>;
  /**
   * Takes the carrier away from endpoints[0] (a), endpoints[1] (b) of the link, or gives it back; a side absent stays. Persisted. Answers both. Throws
   * link_not_found, lab_locked, unsupported (feature `linkSuspend`).
   */
  setLinkSuspend(lab: string, linkId: string, suspended: LinkSides<boolean>): Promise<Required<LinkSides<boolean>>>;
  /** Returns the problem of a pcap filter, or undefined if it compiles. Absent: the host cannot check filters. */
  readonly checkPcapFilter?: (filter: string) => Promise<string | undefined>;
  /**
   * Returns the problem of a value of a template's attribute whose grammar is not in rules(), or undefined if it is valid or has no such grammar.
   * Absent: the host has no such attribute.
   */
  readonly checkAttribute?: (template: string, name: string, value: Scalar) => Promise<ValueProblem | undefined>;
  /**
   * Returns why so many new nodes of this lab cannot run beside the user's other labs, with the next step; undefined if they can. Absent: labs of the host
   * do not limit each other.
   */
  readonly checkNewNodes?: (lab: string, count: number) => Promise<string | undefined>;
  /**
   * Returns the ports of the host's machine that nodes of this lab declare and that it would refuse now, in the order of the nodes. A port that the lab has open
   * is not refused. Absent: nodes publish no ports.
   */
  readonly checkPorts?: (lab: string, nodes: readonly PortsToCheck[]) => Promise<readonly PortProblem[]>;
  /** Returns the paths of the host's machine that nodes of this lab declare and would not get now. Absent: nodes have no such paths. */
  readonly checkBinds?: (lab: string, nodes: readonly BindsToCheck[]) => Promise<readonly BindProblem[]>;
  /**
   * Returns the problems of startup configurations, a list for each: lines that the software of their nodes does not accept. Runs no node. An empty list
   * for a template whose configurations the host cannot check. Absent: the host checks none.
   */
  readonly checkConfigs?: (configs: readonly ConfigToCheck[]) => Promise<readonly (readonly ConfigProblem[])[]>;
  /**
   * Makes the images of nodes available on the host, before the steps that create or start them. Changes no lab, and may run beside changes of the lab.
   * Absent: the host fetches no images. Throws image_pull_failed and operation_not_allowed.
   */
  readonly fetchImages?: (images: readonly WantedImage[], progress: FetchProgress) => Promise<void>;
  /** Returns the images that `fetchImages` would fetch from other machines of the fleet. Cheap. Absent: it fetches none from there. */
  readonly imagesOfPeers?: (images: readonly WantedImage[]) => Promise<readonly ImageOfPeer[]>;
  /** Disks of labs that were removed without wiping. Absent if the host keeps none (feature `keptDisks`). */
  readonly disks?: HostDisks;
  /** Packet captures. Absent if the host has none (feature `capture`). */
  readonly captures?: HostCaptures;
  /** Labs over several machines of a fleet. Absent: a lab is on one machine. */
  readonly spread?: HostSpread;
  /** Live packets of links. Absent if the host has none (feature `traffic`). */
  readonly traffic?: HostTraffic;
  /** Programs in nodes. Absent if nodes have only consoles (feature `nodeExec`). */
  readonly processes?: HostProcesses;
  /**
   * Returns the state of the running VLAN-aware switches of a lab, by node id. Absent if the host has none (feature `switching`). Throws lab_not_found,
   * host_error if their software does not answer.
   */
  readonly switches?: (lab: string) => Promise<ReadonlyMap<string, SwitchState>>;
  /** Gives the lab to another user, for admins only. Absent: the host's labs have no owner that Labwright could set. */
  readonly setOwner?: (lab: string, owner: string) => Promise<void>;
  /** Labs whose definitions were lost, for admins. Absent: the host has no quarantine. */
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
  /** Snapshots of stopped labs. Absent if the host has none (feature `snapshots`). */
  readonly snapshots?: HostSnapshots;
  /** Pictures in labs. Absent if the host has none (feature `pictures`). */
  readonly pictures?: HostPictures;
  /**
   * Returns the tasks that the lab's author wrote for its users; empty if there are none. Absent if labs have no such text (feature `tasks`). Throws
   * lab_not_found.
   */
  readonly tasks?: (lab: string) => Promise<string>;
  /** Sets or clears the lab's lock. Absent if the host has none (feature `lock`). */
  setLock(lab: string, locked: boolean): Promise<void>;
  /**
   * Opens the node's console: bytes without telnet negotiation, starting with the host's scrollback if it keeps one. Throws node_not_running.
   */
  console(lab: string, nodeId: string): Promise<HostConsole>;
  /**
   * Returns the console output of the node since its last start, at most 64 KiB, with its escape sequences. The output of a node that has ended is
   * kept until its next start. Absent: the host keeps none (feature `consoleLog`).
   */
  readonly consoleLog?: (lab: string, nodeId: string) => Promise<string>;
  /**
   * Returns the VNC addresses of running nodes with a screen, for clients on the service's machine: node id → address, such as `unix:<path>`. Absent:
   * the host has none.
   */
  readonly screens?: (lab: string) => Promise<ReadonlyMap<string, string>>;
  /**
   * Returns the addresses of interfaces of running nodes, with their prefixes: node id → interface → addresses. Names are those that the node uses. mgmt0 is
   * its interface in the management network, with the address that the host has assigned. Absent: the host does not know them.
   */
  readonly addresses?: (lab: string) => Promise<ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>>;
  close(): Promise<void>;
}

/**
 * Remains of labs whose definitions were lost: nothing of them is deleted until an admin decides. Every method throws operation_not_allowed for other
 * users.
 */
export interface HostQuarantine {
  /** Sorted by id. */
  list(): Promise<readonly QuarantinedLab[]>;
  /** Restores the lab with its running nodes. Returns its path. Throws lab_not_found, lab_exists, and bad_request if it has no readable definition. */
  restore(id: string): Promise<string>;
  /** Ends the lab's processes and deletes its files. Throws lab_not_found. */
  remove(id: string): Promise<void>;
}

export interface QuarantinedLab {
  /** The host's id of the lab. */
  readonly id: string;
  /** Why it is in quarantine, for people. */
  readonly reason: string;
  /** Path from its last good definition; absent if there is none. */
  readonly lab?: string;
  readonly owner?: string;
  /** Whether its processes run. */
  readonly running: boolean;
  /** Whether it has a definition from which it can be restored. */
  readonly restorable: boolean;
}

/** A problem of a value and the correct form, for people. */
export interface ValueProblem {
  readonly problem: string;
  readonly hint: string;
}

/** A node with its declared ports, as portText writes them. */
export interface PortsToCheck {
  readonly key: string;
  readonly name: string;
  readonly ports: readonly string[];
}

/** A declared port that cannot be opened. The problem names the node. */
export interface PortProblem extends ValueProblem {
  readonly key: string;
  readonly port: string;
}

/** A node with its paths of the machine, as bindText writes them. */
export interface BindsToCheck {
  readonly key: string;
  readonly name: string;
  readonly binds: readonly string[];
}

/** A path of the machine that a node cannot get. The problem names the node and the remedy. */
export interface BindProblem {
  readonly key: string;
  readonly bind: string;
  readonly problem: string;
}

export interface HostSpread {
  /**
   * Returns where the steps place the nodes of a lab that is or will be spread; undefined for another lab. Throws host_error if they do not fit. The result is
   * that of the apply within the next 15 minutes.
   */
  facts(lab: string, place: LabPlacement | undefined, operations: readonly Operation[], ids: NativeIds): Promise<SpreadFacts | undefined>;
  /** Returns the MiB of memory that are free for new nodes of the lab on all machines; undefined for a lab that is not spread. */
  room(lab: string, place: LabPlacement | undefined): number | undefined;
}

export interface SpreadFacts {
  /** Sorted by name; keys of nodes. */
  readonly machines: readonly { readonly machine: string; readonly nodes: readonly string[] }[];
  /** The new and changed links between machines, sorted. */
  readonly cuts: readonly { readonly link: string; readonly machines: readonly [string, string]; readonly mtu: number }[];
  /** Switches whose new and changed links have different MTUs, because some are between machines: larger packets are lost between their ports. `mtu`: the smallest. */
  readonly uneven: readonly { readonly node: string; readonly mtu: number }[];
}

/** One value for each end of a link, in the definition's endpoint order. */
export interface LinkSides<T> {
  readonly a?: T;
  readonly b?: T;
}

export interface LinkQualityState {
  /** As persisted. */
  readonly stored: LinkSides<Quality>;
  /** As read from the running link. An absent side has no impairment; neither has a link whose ends do not both run. */
  readonly effective: LinkSides<Required<Quality>>;
}

export interface HostConsole {
  readonly stream: Duplex;
  /** Number of its first bytes that are from before it was opened. Default 0. */
  readonly recalled?: number;
  /** Absent if the host's console has no size. */
  readonly resize?: (columns: number, rows: number) => void;
  /**
   * Gives what is read to `each` and not to the stream's readers, in memory that is used again after the call; the stream's pause(), resume() and
   * events hold as ever. Absent: the stream is read.
   */
  readonly listen?: (each: (bytes: Buffer) => void) => void;
}

export interface Progress {
  /** Maps intent keys of the steps to native ids; the driver adds the ids that it creates to Applied. */
  readonly ids: NativeIds;
  readonly signal?: AbortSignal;
  /** Called as each step begins and ends, in order, by Operation.id. */
  readonly step: (operation: string, state: "running" | "done") => void;
  /** Receives a warning if a step was done in another way than expected, before the step ends. Absent: warnings are dropped. */
  readonly warn?: (warning: ChangeWarning) => void;
  /**
   * Receives the path of each folder that does not exist and is made for the lab, before it is made: after a crash its maker is known. Once more with
   * isOurs false if somebody else made the folder at the same moment.
   */
  readonly madeFolder?: (folder: string, isOurs: boolean) => void;
  /** The owner of the lab, also of a new one. Absent: the session's user. Only admins' sessions may make labs for other users. */
  readonly owner?: string;
  /** The mode of wipe and stop steps that have none. */
  readonly stopMode?: StopMode;
  /** Deletes the lab even if another user uses it or a node cannot be stopped; each node that may still run gives a warning. */
  readonly force?: boolean;
}

/** The image of a node that a change creates or starts. */
export interface WantedImage {
  readonly template: string;
  readonly image: string;
  readonly pull: PullPolicy;
}

/** An image that another machine of the fleet has. */
export interface ImageOfPeer {
  readonly image: string;
  /** Name of the machine. */
  readonly machine: string;
  /** Unpacked. */
  readonly bytes: number;
}

export interface FetchProgress {
  readonly signal: AbortSignal;
  /** Receives what is being fetched and how far it is, for people. */
  readonly say: (text: string) => void;
}

export interface ChangeWarning {
  /**
   * stop_forced: a node that was to end by itself did not in time, and was switched off. left_running: the node runs, or may run, on the host, and no
   * call of the host ends it any more. wipe_needed: a node that runs gets its changed startup-config only after a wipe. config_line: the node's software
   * does not accept a line of its startup-config. config_unchecked: the startup-configs could not be checked.
   * config_not_live: a running node did not take its changed startup-config, and gets it at its next start.
   * no_management_interface: the node has no interface in the lab's management network, or its guest may see it at its next start only.
   */
  readonly code:
    | "stop_forced"
    | "left_running"
    | "wipe_needed"
    | "config_line"
    | "config_unchecked"
    | "config_not_live"
    | "no_management_interface";
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

/** A lab and its copy, for copyExtras. */
export interface ExtrasCopy {
  /** Native ids of the lab (`from`) and of its copy (`to`). A part of the lab and its copy have the same intent key. */
  readonly from: NativeIds;
  readonly to: NativeIds;
  /** Whether startup configs that no node uses are copied: they may contain secrets. */
  readonly configs: boolean;
}

/** A part of a lab that an intent cannot express. It is in the copy unchanged, in another form, or not at all. */
export interface CopiedExtra {
  readonly level: "kept" | "mapped" | "dropped";
  /** For people: the part, and how it changed. */
  readonly message: string;
  /** Intent key of its node or network; absent: it belongs to the lab. */
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
  /** The machine of the fleet that the node is on, of a lab that is spread over several. */
  readonly machine?: string;
  /** The template's ready check passed; absent if the template has none. */
  readonly ready?: boolean;
  /** The reason that the ready check gave, one line; absent if the node is ready, or if there is none. */
  readonly not_ready?: string;
  readonly exit_code?: number;
  readonly uptime_ms?: number;
  readonly cpu_percent?: number;
  readonly memory_bytes?: number;
  /**
   * The node should run, but ended without a request: host_restart with the machine or all its labs, lab_killed only with its lab. Reported by hosts
   * with the feature `resume`.
   */
  readonly lost?: "host_restart" | "lab_killed";
  /** The node is stopped: it did not end in the given time and was switched off. */
  readonly forced?: true;
  /** Bytes of its files on the host, at the last check. */
  readonly disk_bytes?: number;
  /** The node is suspended, because its disk exceeds the limit. If it is started, it continues, and is suspended again when it writes more. */
  readonly disk_full?: true;
  /** Why ports that it publishes are closed, though it runs: one text for each. The host tries again by itself. */
  readonly closed_ports?: readonly string[];
  /** Set if its status is unknown. */
  readonly clash?: NumberClash;
  /** It has failed, and the host starts it only after a wipe. */
  readonly stuck?: true;
  /** Whether it is stopped for the session's user, and runs (certain) or may run for this other user of the host. */
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
  "nodeExec",
  "hostLoad",
  "hostUsers",
  "userChanges",
  "renumber",
  "snapshots",
  "pictures",
  "tasks",
  "switching",
] as const;
export type Feature = (typeof featureNames)[number];

export interface HostUserRow {
  readonly user: string;
  /** The host's own name. */
  readonly role: string;
  readonly name?: string;
  readonly email?: string;
  /** EVE-NG: the first console port. */
  readonly pod?: number;
  /** The lab that the user has open on the host. */
  readonly lab?: string;
}

/** Percentages of the total, 0 to 100. */
export interface HostLoad {
  /** Version of the host's software. */
  readonly version?: string;
  readonly cpuPercent: number;
  readonly memoryPercent: number;
  /** Use of the file system that contains the labs. */
  readonly diskPercent: number;
  readonly swapPercent?: number;
  readonly cpus?: number;
  readonly memoryBytes?: number;
  /** Running nodes of all users, by type. */
  readonly running: Readonly<Record<string, number>>;
}

export interface HostTemplate {
  readonly id: string;
  /** It is another id of this template, and not listed. */
  readonly sameAs?: string;
  /** The origin of its images, for people. */
  readonly imageSource?: string;
  readonly description: string;
  /** linux, router, switch, pc, qemu, … */
  readonly type: string;
  /** Whether an image is installed, so that a node can start. */
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
  /** A regular expression of the template's console prompt, if it cannot be detected. */
  readonly prompt?: string;
  /** The account to log in with if the console asks for one. */
  readonly login?: { readonly username: string; readonly password?: string };
  /** The console command that makes a node save its configuration, if `saveConfigs` alone would return an older one. */
  readonly saveCommand?: string;
  /** A pager of its own: the regular expression of its prompt line, and the key for the next page. */
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
