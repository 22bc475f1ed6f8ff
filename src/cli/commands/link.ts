import { nodeKey } from "../../base/node-key.ts";
import type { InputOf, ResultOf } from "../../client/index.ts";
import { qualityPresets } from "../../intent/lab/quality.ts";
import type { Arguments } from "../command/arguments.ts";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { qualityText } from "../show/quality-text.ts";

type Quality = NonNullable<InputOf<"applyLinkQuality">["a"]>;
type Endpoints = readonly [string, string];
type Inspection = ResultOf<"inspectProject">;
type InspectedLink = Inspection["links"][number];

const impairments = ["delay", "jitter", "loss", "bandwidth"] as const;
const largest = { delay: 10_000, jitter: 10_000, loss: 100, bandwidth: 10_000_000 } as const;

export const link: Command = {
  name: "link",
  summary: "Show a link, set its delay, jitter, loss and bandwidth, or suspend it",
  operands: "NODE:INTERFACE [NODE:INTERFACE]",
  completes: "interface",
  maxOperands: 2,
  details:
    "Name the link by one of its ends: an interface has only one link. On a link to a network, the other end is the name of the network.\n" +
    "Without options the link is shown and not changed. Values apply to both directions; with --from only to packets from that end. They override the\n" +
    "values of --preset. --clear removes all impairments of both directions.\n" +
    "Changes apply to the running lab only; --save also stores them on the host. A suspended link has no carrier, as if the cable were unplugged, until\n" +
    "--resume.",
  flags: [
    topoFlag,
    labFlag,
    { long: "delay", value: "MS", summary: "Delay of each packet in ms, 0 to 10000" },
    { long: "jitter", value: "MS", summary: "Random change of the delay, up or down, in ms, 0 to 10000" },
    { long: "loss", value: "PERCENT", summary: "Lost packets in percent, 0 to 100" },
    { long: "bandwidth", value: "KBIT", summary: "Maximum rate in kbit/s, 0 to 10000000; 0 is unlimited" },
    { long: "preset", value: "NAME", choices: Object.keys(qualityPresets), summary: "A predefined quality, as in a lab's file" },
    {
      long: "from",
      value: "NODE:INTERFACE",
      summary: "Only packets from this end; the other direction has no impairments then. With --suspend and --resume: only at this end",
    },
    { long: "clear", summary: "Remove all impairments: no delay, jitter, loss or limit of bandwidth" },
    { long: "save", summary: "Also store the values on the host" },
    { long: "suspend", summary: "Remove the carrier, as an unplugged cable does" },
    { long: "resume", summary: "Restore the carrier" },
  ],
  example: "labwright link r1:eth1 --delay 20 --loss 0.5",
  run: async (context, args) => {
    const [a, b] = args.operands;
    if (a === undefined) throw new UsageError("link needs an end of the link", "such as labwright link r1:eth1 --delay 20");
    const quality = qualityOf(args);
    const wish = wishOf(args, quality);
    const { selector } = await context.project();
    const client = await context.client();
    const inspection = await client.inspectProject({ ...selector, refresh: true });
    const endpoints: Endpoints = b === undefined ? linkAt(inspection, a) : [a, b];
    if (wish === "show") {
      const found = linkBetween(inspection, endpoints);
      context.result(found, () => showLink(inspection, found, endpoints));
      return 0;
    }
    const side = sideOf(args, endpoints);
    if (wish === "suspend" || wish === "resume") {
      const suspended = wish === "suspend";
      const data = await client.setLinkSuspend({ ...selector, endpoints, suspended, ...(side === undefined ? {} : { side }) });
      const where = side === undefined ? "" : ` at ${endpoints[side === "a" ? 0 : 1]}`;
      context.result(data, (done) => `${done.link}: ${suspended ? "suspended" : "resumed"}${where}`);
      return 0;
    }
    const data = await client.applyLinkQuality({
      ...selector,
      endpoints,
      ...(quality === undefined || side === "b" ? {} : { a: quality }),
      ...(quality === undefined || side === "a" ? {} : { b: quality }),
      ...(args.has("save") ? { save: true } : {}),
    });
    context.result(data, show);
    if (!isIdle(data, quality)) return 0;
    if (!data.saved)
      throw new UsageError(
        "nothing was changed: the quality of a link can be set only while the nodes at both ends run",
        "--save stores it on the host; it takes effect when both nodes run",
      );
    context.terminal.note("takes effect when the nodes at both ends run");
    return 0;
  },
};

/** Returns whether values were requested but neither end has any: no node runs there. */
function isIdle({ effective }: ResultOf<"applyLinkQuality">, asked: Quality | undefined): boolean {
  const any = (quality: Quality | undefined) => Object.values(quality ?? {}).some((value) => value !== 0);
  return any(asked) && !any(effective.a) && !any(effective.b);
}

