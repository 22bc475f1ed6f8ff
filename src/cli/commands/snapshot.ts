import type { ResultOf } from "../../client/index.ts";
import type { Arguments } from "../command/arguments.ts";
import { approve } from "../command/ask.ts";
import { type Command, type ExitCode, labFlag, timeoutFlag, topoFlag, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { withHint } from "../command/with-hint.ts";
import { runChange } from "../parts/change.ts";
import { labAtStake } from "../parts/lab-at-stake.ts";
import { table } from "../show/table.ts";

const words = ["list", "take", "restore", "remove"] as const;
type Word = (typeof words)[number];

export const snapshot: Command = {
  name: "snapshot",
  summary: "List, take, restore or remove snapshots of a stopped lab",
  operands: "[list|take [NAME]|restore NAME|remove NAME]",
  maxOperands: 2,
  choices: words,
  details:
    "A snapshot is a copy of the lab's definition on the host: nodes, links, networks, startup configurations, drawings. It contains no disks. restore\n" +
    "replaces the lab's definition: existing nodes keep their current disks, other nodes start with empty disks, and nodes that are not in the snapshot\n" +
    "are deleted. The lab's file is not changed: labwright plan shows the difference, labwright pull writes it to the file.\n" +
    "destroy removes the snapshots with the lab; destroy --no-wipe keeps them for the next lab at the same path.\n" +
    "The embedded host has no snapshots: labwright history restore returns to an earlier state of the lab's file, labwright save keeps the configurations\n" +
    "of running nodes.",
  flags: [topoFlag, labFlag, yesFlag, timeoutFlag],
  example: "labwright snapshot take before-exam --lab /courses/bgp-1",
  run: (context, args) => act(context, args).catch(withHint("unsupported", instead)),
};

const instead =
  "labwright history lists the applied states of the lab, labwright history restore SERIAL writes one to its file, labwright save keeps the configurations of its nodes";

async function act(context: Context, args: Arguments): Promise<ExitCode> {
  const [word = "list", name] = args.operands;
  switch (wordOf(word)) {
    case "list":
      return list(context);
    case "take":
      return take(context, args, name);
    case "restore":
      return restore(context, args, needed(name, word));
    case "remove":
      return remove(context, args, needed(name, word));
  }
}

async function list(context: Context): Promise<ExitCode> {
  const { selector } = await context.project();
  const data = await (await context.client()).listSnapshots(selector);
  context.result(data, ({ snapshots }) =>
    snapshots.length === 0
      ? "no snapshots"
      : table(
          ["SNAPSHOT", "TAKEN"],
          snapshots.map((one) => [one.snapshot, one.taken_at]),
        ),
  );
  return 0;
}

async function take(context: Context, args: Arguments, name: string | undefined): Promise<ExitCode> {
  const { selector, title } = await context.project();
  const input = { ...selector, ...(name !== undefined && { snapshot: name }) };
  const data = await runChange(context, "takeSnapshot", input, { what: `snapshot of ${title}`, timeoutMs: args.milliseconds("timeout") });
  context.result(
    data,
    ({ lab, snapshot: taken, nodes }) => `${lab}: took snapshot ${taken} (${nodes} node${nodes === 1 ? "" : "s"}, no disks)`,
  );
  return 0;
}

async function restore(context: Context, args: Arguments, name: string): Promise<ExitCode> {
  const { selector, title } = await context.project();
  const question = async () => {
    await refuseUnknown(context, name);
    return `Restore ${await labAtStake(context)} from snapshot ${name}? Nodes that are not in the snapshot are deleted with their disks.`;
  };
  if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
  const data = await runChange(
    context,
    "restoreSnapshot",
    { ...selector, snapshot: name },
    { what: `restore ${title}`, timeoutMs: args.milliseconds("timeout") },
  );
  context.result(data, shown);
  return 0;
}

async function remove(context: Context, args: Arguments, name: string): Promise<ExitCode> {
  const { selector, title } = await context.project();
  const question = async () => {
    await refuseUnknown(context, name);
    return `Remove snapshot ${name} of ${title} permanently?`;
  };
  if (!(await approve(context.terminal, question, args.has("yes")))) return 1;
  const what = `remove snapshot ${name}`;
  const input = { ...selector, snapshot: name };
  const data = await runChange(context, "removeSnapshot", input, { what, timeoutMs: args.milliseconds("timeout") });
  context.result(data, ({ lab, snapshot: gone }) => `${lab}: removed snapshot ${gone}`);
  return 0;
}

/** Nobody is asked about a snapshot that does not exist. */
async function refuseUnknown(context: Context, name: string): Promise<void> {
  const { snapshots } = await (await context.client()).listSnapshots((await context.project()).selector);
  if (snapshots.some((one) => one.snapshot === name)) return;
  throw new UsageError(`the lab has no snapshot ${name}`, "labwright snapshot lists them");
}

function shown({ lab, snapshot: name, not_restored }: ResultOf<"restoreSnapshot">): string {
  return [
    `${lab}: restored from snapshot ${name}`,
    ...not_restored,
    "the lab's file is unchanged: labwright plan shows the difference, labwright pull writes it to the file",
  ].join("\n");
}

function wordOf(word: string): Word {
  const known = words.find((one) => one === word);
  if (known === undefined) throw new UsageError(`snapshot has no action "${word}"`, `the actions are ${words.join(", ")}`);
  return known;
}

function needed(name: string | undefined, word: string): string {
  if (name === undefined) throw new UsageError(`snapshot ${word} needs the name of a snapshot`, "labwright snapshot lists them");
  return name;
}
