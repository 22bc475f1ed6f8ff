import type { Arguments } from "./arguments.ts";
import type { Context } from "./context.ts";

export interface Flag {
  readonly long: string;
  readonly short?: string;
  /** Placeholder of the flag's value. Absent for a flag without a value. */
  readonly value?: string;
  /** The flag may be repeated, and its value may be a comma list. */
  readonly multiple?: boolean;
  /** The allowed values. */
  readonly choices?: readonly string[];
  /** The values that completion offers, if there are no choices. */
  readonly completes?: "file" | "folder" | "lab" | "node";
  readonly summary: string;
}

/** Exit codes: 0 done, 1 error, 2 changes are pending. A program in a node passes its own exit code on. */
export type ExitCode = number;

/** A row of the command table, from which parsing, help, completion and docs/cli.md are derived. */
export interface Command {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** Positional arguments as shown in help, such as "[NODE]". Absent: the command has none. */
  readonly operands?: string;
  /** The maximum of operands. Default: any number, if the command has operands. */
  readonly maxOperands?: number;
  readonly choices?: readonly string[];
  /** The operands that completion offers, if there are no choices. Default: files. */
  readonly completes?: "node" | "interface" | "test";
  /** A longer text for help. */
  readonly details?: string;
  readonly flags: readonly Flag[];
  /** Passes its arguments unchecked to another program. */
  readonly raw?: boolean;
  /** Uses the text of the lab's file. Other commands need only the lab's name, and also run if the file has errors. */
  readonly readsText?: boolean;
  /** Works without a service, and has no flags to select one. */
  readonly offline?: boolean;
  readonly example: string;
  readonly run: (context: Context, args: Arguments) => Promise<ExitCode>;
}

export const serviceFlags = [
  { long: "url", value: "URL", summary: "Address of the service; default: the last login, or the local service" },
  { long: "pin", value: "SHA256", summary: "Fingerprint of the service's certificate; default: the one stored at login" },
] as const satisfies readonly Flag[];

export const commonFlags = [
  {
    long: "format",
    short: "o",
    value: "FORMAT",
    choices: ["table", "json"],
    summary: "json: pure JSON on stdout, everything else on stderr",
  },
  { long: "no-color", summary: "Write no colours, even to a terminal" },
  { long: "quiet", short: "q", summary: "Write only results and errors, no progress and no notes" },
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
  summary: "The lab's path on the host, instead of a file",
};
export const nodeFlag: Flag = {
  long: "node",
  value: "NAME",
  multiple: true,
  completes: "node",
  summary: "Only this node; repeatable, or a comma list; also 'r*', kind:NAME, group:NAME, label:KEY=VALUE",
};
/** The operands of a command that acts on nodes, and has `nodeFlag` for the same: without any, it acts on all nodes. */
export const nodeOperands = { operands: "[NODE...]", completes: "node" } as const;
/** The operand of a command that works on the lab's file: the value of --topo without the flag. */
export const fileOperand = { operands: "[FILE]", maxOperands: 1 } as const;
export const yesFlag: Flag = { long: "yes", short: "y", summary: "Do not ask" };
export const timeoutFlag: Flag = { long: "timeout", value: "SECONDS", summary: "Time to wait for the answer" };

export const noWaitFlag: Flag = { long: "no-wait", summary: "Do not wait for the nodes" };
/** For commands that also wait for nodes. */
export const waitTimeoutFlag: Flag = {
  long: "timeout",
  value: "SECONDS",
  summary: "Time to wait for the answer, and then for the nodes; default for the nodes: 120",
};

/** Returns every flag of a command, its own flags first. They replace common flags of the same name. */
export function flagsOf(command: Command): readonly Flag[] {
  const own = new Set(command.flags.map(({ long }) => long));
  const common: readonly Flag[] = [...(command.offline === true ? [] : serviceFlags), ...commonFlags];
  return [...command.flags, ...common.filter(({ long }) => !own.has(long))];
}
