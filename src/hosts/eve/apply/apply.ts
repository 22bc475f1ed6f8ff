import { Failure } from "../../../contract/errors.ts";
import type { Operation } from "../../../engine/model/plan.ts";
import type { Applied, Progress } from "../../host.ts";
import { StepLog, stepBatches } from "../../host-batches.ts";
import { separateCopy } from "../changes/own-id.ts";
import { refuseInUse } from "../labs/other-users.ts";
import { refuseSharedId } from "../labs/shared-id.ts";
import type { EvePlace } from "../labs/world.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { isUp, type LabHead, labNotFound, readHead, readNodes } from "../read/lab-read.ts";
import { configTaken } from "../templates/template.ts";
import { deleteLab, readHeadToDelete, unreadable } from "./delete-lab.ts";
import { createLab, editBatch } from "./edits.ts";
import { powerBatch } from "./power-steps.ts";
import { inTurn, type Run } from "./run.ts";

/**
 * Runs the steps. Consecutive steps of one kind form a batch: all changes of the lab's file are one write, and nodes start and stop together. The
 * lab's lock is checked before each batch, because Community Edition stores the lock but does not enforce it.
 */
export async function applySteps(place: EvePlace, at: EveLabPath, operations: readonly Operation[], progress: Progress): Promise<Applied> {
  const run: Run = { place, at, progress, ids: progress.ids };
  const log = new StepLog(operations, progress);
  let head: LabHead | null = null;
  await refuseOthersNodes(run, operations);
  for (const batch of stepBatches(operations)) {
    progress.signal?.throwIfAborted();
    try {
      const removes = batch[0]?.step.do === "delete-lab";
      head = await (removes ? readHeadToDelete(place, at) : readHead(place.account, at));
      if (head !== null && head.lock !== 0)
        throw log.locked(`lab ${at.path} is locked on the host`, `lab ${at.path} was locked on the host during the change`);
      log.begin(batch);
      await runBatch(run, head, batch, (some) => log.finish(some));
      log.finish(batch);
    } catch (error) {
      throw cutOff(error, log);
    }
  }
  await warnOfConfigs(run, operations);
  head = await readHead(place.account, at);
  return head === null ? { ids: run.ids } : { ids: run.ids, labId: head.uuid };
}

/** Warns of each running node whose startup-config changed: the host gives it the new text only after a wipe. */
async function warnOfConfigs({ place, at, ids, progress }: Run, operations: readonly Operation[]): Promise<void> {
  const changed = operations.flatMap(({ step }) =>
    step.do === "update-node" && step.fields.includes("startupConfig") ? [step.node.key] : [],
  );
  if (changed.length === 0) return;
  const up = new Set((await readNodes(place.account, at)).filter(({ status }) => isUp(status)).map(({ id }) => String(id)));
  for (const node of changed) {
    if (!up.has(ids.nodes[node] ?? "")) continue;
    const message = `${node} runs with its earlier startup-config: ${configTaken}; labwright wipe ${node} deletes its disk`;
    progress.warn?.({ code: "wipe_needed", node, message });
  }
}

/**
 * Refuses, before the first step, a change that deletes nodes of other labs or users: the host would forget their processes, and no call could end them. A forced
 * deletion first separates a lab from labs with the same id.
 */
async function refuseOthersNodes({ place, at, progress }: Run, operations: readonly Operation[]): Promise<void> {
  const whole = operations.some(({ step }) => step.do === "delete-lab");
  if (!whole && !operations.some(({ step }) => step.do === "delete-node")) return;
  if (whole && progress.force === true) {
    const head = await readHeadToDelete(place, at);
    // A lab that the host cannot read is deleted without its nodes.
    if (head !== null && head !== unreadable && head.lock === 0) await separateCopy(place, at, head);
  }
  if (whole) await refuseSharedId(place, at, { what: `lab ${at.path} was not destroyed` });
  await refuseInUse(place, at, {
    whole,
    owner: progress.owner,
    force: progress.force === true,
    warn: (node, message) => progress.warn?.({ code: "left_running", node, message }),
  });
}

async function runBatch(
  run: Run,
  head: LabHead | null,
  batch: readonly Operation[],
  done: (some: readonly Operation[]) => void,
): Promise<void> {
  const first = batch[0]?.step;
  if (first === undefined) return;
  if (first.do === "create-lab") return inTurn(run, true, () => createLab(run, head, first));
  if (first.do === "delete-lab") return inTurn(run, false, () => deleteLab(run, head));
  if (head === null) {
    // The parts of a deleted lab are deleted with it: a list of steps that deletes the lab may run again.
    if (batch.every(({ step }) => step.do === "stop" || step.do === "wipe" || step.do.startsWith("delete-"))) return;
    throw labNotFound(run.at.path);
  }
  if (first.do !== "start" && first.do !== "stop" && first.do !== "wipe") {
    const creates = batch.some(({ step }) => step.do.startsWith("create-"));
    return inTurn(run, creates, () => editBatch(run, head, batch, creates, done));
  }
  return powerBatch(run, head, batch, done);
}

/** Returns the error that stopped the run, with the progress of the run. */
function cutOff(error: unknown, { applied, remaining: left }: StepLog): unknown {
  if (!(error instanceof Failure) || error.code.startsWith("lab_locked")) return error;
  const failures = error.data?.failures ?? [];
  const failed = failures[0]?.id ?? left[0];
  const rest = left.filter((id) => id !== failed && failures.every((one) => one.id !== id));
  // The caller does not know the host's numbers.
  const { nodes: _numbers, ...data } = error.data ?? {};
  return new Failure(error.code, error.message, { data: { ...data, applied, failed, remaining: rest }, cause: error });
}
