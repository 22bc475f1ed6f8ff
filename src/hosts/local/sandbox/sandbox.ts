import type { Duplex } from "node:stream";
import type { Failure } from "../../../contract/errors.ts";
import type { MachineBind } from "../../../intent/lab/machine-bind.ts";
import type { NodeProcess, NodeProgram } from "../../host-processes.ts";
import type { SocketStream } from "../holder/socket-stream.ts";
import type { OwnRange } from "../machine/idmap.ts";
import type { RunResult } from "../machine/machine.ts";

/**
 * One lab's sandbox: a user, mount, pid and net namespace whose init is the holder (native/holder/holder.c). Its net namespace is the fabric. All
 * processes of the lab are below the holder, so that killing it leaves nothing. It outlives the service.
 */
export interface Sandbox {
  /** Pid of the holder on the machine, for `ip link … netns PID`, and for kill as the last resort. */
  readonly pid: number;
  /** Returns whether its process still runs. Does not remove the remains of a dead one. */
  readonly alive: () => Promise<boolean>;
  /** Returns the host_timeout with which all requests except `destroy` fail while the holder hangs, `undefined` if it does not hang. */
  readonly hanging: () => Failure | undefined;
  /** Resolves when a holder that hangs answers again or has ended. */
  readonly recovered: () => Promise<void>;
  /**
   * Throws host_timeout if the holder does not answer in time.
   * @param ids only these nodes; a holder of an older release returns all
   * @param deadlineMs instead of the usual one
   */
  readonly info: (ids?: readonly number[], deadlineMs?: number) => Promise<SandboxInfo>;
  /**
   * Makes each node's namespaces, root and console. The node's init then waits for `release`. Many nodes are spawned in chunks; no chunk starts after
   * a failure. Throws host_error with the failed nodes.
   * @param onSpawned called for each node as soon as it is created, in any order
   */
  readonly spawn: (nodes: readonly NodeSpawn[], onSpawned?: (node: SpawnedNode) => void) => Promise<readonly SpawnedNode[]>;
  /**
   * Lets the nodes boot. Each node syncs its carriers and runs its boot command. The console program starts when the console is first opened. The
   * fabric's carriers were synced when the ports were made.
   */
  readonly release: (ids: readonly number[]) => Promise<void>;
  /** graceful: SIGTERM to the node's init, which ends its processes; after graceMs, and with kill at once: SIGKILL of the pid namespace. Resolves when the node has ended. */
  readonly stop: (ids: readonly number[], mode: "graceful" | "kill", graceMs: number) => Promise<void>;
  /** Sets limits of running nodes, as entries for the holder (resources/node-limits.ts). Throws host_error with the nodes for which it failed. */
  readonly limit: (nodes: readonly { readonly id: number; readonly entries: readonly LimitEntry[] }[]) => Promise<void>;
  /** Suspends running nodes, or resumes suspended nodes. Other nodes are unchanged. */
  readonly freeze: (ids: readonly number[], how: "freeze" | "thaw") => Promise<void>;
  /**
   * Runs a program of the machine in the fabric (`ip -batch -`, `tc -batch -`, `nft -f -`) as root of the lab only. Killed after timeoutMs (default
   * 300,000; with a signal: never), and when it writes more than maxOutputBytes (default 64 MiB): host_error.
   */
  readonly run: (
    argv: readonly string[],
    stdin?: string,
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number; readonly maxOutputBytes?: number },
  ) => Promise<RunResult>;
  /**
   * Runs a program in the fabric as `run` does, and passes its standard output on as it arrives. Reads nothing while `onOutput` runs. Resolves when
   * the program has ended; `signal` ends it.
   */
  readonly pipe: (argv: readonly string[], onOutput: (chunk: Buffer) => void, signal: AbortSignal) => Promise<Omit<RunResult, "stdout">>;
  /**
   * Runs a program inside a running node, with the node's confinement. Killed after timeoutMs (default: never): host_timeout; and when it writes
   * more than maxOutputBytes to both its outputs together (default 64 MiB): host_error.
   */
  readonly exec: (
    id: number,
    argv: readonly string[],
    options?: { readonly stdin?: string; readonly timeoutMs?: number; readonly signal?: AbortSignal; readonly maxOutputBytes?: number },
  ) => Promise<RunResult>;
  /**
   * Starts a program inside a running node, as users do: with streams, environment and optionally a terminal. Throws node_not_found, node_not_running,
   * unsupported if the holder is from an older release.
   */
  readonly process: (id: number, program: NodeProgram, signal: AbortSignal) => Promise<NodeProcess>;
  /** Connects with a TCP port on the node's loopback address. Throws node_not_found, node_not_running, and host_error if nothing listens there. */
  readonly connect: (id: number, port: number) => Promise<Duplex>;
  /**
   * Connects with a UDP port on the node's loopback address. Each datagram on the stream has a head of two bytes, its length, little-endian. Throws
   * node_not_found and node_not_running.
   */
  readonly datagrams: (id: number, port: number) => Promise<Duplex>;
  /** Runs a program inside a running node, with the stream as its input and output, until the program or the stream ends. Throws node_not_running. */
  readonly join: (id: number, argv: readonly string[]) => Promise<Duplex>;
  /**
   * Opens the console: the scrollback (up to 64 KiB), then live bytes. Any number of viewers at the same time. Ends with the node. Throws
   * node_not_running.
   */
  readonly console: (id: number) => Promise<SocketStream>;
  /** Returns the current scrollback, or the last output of a stopped or failed node until it is spawned again. */
  readonly tail: (id: number) => Promise<string>;
  readonly resize: (id: number, columns: number, rows: number) => Promise<void>;
  /** Calls `onChange` when a node's state changes, and once when the sandbox has ended. */
  readonly watch: (onChange: (change: NodeState | "gone") => void) => Promise<{ close(): void }>;
  /** Ends the lab: kills the init, waits until it is gone. */
  readonly destroy: () => Promise<void>;
}

