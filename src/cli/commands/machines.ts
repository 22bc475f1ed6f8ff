import { setTimeout as pause } from "node:timers/promises";
import type { ResultOf } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { approve } from "../command/ask.ts";
import { type Command, yesFlag } from "../command/command.ts";
import { type Context, noteAge } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { table } from "../show/table.ts";

type Move = ResultOf<"drainMachine">["moves"][number];
type Machine = ResultOf<"listMachines">["machines"][number];

const actions = ["list", "cordon", "uncordon", "drain", "labels", "remove", "token"] as const;

export const machines: Command = {
  name: "machines",
  summary:
    "List the machines of a fleet with their load; take one out of service, move its labs away, label it, remove it, or let a new one join; for admins",
  operands: "list|cordon NAME|uncordon NAME|drain NAME|labels NAME [KEY=VALUE...]|remove NAME|token",
  maxOperands: 40,
  choices: [...actions, "ls"],
  details:
    "A fleet is several services on one PostgreSQL database (labwright serve --store --advertise). A new lab goes to the machine with the largest free share of\n" +
    "its memory. A cordoned machine gets no new labs; its labs run on. labels replaces all labels of a machine; without any it removes them. token prints a\n" +
    "one-time token with which one machine joins: labwright serve --join-token-file. A machine that runs no labs (labwright serve --host none) only answers calls. remove is for a machine that is lost, or has no labs.\n" +
    "drain cordons a machine and moves its stopped labs with their disks to other machines, one after the other, and labs that are stopped later, too; it shows\n" +
    "the moves until all are done. uncordon ends a drain; labwright jobs --cancel JOB ends the move of one lab, which then stays.",
  flags: [
    { long: "hours", value: "N", summary: "Lifetime of the token, 1 to 168 hours (default 1)" },
    { long: "stop-labs", summary: "With drain: stop the running labs, move them, and start them on their new machines" },
    { long: "no-wait", summary: "With drain: show what moves and what stays, and return" },
    { ...yesFlag, summary: "With remove: do not ask about the labs of the machine" },
    { long: "force", summary: "Remove a machine that answers and has labs; their nodes run on without a record" },
  ],
  example: "labwright machines list",
  run: async (context, args) => {
    const [action = "list", name, ...rest] = args.operands;
    const client = await context.client();
    const show = (data: ResultOf<"listMachines">) => context.result(data, ({ machines: all }) => shown(all));
    if (action !== "labels" && rest.length > 0) throw new UsageError(`"${rest[0]}" is one argument too many`);
    switch (action) {
      case "list":
      case "ls":
        show(await client.listMachines());
        await noteAge(context);
        return 0;
      case "token":
        context.result(await client.createJoinToken({ hours: hoursOf(args.text("hours")) }), ({ token }) => token);
        return 0;
      case "cordon":
      case "uncordon":
        await setState(context, named(name), action);
        return 0;
      case "drain":
        return drain(context, { name: named(name), stopLabs: args.has("stop-labs"), waits: !args.has("no-wait") });
      case "labels":
        show(await client.setMachine({ name: named(name), labels: labelsOf(rest) }));
        return 0;
      case "remove":
        if (!(await mayRemove(context, named(name), args))) return 1;
        show(await client.removeMachine({ name: named(name), ...(args.has("force") && { force: true }) }));
        return 0;
      default:
        throw new UsageError(`machines takes ${actions.join(", ")}, not "${action}"`);
    }
  },
};

async function setState(context: Context, name: string, action: "cordon" | "uncordon"): Promise<void> {
  const client = await context.client();
  const data = await client.setMachine({ name, state: action === "cordon" ? "cordoned" : "active" });
  context.result(data, ({ machines: all }) => shown(all));
  if (data.machines.find((one) => one.name === name)?.runs_labs === false)
    context.terminal.note(`${name} runs no labs (--host none): ${action} has no effect there, because it gets no labs in any case`);
}

