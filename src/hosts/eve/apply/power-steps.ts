import { Failure } from "../../../contract/errors.ts";
import type { Operation } from "../../../engine/model/plan.ts";
import { failedNodes } from "../power/failed-nodes.ts";
import { startNodes, stopNodes, wipeNodes } from "../power/power.ts";
import { type LabHead, readNodes, withHead } from "../read/lab-read.ts";
import type { LabEdit } from "../write/lab-edit.ts";
import { nodeIdOf, noneTaken, openEdit, type Run } from "./run.ts";

/** Starts, stops or wipes the nodes of a batch. */
export async function powerBatch(
  run: Run,
  head: LabHead,
  batch: readonly Operation[],
  done: (some: readonly Operation[]) => void,
): Promise<void> {
  const first = batch[0]?.step;
  if (first?.do !== "start" && first?.do !== "stop" && first?.do !== "wipe") return;
  const { place, at, progress } = run;
  const { reader, edition: kind } = place.world;
  const lab = withHead(kind.exports ? await reader.file(place.account, at) : (await reader.read(place.account, at)).lab, head);
  const edit = openEdit(run, lab, noneTaken);
  const ids = batch.flatMap(({ step }) => {
    const key = "node" in step && typeof step.node === "string" ? step.node : "";
    const id = edit.nodeId(key);
    // A deleted node counts as stopped and wiped.
    if (id === undefined && step.do === "start") throw new Failure("node_not_found", `the lab has no node ${key}`);
    return id ?? [];
  });
  // A wipe stops nodes, too: a stopped node is not a wiped one.
  const reached =
    first.do === "wipe"
      ? undefined
      : (some: ReadonlySet<number>) => done(batch.filter((operation) => some.has(nodeIdOf(operation, edit) ?? -1)));
  const power = { place, at, lab, signal: progress.signal, force: progress.force, reached };
  try {
    if (first.do === "start") await startNodes(power, ids);
    else if (first.do === "stop") await stopNodes(power, ids, first.mode);
    else await wipeNodes(power, ids, progress.stopMode ?? 3);
  } catch (error) {
    const failed = failedNodes(error);
    const others = batch.filter((operation) => !failed.has(nodeIdOf(operation, edit) ?? -1));
    if (first.do !== "wipe") await reportPower(run, others, edit, first.do, done);
    throw withSteps(error, batch, edit);
  }
}

/** After a batch of starts or stops with failures: reports the steps of the nodes that are as wanted as done. */
async function reportPower(
  { place, at }: Run,
  batch: readonly Operation[],
  edit: LabEdit,
  word: "start" | "stop",
  done: (some: readonly Operation[]) => void,
): Promise<void> {
  const nodes = await readNodes(place.account, at).catch(() => undefined);
  if (nodes === undefined) return;
  const status = new Map(nodes.map((node) => [node.id, node.status]));
  done(
    batch.filter((operation) => {
      const now = status.get(nodeIdOf(operation, edit) ?? -1) ?? 0;
      return word === "stop" ? now === 0 || (now === 1 && place.world.edition.sharedNames) : now === 2 || now === 3;
    }),
  );
}

/** Returns the failure with the failed steps and the reason of each. */
function withSteps(error: unknown, batch: readonly Operation[], edit: LabEdit): unknown {
  const reasons = failedNodes(error);
  if (!(error instanceof Failure) || reasons.size === 0) return error;
  const failures = batch.flatMap((operation) => {
    const message = reasons.get(nodeIdOf(operation, edit) ?? -1);
    return message === undefined ? [] : [{ id: operation.id, message }];
  });
  return new Failure(error.code, error.message, { data: { ...error.data, failures }, cause: error });
}
