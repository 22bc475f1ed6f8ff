import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { nodeKey } from "../../base/node-key.ts";
import type { ResultOf } from "../../client/index.ts";
import { packagePath } from "../../files/program-path.ts";
import type { Command, ExitCode } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { commandHelp } from "../command/help.ts";
import { UsageError } from "../command/usage-error.ts";
import { followCapture } from "../streams/follow-capture.ts";

/** Flags of Wireshark's external capture interface, extcap(4), with which Wireshark calls a program in its extcap folder. */
const calls = ["extcap-interfaces", "extcap-dlts", "extcap-config", "capture", "extcap-capture-filter"] as const;
const values = ["extcap-interface", "extcap-capture-filter", "extcap-version", "fifo", "interface", "filter", "snaplen"] as const;

/** Each lab is offered as an interface with this prefix. */
const prefix = "labwright";
const ethernet = 1;

/** Returns whether Wireshark calls the program: without a command, by any name that the link in the extcap folder has. */
export function isExtcapCall(words: readonly string[]): boolean {
  return words.some((word) => /^--extcap-/.test(word));
}

export const extcap: Command = {
  name: "extcap",
  summary: "Show labs as capture interfaces in Wireshark, by its extcap protocol",
  operands: "--extcap-interfaces|--extcap-dlts|--extcap-config|--capture [FLAG...]",
  details:
    "Wireshark calls this command. Set it up once: mkdir -p ~/.config/wireshark/extcap && ln -s $(command -v labwright) ~/.config/wireshark/extcap/\n" +
    "(Wireshark before 4.2: Help, About, Folders shows the extcap folder.) Wireshark then lists each lab that you may operate, with the login of\n" +
    "labwright login. The gear symbol beside the lab selects the node's interface.",
  flags: [],
  raw: true,
  example: "labwright extcap --extcap-interfaces",
  run: async (context, { operands }) => {
    if (operands.includes("--help") || operands.includes("-h")) {
      context.terminal.print(commandHelp(extcap));
      return 0;
    }
    const { said, is } = wordsOf(operands);
    if (is("extcap-interfaces")) return tellInterfaces(context);
    const lab = labOf(said("extcap-interface"));
    if (is("extcap-dlts")) {
      print(context, [`dlt {number=${ethernet}}{name=EN10MB}{display=Ethernet}`]);
      return 0;
    }
    if (is("extcap-config")) return tellConfiguration(context, lab);
    if (is("capture")) {
      const [file, port] = [said("fifo"), said("interface")];
      if (file === undefined) throw new UsageError("--capture needs an output file", "--fifo FILE");
      if (port === undefined)
        throw new UsageError("no interface of a node is selected", "the gear symbol beside the lab in Wireshark selects one");
      return capture(context, { lab, port, file, filter: said("extcap-capture-filter") ?? said("filter"), snaplen: said("snaplen") });
    }
    // Wireshark checks a filter while the user types it. No output means that it is valid; the host checks it when the capture begins.
    if (said("extcap-capture-filter") !== undefined) return 0;
    throw new UsageError("extcap is for Wireshark", `one of --${calls.slice(0, 4).join(", --")}`);
  },
};

/** Parses Wireshark's flags. Ignores unknown flags of newer versions. */
function wordsOf(words: readonly string[]) {
  const options = Object.fromEntries([
    ...calls.map((name) => [name, { type: "boolean" as const }]),
    ...values.map((name) => [name, { type: "string" as const }]),
  ]);
  const { values: found } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true });
  return {
    is: (name: (typeof calls)[number]): boolean => found[name] === true,
    said: (name: (typeof values)[number]): string | undefined => {
      const value = found[name];
      return typeof value === "string" && value !== "" ? value : undefined;
    },
  };
}

/** Prints the interfaces. Without a service it prints none, so that Wireshark still starts; Wireshark shows the error on stderr in its log. */
async function tellInterfaces(context: Context): Promise<ExitCode> {
  const { version } = JSON.parse(readFileSync(packagePath("package.json"), "utf8")) as { version: string };
  print(context, [`extcap {version=${version}}{display=Labwright}`]);
  if ((await context.service()) === undefined) return 0;
  const { labs } = await (await context.client()).listLabs();
  const shown = labs.filter(({ exists, right }) => exists && right !== "view");
  print(
    context,
    shown.map(({ lab }) => `interface {value=${prefix}${lab}}{display=Labwright lab ${lab}}`),
  );
  return 0;
}

async function tellConfiguration(context: Context, lab: string): Promise<ExitCode> {
  const { nodes } = await (await context.client()).inspectProject({ lab });
  print(context, [
    "arg {number=0}{call=--interface}{display=Interface}{tooltip=An interface of a running node}{type=selector}{required=true}",
    "arg {number=1}{call=--filter}{display=Filter on the host}{tooltip=A pcap filter: the host sends only packets that match it}{type=string}",
    "arg {number=2}{call=--snaplen}{display=Bytes kept of each packet}{type=unsigned}{range=1,262144}",
    ...portsOf(nodes).map(({ port, peer }) => `value {arg=0}{value=${port}}{display=${peer === undefined ? port : `${port} to ${peer}`}}`),
  ]);
  return 0;
}

/** Returns the interfaces of running nodes, linked ones first. */
function portsOf(nodes: ResultOf<"inspectProject">["nodes"]): readonly { readonly port: string; readonly peer: string | undefined }[] {
  return nodes
    .filter(({ status }) => ["running", "starting"].includes(status))
    .flatMap((node) =>
      node.interfaces.filter(({ type }) => type === "ethernet").map(({ name, peer }) => ({ port: `${nodeKey(node)}:${name}`, peer })),
    );
}

interface Chosen {
  readonly lab: string;
  /** "r1:eth1". */
  readonly port: string;
  readonly file: string;
  readonly filter: string | undefined;
  readonly snaplen: string | undefined;
}

async function capture(context: Context, { lab, port, file, filter, snaplen }: Chosen): Promise<ExitCode> {
  const at = port.indexOf(":");
  if (at < 1) throw new UsageError(`"${port}" is not an interface`, "such as r1:eth1");
  if (snaplen !== undefined && !/^[1-9]\d{0,5}$/.test(snaplen)) throw new UsageError(`"${snaplen}" is not a number of bytes`);
  const client = await context.client();
  const { capture: id } = await client.startCapture({
    lab,
    node: port.slice(0, at),
    interface: port.slice(at + 1),
    ...(filter === undefined ? {} : { filter }),
    ...(snaplen === undefined ? {} : { snaplen: Number(snaplen) }),
  });
  return followCapture(context, client, { id, name: port, file, quiet: true });
}

function labOf(name: string | undefined): string {
  if (name?.startsWith(`${prefix}/`) === true) return name.slice(prefix.length);
  throw new UsageError(
    `${name === undefined ? "no interface" : `"${name}"`} is not a lab: --extcap-interface names one`,
    `such as ${prefix}/campus`,
  );
}

/** Prints lines of the extcap protocol. */
function print({ terminal }: Context, sentences: readonly string[]): void {
  for (const sentence of sentences) terminal.print(sentence);
}
