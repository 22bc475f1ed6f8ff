import type { Duplex } from "node:stream";
import type { Failure } from "../../../contract/errors.ts";
import type { SocketStream } from "../holder/socket-stream.ts";
import type { OwnRange } from "../machine/idmap.ts";
import type { RunResult } from "../machine/machine.ts";

/**
 * One lab's sandbox: a user, mount, pid and net namespace whose init is the holder (native/holder/holder.c). Its net namespace is the
 * fabric. Everything of the lab hangs below that one process: killing it leaves nothing. It outlives the service.
 */
export interface Sandbox {
  /** Pid of the holder as the machine sees it (for `ip link … netns PID`, and as a last resort for kill). */
  readonly pid: number;
  /** Whether its very process still runs. Touches nothing of what a dead one left. */
  readonly alive: () => Promise<boolean>;
  /** The host_timeout that every request but `destroy` fails with at once, if the holder did not answer in time and has not answered since. */
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
   * Makes each node's namespaces, root and console, and leaves its init waiting at a barrier. Many are made some at a time; after a failure no more
   * are. Throws host_error naming nodes that failed.
   * @param onSpawned called for each node as soon as it is created, in any order
   */
  readonly spawn: (nodes: readonly NodeSpawn[], onSpawned?: (node: SpawnedNode) => void) => Promise<readonly SpawnedNode[]>;
  /** In each node carriers are synced, then its boot command runs; its console starts with the first look. The fabric's were asked for where ports were made. */
  readonly release: (ids: readonly number[]) => Promise<void>;
  /** graceful: SIGTERM to the node's init, which ends its processes; after graceMs, and with kill at once: SIGKILL of the pid namespace. Resolves when the node has ended. */
  readonly stop: (ids: readonly number[], mode: "graceful" | "kill", graceMs: number) => Promise<void>;
  /** Limits of nodes that run; the entries are the holder's (resources/node-limits.ts). Throws host_error naming nodes that refused. */
  readonly limit: (nodes: readonly { readonly id: number; readonly entries: readonly LimitEntry[] }[]) => Promise<void>;
  /** Suspends running nodes, or continues suspended ones; others are unchanged. */
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
   * Runs a program in the fabric as `run` does and gives its standard output as it comes; while `onOutput` works nothing more is read. Answers when it has
   * ended; `signal` ends it.
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
  /** Runs a program inside a running node whose input and output are the stream's, as long as either lasts. Throws node_not_running. */
  readonly join: (id: number, argv: readonly string[]) => Promise<Duplex>;
  /** Scrollback (up to 64 KiB), then live bytes; any number at once. Ends when the node does. Throws node_not_running. */
  readonly console: (id: number) => Promise<SocketStream>;
  /** The current scrollback; for a stopped or failed node its last output, until it is spawned again. */
  readonly tail: (id: number) => Promise<string>;
  readonly resize: (id: number, columns: number, rows: number) => Promise<void>;
  /** Calls back when a node's state changes and once when the sandbox itself is gone. */
  readonly watch: (onChange: (change: NodeState | "gone") => void) => Promise<{ close(): void }>;
  /** Ends the lab: kills the init, waits until it is gone. */
  readonly destroy: () => Promise<void>;
}

export interface SpawnedNode {
  readonly id: number;
  /** As seen inside the lab: usable for `netns PID` in `run`. */
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
  /** Runs on the PTY, started after boot, again whenever it ends. */
  readonly console: readonly string[];
  /** The console program is the node: it runs once, as this user in this directory (made where missing), and its end is the node's, with its exit code. */
  readonly main?: NodeMain;
  /** Devices of the machine that the node needs beside those that every node has. */
  readonly devices?: readonly "kvm"[];
  /** Its resource limits from its start on; see `limit`. */
  readonly limits?: readonly LimitEntry[];
}

/** Ids are inside ones, 0 to 65535; gids has the primary group first. */
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
  /** Milliseconds of Unix time: of the release, before that of the spawn. */
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
  /** The lab's runtime directory: socket, pid file, holder log. Exists, owned by us. */
  readonly dir: string;
  /** Ownership mark: also on the process's command line. */
  readonly lab: string;
  /** The lab's control groups, one directory in each hierarchy (native/holder/README.md). */
  readonly cgroups?: readonly string[];
  /** Maximum number of processes and threads of the lab, also without control groups. */
  readonly processes?: number;
  /** First outside uid/gid and count of the range that the lab's user namespace maps 0.. to; absent: only the own id as 0. */
  readonly idMap?: { readonly base: number; readonly count: number };
  /** The lab runs as a range of its own, and idMap is the range that its files have on disk. */
  readonly ownRange?: OwnRange;
  /** Called with the reason if the lab could not get a range of its own and runs as idMap. */
  readonly onSharedRange?: (why: string) => void;
}

/** One write for the holder: index of the hierarchy or "rlimit", file of the node's group there, value. */
export type LimitEntry = readonly [hierarchy: number | "rlimit", file: string, value: string | number];