/** Returns both ends of an interface's link. Throws UsageError if it has no link. */
function linkAt({ lab, links, nodes }: Inspection, end: string): Endpoints {
  const [found, another] = links.filter(({ endpoints }) => endpoints.includes(end));
  if (another !== undefined)
    throw new UsageError(
      `${end} has several links`,
      `name an interface, such as ${links.flatMap(({ endpoints }) => (endpoints.includes(end) ? endpoints.filter((one) => one !== end) : [])).join(", ")}`,
    );
  const [a, b] = found?.endpoints ?? [];
  if (a !== undefined && b !== undefined) return a === end ? [a, b] : [b, a];
  const own = links.flatMap(({ endpoints }) => endpoints).filter((one) => one.startsWith(`${end.split(":")[0]}:`));
  if (own.length > 0) throw new UsageError(`${end} has no link in ${lab}`, `such as ${own.sort().join(", ")}`);
  const keys = nodes.map(nodeKey);
  const [word = ""] = end.split(":");
  const renamed = keys.includes(word) ? undefined : nodes.find(({ name }) => name === word);
  if (renamed !== undefined)
    throw new UsageError(
      `${end} has no link in ${lab}: ${word} is the name of ${nodeKey(renamed)} on the host`,
      `use ${nodeKey(renamed)}:INTERFACE`,
    );
  throw new UsageError(`${end} has no link in ${lab}`, `NODE:INTERFACE, with a node of ${keys.join(", ")}`);
}

/** Throws UsageError if the two ends are not linked. */
function linkBetween({ lab, links }: Inspection, [a, b]: Endpoints): InspectedLink {
  const found = links.find(({ endpoints }) => endpoints.includes(a) && endpoints.includes(b));
  if (found === undefined) throw new UsageError(`${lab} has no link ${a} -- ${b}`, "labwright inspect shows each interface with its peer");
  return found;
}

type Wish = "show" | "change" | "clear" | "suspend" | "resume";

/** Returns the action of a call. Throws UsageError for flags that cannot be combined. */
function wishOf(args: Arguments, quality: Quality | undefined): Wish {
  const [wish, other] = (["clear", "suspend", "resume"] as const).filter((flag) => args.has(flag));
  if (other !== undefined) throw new UsageError(`--${wish} and --${other} cannot be combined`, "run labwright link twice");
  if (wish !== undefined && quality !== undefined)
    throw new UsageError(
      `--${wish} cannot be combined with ${[...impairments, "preset"]
        .filter((name) => args.has(name))
        .map((name) => `--${name}`)
        .join(", ")}`,
      "run labwright link twice",
    );
  if (wish === "clear" && args.has("from")) throw new UsageError("--clear cannot be combined with --from: it clears both directions");
  if (wish !== undefined || quality !== undefined) return wish ?? "change";
  const [flag] = ["from", "save"].filter((name) => args.has(name));
  if (flag !== undefined) throw new UsageError(`--${flag} needs a value to set, such as --delay 20`, "--clear removes all impairments");
  return "show";
}

function sideOf(args: Arguments, [a, b]: Endpoints): "a" | "b" | undefined {
  const from = args.text("from");
  if (from === undefined) return undefined;
  if (from !== a && from !== b) throw new UsageError(`--from takes one end of the link: ${a} or ${b}`);
  return from === a ? "a" : "b";
}

function qualityOf(args: Arguments): Quality | undefined {
  const entries = impairments.flatMap((name) => {
    const text = args.text(name);
    if (text === undefined) return [];
    const value = Number(text);
    if (text.trim() === "" || !(value >= 0 && value <= largest[name])) {
      throw new UsageError(`--${name} takes a number from 0 to ${largest[name]}, not "${text}"`);
    }
    return [[name, value] as const];
  });
  const preset = args.text("preset");
  if (preset === undefined && entries.length === 0) return undefined;
  return { ...(preset === undefined ? {} : qualityPresets[preset]), ...Object.fromEntries(entries) };
}

function show({ endpoints, effective, saved }: ResultOf<"applyLinkQuality">): string {
  const lines = (["a", "b"] as const).map((side, index) => {
    return `from ${endpoints[index]}: ${qualityText(effective[side] ?? {}) || "perfect"}`;
  });
  return [...lines, ...(saved ? ["saved"] : [])].join("\n");
}

/** Shows a line for each direction: the current quality, the stored one if it differs, and a suspended end. */
function showLink({ nodes }: Inspection, link: InspectedLink, ends: Endpoints): string {
  const suspended = new Set(
    nodes.flatMap((node) => node.interfaces.flatMap((one) => (one.suspended ? [`${nodeKey(node)}:${one.name}`] : []))),
  );
  const lines = ends.map((end) => {
    const side = link.endpoints[0] === end ? "a" : "b";
    const now = qualityText(link.quality?.[side] ?? {}) || "perfect";
    const stored = qualityText(link.stored_quality?.[side] ?? {}) || "perfect";
    return `from ${end}: ${now}${stored === now ? "" : ` (saved on the host: ${stored})`}${suspended.has(end) ? "; suspended at this end" : ""}`;
  });
  return [`${ends.join(" -- ")}${link.suspended ? "  suspended" : ""}`, ...lines].join("\n");
}