/**
 * The id of the place in which Open vSwitch runs for all VLAN-aware switches of a lab. To the holder it is a node: with namespaces and a root of its own,
 * confined, and in a control group. No node of a definition has such a large id.
 */
export const switchingNode = 1_000_000_000;

export interface SpawnedNode {
  readonly id: number;
  /** Pid inside the lab, for `netns PID` in `run`. */
  readonly pid: number;
}

export interface NodeSpawn {
  readonly id: number;
  readonly hostname: string;
  /** Read-only overlay layers, top first (absolute directories). */
  readonly lower: readonly string[];
  /**
   * The node's disk: upper and work directories are made below it. Created here, for the lab's root, if it is missing. The lab's
   * root must be able to search all directories above it and above the layers (x for others).
   */
  readonly disk: string;
  /** Written inside the node before boot, after its root is in place (a link planted by the node leads nowhere outside). */
  readonly files: readonly { readonly path: string; readonly mode: number; readonly text: string }[];
  readonly env: Readonly<Record<string, string>>;
  /** Run once by the node's init after release; a non-zero exit makes the node failed with that code. Output goes to the console. */
  readonly boot: readonly string[];
  /** Runs on the terminal after boot, and is restarted when it ends. */
  readonly console: readonly string[];
  /**
   * The console program is the node's main program: it runs once, as this user in this directory, which is created if it is missing. The node ends
   * with it, and with its exit code.
   */
  readonly main?: NodeMain;
  /** Files and folders of the machine that the node sees. */
  readonly binds?: readonly MachineBind[];
  /** Devices of the machine that the node needs in addition to the standard devices. */
  readonly devices?: readonly "kvm"[];
  /** Its resource limits at the start; see `limit`. */
  readonly limits?: readonly LimitEntry[];
}

/** Ids inside the lab, 0 to 65535. The first of `gids` is the primary group. */
export interface NodeMain {
  readonly workdir: string;
  readonly uid: number;
  readonly gids: readonly number[];
}

export interface NodeState {
  readonly id: number;
  /** waiting: before release; booting: boot runs; running: boot ended well; failed: boot or init ended badly; stopped: by request. */
  readonly state: "waiting" | "booting" | "running" | "stopping" | "stopped" | "failed" | "suspended";
  readonly pid: number;
  /** Exit code of a stopped or failed node; 128 + signal if a signal killed it. */
  readonly exitCode?: number;
  /** Time of the release, or before the release of the spawn, ms since 1970. */
  readonly startedAt: number;
  /** Why the node could not be created (step and the kernel's message). For a stopped node: that it was killed because it did not end in time. */
  readonly problem?: string;
}

export interface SandboxInfo {
  readonly lab: string;
  readonly version: number;
  readonly nodes: readonly NodeState[];
}

export interface SandboxOptions {
  /** The holder binary, static. */
  readonly holder: string;
  /** The lab's runtime directory: socket, pid file, holder log. It must exist and belong to this process's user. */
  readonly dir: string;
  /** The id of the lab, also on the holder's command line. */
  readonly lab: string;
  /** The lab's control groups, one directory in each hierarchy (native/holder/README.md). */
  readonly cgroups?: readonly string[];
  /** Maximum number of processes and threads of the lab, also without control groups. */
  readonly processes?: number;
  /** First id and count of the machine's ids to which the lab's user namespace maps 0 and up. Absent: only this process's user is mapped, to 0. */
  readonly idMap?: { readonly base: number; readonly count: number };
  /** The lab runs with an id range of its own, and `idMap` is the range of its files on disk. */
  readonly ownRange?: OwnRange;
  /** Paths of the machine in which nodes may write: the lab sees their files in its own range. */
  readonly writable?: readonly string[];
  /** Called with the reason if the lab could not get a range of its own and runs with the ids of `idMap`. */
  readonly onSharedRange?: (why: string) => void;
}

/** One write for the holder: index of the hierarchy or "rlimit", file of the node's group there, value. */
export type LimitEntry = readonly [hierarchy: number | "rlimit", file: string, value: string | number];
