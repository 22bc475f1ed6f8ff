import type { Arguments } from "./arguments.ts";
import type { Context } from "./context.ts";

export interface Flag {
  readonly long: string;
  readonly short?: string;
  /** Placeholder of its value; absent for a flag that is on or off. */
  readonly value?: string;
  /** May be given several times, and as a comma list. */
  readonly multiple?: boolean;
  /** The only values that it takes. */
  readonly choices?: readonly string[];
  /** What completion offers where there are no choices. */
  readonly completes?: "file" | "folder" | "lab" | "node";
  readonly summary: string;
}

/** Exit codes: 0 done, 1 error, 2 changes are pending. */
export type ExitCode = 0 | 1 | 2;

/** One command: the row that parsing, help, completion and docs/cli.md are made from. */
export interface Command {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** Positional arguments as shown in help, such as "[NODE]". Absent: none are taken. */
  readonly operands?: string;
  /** At most so many; default: any number, where operands are taken at all. */
  readonly maxOperands?: number;
  readonly choices?: readonly string[];
  /** What completion offers as operands where there are no choices; default: files. */
  readonly completes?: "node" | "interface";
  /** Longer text for help. */
  readonly details?: string;
  readonly flags: readonly Flag[];
  /** Hands its arguments to another program unread. */
  readonly raw?: boolean;
  /** Works without a service: takes none of the flags that choose one. */
  readonly offline?: boolean;
  readonly example: string;
  readonly run: (context: Context, args: Arguments) => Promise<ExitCode>;
}

export const serviceFlags = [
  { long: "url", value: "URL", summary: "The service; default: the last login, or the local service" },
  { long: "pin", value: "SHA256", summary: "Fingerprint of the service's certificate; default: the one kept at login" },
] as const satisfies readonly Flag[];

export const commonFlags = [
  { long: "format", value: "FORMAT", choices: ["table", "json"], summary: "json: pure JSON on stdout, everything else on stderr" },
  { long: "no-color", summary: "No colours, also on a terminal" },
  { long: "quiet", short: "q", summary: "No progress and no notes, only results and errors" },
  { long: "help", short: "h", summary: "Show this help" },
] as const satisfies readonly Flag[];

export const topoFlag: Flag = {
  long: "topo",
  short: "t",
  value: "FILE",
  completes: "file",
  summary: "The lab's file, or its folder; default: the only *.lw.yml, *.clab.yml or lab.yaml in this folder",
};
export const labFlag: Flag = {
  long: "lab",
  value: "PATH",
  completes: "lab",
  summary: "The lab's path on the host, where there is no file",
};
export const nodeFlag: Flag = {
  long: "node",
  value: "NAME",
  multiple: true,
  completes: "node",
  summary: "Only this node; repeatable, or a comma list",
};
export const yesFlag: Flag = { long: "yes", short: "y", summary: "Do not ask" };
export const timeoutFlag: Flag = { long: "timeout", value: "SECONDS", summary: "How long to wait for the answer" };

export const noWaitFlag: Flag = { long: "no-wait", summary: "Do not wait until the nodes are up" };
/** Of commands that also wait for nodes. */
export const waitTimeoutFlag: Flag = {
  long: "timeout",
  value: "SECONDS",
  summary: "How long to wait for the answer, and then for the nodes; default for the nodes: 120",
};

/** Every flag of a command, its own first. */
export function flagsOf(command: Command): readonly Flag[] {
  return [...command.flags, ...(command.offline === true ? [] : serviceFlags), ...commonFlags];
}
