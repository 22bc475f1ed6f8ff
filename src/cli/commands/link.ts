import type { InputOf, ResultOf } from "../../client/index.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, labFlag, topoFlag } from "../command.ts";
import { UsageError } from "../usage-error.ts";

type Quality = NonNullable<InputOf<"applyLinkQuality">["a"]>;
const impairments = ["delay", "jitter", "loss", "bandwidth"] as const;

export const link: Command = {
  name: "link",
  summary: "Make a live link slow, lossy or narrow, or pull its cable",
  operands: "NODE:INTERFACE NODE:INTERFACE",
  maxOperands: 2,
  details:
    "Values count for both directions, unless --from names the end that they leave from. Without any of them the link is made perfect again.\n" +
    "Changes are for the running lab only; --save keeps them on the host.",
  flags: [
    topoFlag,
    labFlag,
    { long: "delay", value: "MS", summary: "0 to 10000" },
    { long: "jitter", value: "MS", summary: "0 to 10000" },
    { long: "loss", value: "PERCENT", summary: "0 to 100" },
    { long: "bandwidth", value: "KBIT", summary: "kbit/s; 0 is unlimited" },
    { long: "from", value: "NODE:INTERFACE", summary: "Only what leaves this end; the other end becomes perfect" },
    { long: "save", summary: "Keep it on the host" },
    { long: "suspend", summary: "Take the carrier away, as a pulled cable does" },
    { long: "resume", summary: "Give the carrier back" },
  ],
  example: "labwright link r1:eth1 r2:eth1 --delay 20 --loss 0.5",
  run: async (context, args) => {
    const [a, b] = args.operands;
    if (a === undefined || b === undefined) throw new UsageError("link: which link?", "labwright link r1:eth1 r2:eth1 --delay 20");
    const { selector } = await context.project();
    const client = await context.client();
    const endpoints = [a, b] as const;
    if (args.has("suspend") || args.has("resume")) {
      const data = await client.setLinkSuspend({ ...selector, endpoints, suspended: args.has("suspend") });
      context.result(data, (done) => `${done.link}: ${args.has("suspend") ? "suspended" : "resumed"}`);
      return 0;
    }
    const quality = qualityOf(args);
    const from = args.text("from");
    if (from !== undefined && from !== a && from !== b) throw new UsageError(`--from takes one end of the link: ${a} or ${b}`);
    const data = await client.applyLinkQuality({
      ...selector,
      endpoints,
      ...(quality === undefined || from === b ? {} : { a: quality }),
      ...(quality === undefined || from === a ? {} : { b: quality }),
      ...(args.has("save") ? { save: true } : {}),
    });
    context.result(data, show);
    return 0;
  },
};

function qualityOf(args: Arguments): Quality | undefined {
  const entries = impairments.flatMap((name) => {
    const text = args.text(name);
    if (text === undefined) return [];
    const value = Number(text);
    if (text === "" || !Number.isFinite(value)) throw new UsageError(`--${name} takes a number, not "${text}"`);
    return [[name, value] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function show({ endpoints, effective, saved }: ResultOf<"applyLinkQuality">): string {
  const lines = (["a", "b"] as const).map((side, index) => {
    const parts = Object.entries(effective[side] ?? {}).filter(([, value]) => value !== undefined && value !== 0);
    return `from ${endpoints[index]}: ${parts.map(([name, value]) => `${name} ${value}`).join(", ") || "perfect"}`;
  });
  return [...lines, ...(saved ? ["saved"] : [])].join("\n");
}
