import type { InputOf, LabwrightClient, ResultOf } from "../../client/index.ts";
import { qualityPresets } from "../../intent/quality.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, labFlag, topoFlag } from "../command.ts";
import { qualityText } from "../quality-text.ts";
import { UsageError } from "../usage-error.ts";

type Quality = NonNullable<InputOf<"applyLinkQuality">["a"]>;
type Endpoints = readonly [string, string];

const impairments = ["delay", "jitter", "loss", "bandwidth"] as const;
const largest = { delay: 10_000, jitter: 10_000, loss: 100, bandwidth: 10_000_000 } as const;

export const link: Command = {
  name: "link",
  summary: "Make a live link slow, lossy or narrow, or pull its cable",
  operands: "NODE:INTERFACE [NODE:INTERFACE]",
  maxOperands: 2,
  details:
    "One end is enough: an interface has one link. The other end of a network's link is the network's name.\n" +
    "Values count for both directions, unless --from names the end that they leave from; they go before those of a --preset. Without any of\n" +
    "them the link is made perfect again.\n" +
    "Changes are for the running lab only; --save keeps them on the host. A pulled cable stays pulled until --resume.",
  flags: [
    topoFlag,
    labFlag,
    { long: "delay", value: "MS", summary: "0 to 10000" },
    { long: "jitter", value: "MS", summary: "0 to 10000" },
    { long: "loss", value: "PERCENT", summary: "0 to 100" },
    { long: "bandwidth", value: "KBIT", summary: "kbit/s, 0 to 10000000; 0 is unlimited" },
    { long: "preset", value: "NAME", choices: Object.keys(qualityPresets), summary: "A well-known line, as in a lab's file" },
    {
      long: "from",
      value: "NODE:INTERFACE",
      summary: "Only what leaves this end; the other end becomes perfect. With --suspend and --resume: only at this end",
    },
    { long: "save", summary: "Keep it on the host" },
    { long: "suspend", summary: "Take the carrier away, as a pulled cable does" },
    { long: "resume", summary: "Give the carrier back" },
  ],
  example: "labwright link r1:eth1 --delay 20 --loss 0.5",
  run: async (context, args) => {
    const [a, b] = args.operands;
    if (a === undefined) throw new UsageError("link: which link?", "one of its ends: labwright link r1:eth1 --delay 20");
    const quality = qualityOf(args);
    const carrier = carrierOf(args, quality);
    const { selector } = await context.project();
    const client = await context.client();
    const endpoints: Endpoints = b === undefined ? await linkAt(client, selector, a) : [a, b];
    const side = sideOf(args, endpoints);
    if (carrier !== undefined) {
      const suspended = carrier === "suspend";
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
        "nothing was changed: a link without running nodes at both ends has no quality",
        "--save keeps it for when they run",
      );
    context.terminal.note("in force when the nodes at both ends run");
    return 0;
  },
};

/** Something was asked for, and no side of the link has any quality: nothing runs there that could have it. */
function isIdle({ effective }: ResultOf<"applyLinkQuality">, asked: Quality | undefined): boolean {
  const any = (quality: Quality | undefined) => Object.values(quality ?? {}).some((value) => value !== 0);
  return any(asked) && !any(effective.a) && !any(effective.b);
}

/** Both ends of the link that an interface is in. Throws UsageError where it is in none. */
async function linkAt(client: LabwrightClient, selector: object, end: string): Promise<Endpoints> {
  const { lab, links, nodes } = await client.inspectProject({ ...selector, refresh: true });
  const [found, another] = links.filter(({ endpoints }) => endpoints.includes(end));
  if (another !== undefined)
    throw new UsageError(
      `${end} has several links`,
      `name an interface, such as ${links.flatMap(({ endpoints }) => (endpoints.includes(end) ? endpoints.filter((one) => one !== end) : [])).join(", ")}`,
    );
  const [a, b] = found?.endpoints ?? [];
  if (a !== undefined && b !== undefined) return a === end ? [a, b] : [b, a];
  const own = links.flatMap(({ endpoints }) => endpoints).filter((one) => one.startsWith(`${end.split(":")[0]}:`));
  if (own.length > 0) throw new UsageError(`${end} is in no link of ${lab}`, `such as ${own.sort().join(", ")}`);
  const names = nodes.map(({ node, name }) => node ?? name);
  throw new UsageError(`${end} is in no link of ${lab}`, `NODE:INTERFACE, with a node of ${names.join(", ")}`);
}

/** Whether the cable is pulled or put back; undefined: neither. One call does one thing. */
function carrierOf(args: Arguments, quality: Quality | undefined): "suspend" | "resume" | undefined {
  const [suspend, resume] = [args.has("suspend"), args.has("resume")];
  if (suspend && resume) throw new UsageError("--suspend and --resume say the opposite of each other");
  if (!suspend && !resume) return undefined;
  const flag = suspend ? "suspend" : "resume";
  if (quality !== undefined)
    throw new UsageError(
      `--${flag} goes without ${[...impairments, "preset"]
        .filter((name) => args.has(name))
        .map((name) => `--${name}`)
        .join(", ")}`,
      "two calls",
    );
  return flag;
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
