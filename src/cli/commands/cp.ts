import { basename, resolve } from "node:path";
import { type Command, labFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { bytesBelow } from "../copy/bytes-below.ts";
import { archiveFromNode, type CopyRun, copyFromNode, copyToNode, folderOfNode } from "../copy/copy-node-files.ts";
import { copyOperand } from "../copy/copy-operand.ts";
import { CopyProgress } from "../copy/copy-progress.ts";
import { chosenNodes } from "../selectors/chosen-nodes.ts";
import { Progress } from "../show/progress.ts";

/** Copies that run at the same time. */
const maxCopies = 4;
const gibi = 1024 ** 3;

export const cp: Command = {
  name: "cp",
  summary: "Copy files and folders into and out of nodes",
  operands: "SOURCE... TARGET",
  completes: "node",
  details:
    "Either all sources or TARGET are NODE:/PATH, the others are paths here, or - for a tar archive on standard input or output. If TARGET is a folder, the copy\n" +
    "is in it, otherwise TARGET is the name of the copy. Several sources need a folder. NODE may be several nodes, as for exec, also a comma list; out of several\n" +
    "nodes, the copies are in folders with their names. Links, modes and times are kept. Files in a node belong to its root, files here to you; --archive keeps\n" +
    "the numeric owners and setuid bits, which needs root here. Devices and the like are left out. An archive of a node cannot write outside of TARGET. A copy\n" +
    "that is cut off leaves no incomplete file under its name, here and in the node.",
  flags: [
    topoFlag,
    labFlag,
    { long: "archive", short: "a", summary: "Keep the numeric owners of the files and their setuid bits" },
    { long: "idle-timeout", value: "SECONDS", summary: "End the copy if the node does nothing for this time; default: 60" },
    { long: "max-size", value: "GIB", summary: "Refuse more than this from a node; default: 64" },
  ],
  example: "labwright cp r1:/etc/frr ./frr",
  run: async (context, args) => {
    const { copies, names } = await plannedCopies(context, args.operands);
    const maxBytes = sizeOf(args.text("max-size"));
    const toOutput = copies.some(({ target }) => target === "-");
    using progress = new Progress(context.terminal, "connecting", { quiet: context.quiet || toOutput });
    const title = names.length === 1 ? `${names[0]}` : `${names.length} nodes`;
    const expected = progress.visible ? await expectedBytes(copies) : undefined;
    const copied = new CopyProgress(title, expected);
    const onBytes = (count: number) => progress.update(copied.add(count));
    const idleMs = args.milliseconds("idle-timeout") ?? 60_000;
    const run: CopyRun = { context, owners: args.has("archive"), maxBytes, idleMs, onBytes };
    const copy = async ({ node, source, target, isInto }: Copy): Promise<void> => {
      if (isInto) await copyToNode(run, source, node, target);
      else if (target === "-") await archiveFromNode(run, node, source);
      else await copyFromNode(run, node, source, names.length === 1 ? target : await folderOfNode(target, node));
    };
    const failures: unknown[] = [];
    const queue = [...copies];
    const next = async () => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) await copy(one).catch((error) => failures.push(error));
    };
    await Promise.all(Array.from({ length: maxCopies }, next));
    progress[Symbol.dispose]();
    // The first failure is thrown, so that it is shown with its hint.
    for (const failure of failures.slice(1)) context.terminal.complain(`error: ${(failure as Error).message}`);
    if (failures.length > 0) throw failures[0];
    return 0;
  },
};

interface Copy {
  readonly node: string;
  readonly source: string;
  readonly target: string;
  /** Whether the target is in the node; otherwise the source is. */
  readonly isInto: boolean;
}

/** Returns the copies of the operands and the names of their nodes. */
async function plannedCopies(
  context: Context,
  operands: readonly string[],
): Promise<{ copies: readonly Copy[]; names: readonly string[] }> {
  const paths = operands.map(copyOperand);
  const target = paths.at(-1);
  const sources = paths.slice(0, -1);
  if (target === undefined || sources.length === 0)
    throw new UsageError("cp needs a source and a target", "labwright cp r1:/etc/frr ./frr");
  if (!sources.every(({ nodes }) => (nodes === undefined) === (target.nodes !== undefined)))
    throw new UsageError("cp copies between a node and this machine: one path is NODE:/PATH", "labwright cp r1:/etc/frr ./frr");
  // As with cp(1), several sources need a folder: a path that ends with a slash must be one.
  const folder = sources.length > 1 && !target.path.endsWith("/") ? `${target.path}/` : target.path;
  const copies = await Promise.all(
    sources.map(async ({ nodes, path }) => {
      const names = await namesOf(context, nodes ?? target.nodes ?? "");
      return names.map((node): Copy => ({ node, source: path, target: folder, isInto: nodes === undefined }));
    }),
  );
  const all = copies.flat();
  const ends = new Set<string>();
  for (const { node, source } of all) {
    const end = `${node}:${basename(resolve("/", source))}`;
    if (ends.has(end)) throw new UsageError(`cp: two sources are named ${basename(source)}, and would replace each other in ${folder}`);
    ends.add(end);
  }
  const names = [...new Set(all.map(({ node }) => node))];
  const usesStandard = paths.some(({ path }) => path === "-");
  if (usesStandard && all.length !== 1)
    throw new UsageError("cp: an archive on standard input or output is of one node, and the only source");
  return { copies: all, names };
}

async function namesOf(context: Context, nodes: string): Promise<readonly string[]> {
  return await chosenNodes(
    context,
    nodes.split(",").filter((name) => name !== ""),
  );
}

/** Returns the bytes of copies into nodes; `undefined` if they are not known before. */
async function expectedBytes(copies: readonly Copy[]): Promise<number | undefined> {
  if (copies.some(({ isInto, source }) => !isInto || source === "-")) return undefined;
  let sum = 0;
  for (const { source } of copies) {
    const bytes = await bytesBelow(source);
    if (bytes === undefined) return undefined;
    sum += bytes;
  }
  return sum;
}

function sizeOf(text = "64"): number {
  const value = Number(text);
  if (!(value > 0)) throw new UsageError(`--max-size takes a number of GiB, not "${text}"`);
  return Math.floor(value * gibi);
}