/** Asks before a machine with labs is removed: their disks are lost with it, also if it has only been stopped. */
async function mayRemove(context: Context, name: string, args: Arguments): Promise<boolean> {
  const found = (await (await context.client()).listMachines()).machines.find((one) => one.name === name);
  // The service refuses a machine that answers, unless it is forced.
  if (found === undefined || (found.labs === 0 && !found.parts) || (found.answers && !args.has("force"))) return true;
  const labs = found.labs === 1 ? "a lab" : `${found.labs} labs`;
  const parts = `nodes of ${found.parts === 1 ? "a lab" : `${found.parts} labs`} on several machines`;
  const all = [...(found.labs > 0 ? [labs] : []), ...(found.parts ? [parts] : [])].join(" and ");
  const question = `${name} has ${all}, whose disks are lost with it; plan and apply start them again from their texts. Remove ${name}?`;
  return approve(context.terminal, question, args.has("yes"));
}

/** Interval of looks at a drain, ms. */
const lookMs = 1_000;

/** Drains a machine, and shows each move as it ends. Returns 1 if a lab could not be moved. */
async function drain(
  context: Context,
  { name, stopLabs, waits }: { readonly name: string; readonly stopLabs: boolean; readonly waits: boolean },
): Promise<number> {
  const client = await context.client();
  let data = await client.drainMachine({ name, ...(stopLabs && { stop_labs: true }) });
  const shown = new Set<string>();
  while (waits && data.draining && data.moves.some(isOpen)) {
    for (const move of data.moves) {
      if (isOpen(move) || shown.has(move.lab)) continue;
      shown.add(move.lab);
      if (!context.json) context.terminal.note(moveText(move));
    }
    await pause(lookMs);
    data = await client.drainMachine({ name, look: true });
  }
  context.result(data, drainText);
  return data.moves.some(({ state }) => state === "failed" || state === "cancelled") ? 1 : 0;
}

function isOpen({ state }: Move): boolean {
  return state === "waiting" || state === "moving";
}

function moveText({ lab, state, machine, text }: Move): string {
  const where = machine === undefined ? "" : ` to ${machine}`;
  return `${lab}: ${state}${where}${text === undefined ? "" : ` (${text})`}`;
}

function drainText({ machine, draining, moves, staying }: ResultOf<"drainMachine">): string {
  return [
    ...moves.map(moveText),
    ...staying.map(({ lab, reason, hint }) => `${lab}: stays, because ${reason}: ${hint}`),
    draining
      ? `${machine} is drained: it gets no new labs, and labs that are stopped move away; labwright machines uncordon ${machine} ends that`
      : `${machine} is not drained`,
  ].join("\n");
}

function named(name: string | undefined): string {
  if (name === undefined) throw new UsageError("name a machine: labwright machines list shows them");
  return name;
}

function labelsOf(words: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    words.map((word) => {
      const [, key, value] = /^([^=]+)=(.*)$/.exec(word) ?? [];
      if (key === undefined || value === undefined) throw new UsageError(`a label is KEY=VALUE, not "${word}"`);
      return [key, value];
    }),
  );
}

function hoursOf(text: string | undefined): number {
  if (text === undefined) return 1;
  if (!/^\d{1,3}$/.test(text) || Number(text) < 1 || Number(text) > 168) throw new UsageError(`--hours takes 1 to 168, not "${text}"`);
  return Number(text);
}

function shown(all: readonly Machine[]): string {
  if (all.length === 0) return "this service is not part of a fleet: labwright serve --store URL --advertise URL makes it a machine of one";
  const warnings = all.flatMap(({ problem }) => (problem === undefined ? [] : [`\nwarning: ${problem}`]));
  return `${table(
    ["MACHINE", "STATE", "LABS", "MEMORY FREE", "LOAD", "VERSION", "LABELS", "ADDRESS"],
    all.map((one) => [
      one.name,
      one.answers ? stateOf(one) : `no answer since ${one.seen_at}`,
      one.parts ? `${one.labs} + parts of ${one.parts}` : String(one.labs),
      one.runs_labs === false ? "-" : `${gibibytes(one.available_memory_mib)} of ${gibibytes(one.memory_mib)} GiB`,
      `${one.load} of ${one.processors}`,
      one.version,
      Object.entries(one.labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(" "),
      one.url,
    ]),
  )}${warnings.join("")}`;
}

function stateOf({ runs_labs: runsLabs = true, draining = false, state }: Machine): string {
  if (!runsLabs) return "runs no labs";
  return draining ? "draining" : state;
}

function gibibytes(mebibytes: number): string {
  return (mebibytes / 1_024).toFixed(1);
}
