import { readDuration } from "../../base/time/duration.ts";
import type { InputOf, ResultOf } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import type { Command } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { table } from "../show/table.ts";

type Reservation = ResultOf<"listReservations">["reservations"][number];

const actions = ["list", "cancel"] as const;

export const reserve: Command = {
  name: "reserve",
  summary: "Reserve room for your labs, now or later; list and cancel reservations",
  operands: "[list|cancel ID]",
  maxOperands: 2,
  choices: [...actions, "ls"],
  details:
    "Room is memory and a number of nodes, for all your labs on one machine together. Labs of other users that would take it are refused, unless their lease ends\n" +
    "before. A reservation counts for the quotas of its user. --from is a time of this computer, such as 2027-03-01T09:00, or now; --for is such as 90m, 4h or 2d.",
  flags: [
    { long: "from", value: "TIME", summary: "Beginning (default now)" },
    { long: "for", value: "TIME", summary: "Length, at most 90d" },
    { long: "memory", value: "SIZE", summary: "Memory, such as 512M or 16G (default 32M for each node)" },
    { long: "nodes", value: "N", summary: "Number of nodes" },
    { long: "machine", value: "NAME", summary: "In a fleet: the machine (default: the one with the most room)" },
    { long: "label", value: "KEY=VALUE", multiple: true, summary: "In a fleet: a machine with this label; repeatable" },
    { long: "user", value: "USER", summary: "For this user; for admins" },
  ],
  example: "labwright reserve --from 2027-03-01T09:00 --for 4h --memory 16G --nodes 20",
  run: async (context, args) => {
    const [action, id, ...rest] = args.operands;
    if (rest.length > 0) throw new UsageError(`"${rest[0]}" is one argument too many`);
    if (action === undefined) {
      const payload = payloadOf(args, Date.now());
      const made = await (await context.client()).createReservation(payload);
      context.result(made, (one) => show([one]));
      return 0;
    }
    if (action === "list" || action === "ls") {
      if (id !== undefined) throw new UsageError(`"${id}" is one argument too many`);
      context.result(await (await context.client()).listReservations(), ({ reservations }) => show(reservations));
      return 0;
    }
    if (action !== "cancel") throw new UsageError(`reserve takes list or cancel, not "${action}"; without them, it reserves`);
    if (id === undefined) throw new UsageError("name a reservation: labwright reserve list shows their ids");
    context.result(await (await context.client()).removeReservation({ id }), ({ reservations }) => show(reservations));
    return 0;
  },
};

/** @param now ms since the epoch */
export function payloadOf(args: Pick<Arguments, "text" | "list">, now: number): InputOf<"createReservation"> {
  const length = readDuration(args.text("for") ?? "");
  if (length === undefined)
    throw new UsageError("--for takes a length such as 90m, 4h or 2d: labwright reserve --from 2027-03-01T09:00 --for 4h --memory 16G");
  const given = args.text("from") ?? "now";
  const from = given === "now" ? now : Date.parse(given.replace(/^(\d{4}-\d\d-\d\d) /, "$1T"));
  if (Number.isNaN(from) || (given !== "now" && !/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(given)))
    throw new UsageError(`--from takes a time such as 2027-03-01T09:00, or now, not "${given}"`);
  const [memory, nodes, machine, user] = [
    memoryOf(args.text("memory")),
    nodesOf(args.text("nodes")),
    args.text("machine"),
    args.text("user"),
  ];
  if (memory === undefined && nodes === undefined) throw new UsageError("give --memory, --nodes or both: how much room is reserved");
  const labels = args.list("label").map(labelOf);
  return {
    ...(given !== "now" && { from: new Date(from).toISOString() }),
    until: new Date(from + length * 1_000).toISOString(),
    ...(memory !== undefined && { memory_mib: memory }),
    ...(nodes !== undefined && { nodes }),
    ...(machine !== undefined && { machine }),
    ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
    ...(user !== undefined && { user }),
  };
}

/** MiB. */
function memoryOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ""] = /^(\d{1,7})([MG])(?:i?B)?$/i.exec(text) ?? [];
  if (count === undefined) throw new UsageError(`--memory takes a size such as 512M or 16G, not "${text}"`);
  return Number(count) * (unit.toUpperCase() === "G" ? 1_024 : 1);
}

function nodesOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--nodes takes a whole number, not "${text}"`);
  return Number(text);
}

function labelOf(text: string): readonly [string, string] {
  const [, key, value] = /^([^=]+)=(.*)$/.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new UsageError(`--label takes KEY=VALUE, not "${text}"`);
  return [key, value];
}

function show(reservations: readonly Reservation[]): string {
  if (reservations.length === 0) return "no reservation";
  return table(
    ["ID", "USER", "FROM", "UNTIL", "MEMORY", "NODES", "MACHINE", "STATE"],
    reservations.map((one) => [
      one.id,
      one.user,
      one.from,
      one.until,
      `${one.memory_mib} MiB`,
      String(one.nodes),
      one.machine ?? "",
      one.active ? "active" : "later",
    ]),
  );
}
