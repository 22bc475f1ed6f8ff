import { type Command, commonFlags, type Flag, flagsOf, serviceFlags } from "../src/cli/command/command.ts";

interface ManPage {
  /** File name such as labwright-up.1. */
  readonly file: string;
  readonly text: string;
}

interface PageOptions {
  readonly version: string;
  /** Of the release, as YYYY-MM-DD. */
  readonly date: string;
}

/** The manual: labwright(1), and a page for each command, such as labwright-up(1). Made of the command table, as `labwright --help` is. */
export function manPages(commands: readonly Command[], options: PageOptions): readonly ManPage[] {
  return [
    { file: "labwright.1", text: overviewPage(commands, options) },
    ...commands.map((command) => ({ file: `${pageName(command)}.1`, text: commandPage(command, options) })),
  ];
}

function overviewPage(commands: readonly Command[], options: PageOptions): string {
  return lines(
    header("labwright", options),
    section("NAME", "labwright \\- network labs as YAML, planned, run, and kept true"),
    section("SYNOPSIS", ".B labwright", ".I COMMAND", "[\\fIFLAG\\fR...]"),
    section(
      "DESCRIPTION",
      "Labwright turns a network lab written as YAML into running nodes on a network\\-emulation host, and keeps the two in step.",
      "The default host is this machine.",
    ),
    section("COMMANDS", ...commands.flatMap((command) => item(`\\fB${pageName(command)}\\fR(1)`, command.summary))),
    section("FLAGS OF EVERY COMMAND", ...commonFlags.flatMap(flagItem)),
    section("FLAGS OF COMMANDS THAT USE A SERVICE", ...serviceFlags.flatMap(flagItem)),
    section("EXIT STATUS", ...item("0", "done"), ...item("1", "error"), ...item("2", "changes are pending")),
    section("ENVIRONMENT", ...Object.entries(environment).flatMap(([name, text]) => item(`\\fB${escaped(name)}\\fR`, text))),
    section(
      "FILES",
      ...item("/usr/share/doc/labwright/", "the documents; docs/intent.md describes the YAML"),
      ...item("/var/lib/labwright/", "labs, node disks, users and certificate of the service that root runs"),
    ),
  );
}

const environment: Readonly<Record<string, string>> = {
  LABWRIGHT_URL: "The address of the service.",
  LABWRIGHT_PIN: "The SHA-256 fingerprint of the service's certificate.",
  LABWRIGHT_TOKEN: "The token of a session.",
  LABWRIGHT_USER: "The user who signs in.",
  LABWRIGHT_PASSWORD: "The password of that user.",
  LABWRIGHT_STATE_DIR: "The state directory of the service of this machine.",
  NO_COLOR: "Switches colours off.",
};

function commandPage(command: Command, options: PageOptions): string {
  const operands = command.operands === undefined ? [] : [escaped(command.operands)];
  const flags = command.raw === true ? [] : ["[\\fIFLAG\\fR...]"];
  const aliases = command.aliases ?? [];
  return lines(
    header(pageName(command), options),
    section("NAME", `${escaped(pageName(command))} \\- ${escaped(command.summary)}`),
    section("SYNOPSIS", `.B labwright ${escaped(command.name)}`, ...flags, ...operands),
    aliases.length > 0 && section("ALIASES", escaped(aliases.map((alias) => `labwright ${alias}`).join(", "))),
    command.details !== undefined && section("DESCRIPTION", ...command.details.split("\n").map(textLine)),
    command.raw !== true && section("FLAGS", ...flagsOf(command).flatMap(flagItem)),
    section("EXAMPLE", ".nf", textLine(command.example), ".fi"),
    section("SEE ALSO", "\\fBlabwright\\fR(1)"),
  );
}

function pageName({ name }: Command): string {
  return `labwright-${name}`;
}

function header(name: string, { version, date }: PageOptions): string {
  return `.TH "${escaped(name.toUpperCase())}" 1 "${escaped(date)}" "labwright ${escaped(version)}" "Labwright"`;
}

function section(title: string, ...content: readonly string[]): string {
  return [`.SH "${title}"`, ...content].join("\n");
}

/** A term, which is roff already, and its description, which is plain text. */
function item(term: string, description: string): readonly string[] {
  return [".TP", term, ...description.split("\n").map(textLine)];
}

function flagItem({ long, short, value, choices, summary }: Flag): readonly string[] {
  const names = [...(short === undefined ? [] : [`-${short}`]), `--${long}`].map((name) => `\\fB${escaped(name)}\\fR`).join(", ");
  const text = choices === undefined ? summary : `${summary} (${choices.join(", ")})`;
  return item(value === undefined ? names : `${names} \\fI${escaped(value)}\\fR`, text);
}

/** A line of text that roff takes for no request. */
function textLine(text: string): string {
  return /^[.']/.test(text) ? `\\&${escaped(text)}` : escaped(text);
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll('"', "\\(dq").replaceAll("'", "\\(aq");
}

function lines(...parts: readonly (string | false)[]): string {
  return `${parts.filter((part) => part !== false).join("\n")}\n`;
}
