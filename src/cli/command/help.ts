import { table } from "../show/table.ts";
import { type Command, commonFlags, type Flag, flagsOf, serviceFlags } from "./command.ts";

/** The list of commands. */
export function overview(commands: readonly Command[]): string {
  return [
    "labwright: network labs as YAML, planned, run, and kept true",
    "",
    "Usage: labwright COMMAND [FLAG...]",
    "",
    ...indent(
      table(
        ["", ""],
        commands.map((command) => [command.name, command.summary]),
      ),
    ).slice(1),
    "",
    "labwright COMMAND --help tells more and has an example. Exit codes: 0 done, 1 error, 2 changes are pending.",
    "Environment: LABWRIGHT_URL, LABWRIGHT_PIN, LABWRIGHT_TOKEN, LABWRIGHT_USER, LABWRIGHT_PASSWORD, LABWRIGHT_STATE_DIR, NO_COLOR.",
  ].join("\n");
}

/** One command: what it does, how it is called, its flags, an example. */
export function commandHelp(command: Command): string {
  const lines = [command.summary, "", `Usage: ${usage(command)}`];
  if (command.aliases !== undefined) lines.push(`Also: ${command.aliases.map((alias) => `labwright ${alias}`).join(", ")}`);
  if (command.details !== undefined) lines.push("", command.details);
  if (command.raw !== true) {
    const rows = flagsOf(command).map((flag) => [flagText(flag), summaryText(flag)]);
    lines.push("", "Flags:", ...indent(table(["", ""], rows)).slice(1));
  }
  lines.push("", "Example:", `  ${command.example}`);
  return lines.join("\n");
}

/** docs/cli.md, whole. */
export function helpMarkdown(commands: readonly Command[]): string {
  const parts = [
    "# Command line",
    "",
    "<!-- Made by `labwright help --markdown` from src/cli/commands; a test compares. -->",
    "",
    "`labwright COMMAND [FLAG...]`. Every command has `--help` with an example.",
    "",
    "- Results go to stdout, everything else to stderr. `--format json` makes stdout pure JSON: the service's own data.",
    "- Exit codes: 0 done, 1 error, 2 changes are pending (`plan`, `apply --no-confirm`, `pull --dry-run`).",
    "- `up`, `deploy` and `apply` wait until the nodes that should run are up (`--no-wait` does not wait, `--timeout` waits longer than 120 s). A node",
    "  that has failed, or is not ready in time, is exit code 1 and is named on stderr, with the last lines of its log and the command that shows all.",
    "  `status` ends with 1 while a node has failed. After the cause is fixed, `up` or `apply` starts failed nodes again; the plan names them.",
    "- Errors are `error: text (code)` with a hint; the codes are those of [errors.md](errors.md). Mistakes in a lab's file are shown with their line.",
    "- The file is `-t FILE`, or the only `*.lw.yml`, `*.clab.yml` or `lab.yaml` in the folder (`-t FOLDER`, or the one you are in). Files that it names (`startup-config`) are read",
    "  relative to it, and only from its own folder or below.",
    "- A lab keeps the file that its last change came from: the machine's name and the file's path. `up`, `apply`, `deploy --replace` and `destroy`",
    "  from another file ask, or need `--take-over`; `--yes` is no answer to that, and without a terminal they change nothing and end with 1. So a",
    "  second file with the same `name:` neither is mixed into a running lab nor removes it; `destroy --lab PATH` means the lab and needs no more.",
    "  After a file has moved, and in a pipeline, whose folder is another each time, `--take-over` is the answer: the lab keeps this file from then on,",
    "  also where nothing else is to change.",
    "- The service is `--url`, `LABWRIGHT_URL`, the one of the last login, or the one of this machine, which is found again after a start at another",
    "  port. `labwright up` starts one where none answers, at `--port`, at the port of a `--url` of this machine, or at `LABWRIGHT_PORT`;",
    "  `labwright down` stops it, and the labs run on. Tokens and pins are kept in",
    "  `$XDG_CONFIG_HOME/labwright/credentials.json` (0600). A certificate that no authority vouches for is pinned by its SHA-256 fingerprint;",
    "  nothing is sent before the pin is compared.",
    "- Passwords are typed without echo, or come from `LABWRIGHT_PASSWORD` or standard input; never from the command line. With `LABWRIGHT_USER`",
    "  and `LABWRIGHT_PASSWORD` set, an expired session is renewed by itself.",
    "- `source <(labwright completion bash)` completes commands, flags, and names of labs, nodes and interfaces (also zsh and fish).",
    "",
    "Flags of every command:",
    "",
    ...flagTable(commonFlags),
    "",
    "Flags of every command that talks to a service:",
    "",
    ...flagTable(serviceFlags),
  ];
  for (const command of commands) {
    parts.push("", `## ${command.name}`, "", `${command.summary}.`, "", "```", usage(command), "```");
    if (command.aliases !== undefined) parts.push("", `Also: ${command.aliases.map((alias) => `\`labwright ${alias}\``).join(", ")}.`);
    if (command.details !== undefined) parts.push("", command.details);
    if (command.flags.length > 0) parts.push("", ...flagTable(command.flags));
    parts.push("", "```sh", command.example, "```");
  }
  return `${parts.join("\n")}\n`;
}

function usage(command: Command): string {
  const flags = command.raw === true ? "" : " [FLAG...]";
  return `labwright ${command.name}${flags}${command.operands === undefined ? "" : ` ${command.operands}`}`;
}

function flagText({ long, short, value }: Flag): string {
  const name = short === undefined ? `    --${long}` : `-${short}, --${long}`;
  return value === undefined ? name : `${name} ${value}`;
}

function summaryText({ summary, choices }: Flag): string {
  return choices === undefined ? summary : `${summary} (${choices.join(", ")})`;
}

function flagTable(flags: readonly Flag[]): readonly string[] {
  const rows = flags.map((flag) => `| \`${flagText(flag).trim()}\` | ${summaryText(flag)} |`);
  return ["| flag | |", "|---|---|", ...rows];
}

function indent(text: string): readonly string[] {
  return text.split("\n").map((line) => `  ${line}`.trimEnd());
}
