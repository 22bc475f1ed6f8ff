import type { InputOf, ResultOf } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import type { Command } from "../command/command.ts";
import { UsageError } from "../command/usage-error.ts";
import { table } from "../show/table.ts";

type Quota = ResultOf<"listQuotas">["quotas"][number];
type Payload = InputOf<"setQuota">;

const actions = ["set", "list", "remove"] as const;

export const quota: Command = {
  name: "quota",
  summary: "Show how much your labs use of their quotas; for admins: set the quotas of users and groups",
  operands: "set [USER]|list|remove [USER]",
  maxOperands: 2,
  choices: [...actions, "ls"],
  details:
    "A quota limits the labs of a user, their nodes and memory, also while they are stopped, and their captures. --group names a group instead of a user: all\n" +
    "members use its quota together. --default is for each user without a quota of the user's own, except admins. set changes the limits that are given and\n" +
    "keeps the others; the value none removes a limit. A change that needs more than a quota allows is refused; labs that exist are not touched.",
  flags: [
    { long: "group", value: "NAME", summary: "The quota of a group" },
    { long: "members", value: "USER", multiple: true, summary: "The users of the group; repeatable, or a comma list; replaces the list" },
    { long: "default", summary: "The quota of users without one" },
    { long: "labs", value: "N", summary: "Number of labs" },
    { long: "nodes", value: "N", summary: "Number of nodes in all labs" },
    { long: "memory", value: "SIZE", summary: "Memory of all nodes, such as 512M or 16G" },
    { long: "captures", value: "N", summary: "Number of packet captures, running and ended" },
  ],
  example: "labwright quota set ann --labs 3 --nodes 40 --memory 16G",
  run: async (context, args) => {
    const [action = "list", user] = args.operands;
    const client = await context.client();
    if (action === "list" || action === "ls") {
      if (user !== undefined) throw new UsageError(`"${user}" is one argument too many`);
      context.result(await client.listQuotas(), ({ quotas }) => show(quotas));
      return 0;
    }
    if (action !== "set" && action !== "remove") throw new UsageError(`quota takes set, list or remove, not "${action}"`);
    const who = subjectOf(args, user);
    if (action === "remove") {
      context.result(await client.setQuota({ ...who, remove: true }), () => `${nameOf(who)} has no quota any more`);
      return 0;
    }
    const known = (await client.listQuotas()).quotas.find((one) => one.kind === who.kind && one.name === who.name);
    const data = await client.setQuota({ ...who, ...limitsOf(args, known) });
    context.result(data, ({ quotas }) => show(quotas.filter((one) => one.kind === who.kind && one.name === who.name)));
    return 0;
  },
};

function subjectOf(args: Arguments, user: string | undefined): Pick<Payload, "kind" | "name"> {
  const group = args.text("group");
  const given = [user, group, args.has("default") ? "default" : undefined].filter((one) => one !== undefined);
  if (given.length !== 1) throw new UsageError("name one user, one --group, or --default: labwright quota set ann --labs 3");
  if (group !== undefined) return { kind: "group", name: group };
  return user === undefined ? { kind: "default" } : { kind: "user", name: user };
}

function limitsOf(args: Arguments, known: Quota | undefined): Omit<Payload, "kind" | "name" | "remove"> {
  const limits = {
    labs: limitOf(args, "labs", known?.labs, countOf),
    nodes: limitOf(args, "nodes", known?.nodes, countOf),
    memory_mib: limitOf(args, "memory", known?.memory_mib, mebibytesOf),
    captures: limitOf(args, "captures", known?.captures, countOf),
  };
  const members = args.has("members") ? args.list("members") : known?.members;
  const set = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
  return { ...set, ...(members !== undefined && { members }) };
}

function limitOf(args: Arguments, flag: string, known: number | undefined, read: (text: string) => number | undefined): number | undefined {
  const text = args.text(flag);
  if (text === undefined) return known;
  if (text === "none") return undefined;
  const value = read(text);
  if (value === undefined)
    throw new UsageError(`--${flag} takes ${flag === "memory" ? "a size such as 512M or 16G" : "a whole number"}, or none, not "${text}"`);
  return value;
}

function countOf(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** MiB. */
function mebibytesOf(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,7})([MG])(?:i?B)?$/i.exec(text) ?? [];
  if (count === undefined || unit === undefined) return undefined;
  return Number(count) * (unit.toUpperCase() === "G" ? 1_024 : 1);
}

function nameOf({ kind, name }: Pick<Payload, "kind" | "name">): string {
  return kind === "default" ? "default" : kind === "group" ? `group ${name}` : (name ?? "");
}

function show(quotas: readonly Quota[]): string {
  if (quotas.length === 0) return "no quota";
  const cell = (used: number | undefined, limit: number | undefined, unit = "") =>
    `${used === undefined ? "" : `${used} of `}${limit === undefined ? "any" : `${limit}${unit}`}`;
  return table(
    ["QUOTA", "LABS", "NODES", "MEMORY", "CAPTURES", "MEMBERS"],
    quotas.map((one) => [
      nameOf(one),
      cell(one.used?.labs, one.labs),
      cell(one.used?.nodes, one.nodes),
      cell(one.used?.memory_mib, one.memory_mib, " MiB"),
      one.captures === undefined ? "any" : String(one.captures),
      one.members?.join(", ") ?? "",
    ]),
  );
}
