import { type Command, labFlag, topoFlag } from "../command/command.ts";
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
  operands: "SOURCE TARGET",
  maxOperands: 2,
  completes: "node",
  details:
    "One of both is NODE:/PATH, the other one a path here, or - for a tar archive on standard input or output. If TARGET is a folder, the copy is in it,\n" +
    "otherwise TARGET is the name of the copy. NODE may be several nodes, as for exec, also a comma list; out of several\n" +
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
    const [source, target] = args.operands.map(copyOperand);
    if (source === undefined || target === undefined)
      throw new UsageError("cp needs a source and a target", "labwright cp r1:/etc/frr ./frr");
    const nodes = source.nodes ?? target.nodes;
    if (nodes === undefined || (source.nodes !== undefined && target.nodes !== undefined))
      throw new UsageError("cp copies between a node and this machine: one path is NODE:/PATH", "labwright cp r1:/etc/frr ./frr");
    const names = await chosenNodes(
      context,
      nodes.split(",").filter((name) => name !== ""),
    );
    const maxBytes = sizeOf(args.text("max-size"));
    using progress = new Progress(context.terminal, "connecting", { quiet: context.quiet || target.path === "-" });
    const title = names.length === 1 ? `${names[0]}` : `${names.length} nodes`;
    const expected = source.nodes === undefined && source.path !== "-" && progress.visible ? await bytesBelow(source.path) : undefined;
    const copied = new CopyProgress(title, expected === undefined ? undefined : expected * names.length);
    const onBytes = (count: number) => progress.update(copied.add(count));
    const idleMs = args.milliseconds("idle-timeout") ?? 60_000;
    const run: CopyRun = { context, owners: args.has("archive"), maxBytes, idleMs, onBytes };
    if (names.length !== 1 && (source.path === "-" || target.path === "-"))
      throw new UsageError("cp: an archive on standard input or output is of one node");
    const copy = async (node: string): Promise<void> => {
      if (source.nodes === undefined) await copyToNode(run, source.path, node, target.path);
      else if (target.path === "-") await archiveFromNode(run, node, source.path);
      else await copyFromNode(run, node, source.path, names.length === 1 ? target.path : await folderOfNode(target.path, node));
    };
    const failures: unknown[] = [];
    const queue = [...names];
    const next = async () => {
      for (let node = queue.shift(); node !== undefined; node = queue.shift()) await copy(node).catch((error) => failures.push(error));
    };
    await Promise.all(Array.from({ length: maxCopies }, next));
    progress[Symbol.dispose]();
    // The first failure is thrown, so that it is shown with its hint.
    for (const failure of failures.slice(1)) context.terminal.complain(`error: ${(failure as Error).message}`);
    if (failures.length > 0) throw failures[0];
    return 0;
  },
};

function sizeOf(text = "64"): number {
  const value = Number(text);
  if (!(value > 0)) throw new UsageError(`--max-size takes a number of GiB, not "${text}"`);
  return Math.floor(value * gibi);
}
