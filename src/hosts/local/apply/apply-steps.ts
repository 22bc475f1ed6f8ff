import { Failure } from "../../../contract/errors.ts";
import type { Operation } from "../../../engine/model/plan.ts";
import type { Applied, NativeIds, Progress } from "../../host.ts";
import { StepLog, stepBatches } from "../../host-batches.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { DefinitionEdit } from "../definitions/edit-definition.ts";
import { editDefinition } from "../definitions/edit-definition.ts";
import { commitEdit } from "./commit-edit.ts";
import type { ApplyContext } from "./context.ts";
import { deleteLab, newLab, renewedLab } from "./lab-itself.ts";
import { applyLiveConfigs, takeOverConfigs } from "./live-configs.ts";
import { startNodes, stopNodes, wipeNodes } from "./power.ts";
import { refuseImpossible, warnUnmanaged } from "./refuse-steps.ts";
import { withProgress } from "./step-error.ts";
import { nodesOf } from "./step-nodes.ts";

/**
 * Runs the steps in batches. A batch is one write of the definition, one spawn, one `ip` and one `tc` process, however many nodes and links it has. The lab's
 * lock and the signal are checked before each batch.
 */
export async function applySteps(context: ApplyContext, operations: readonly Operation[], progress: Progress): Promise<Applied> {
  const { path, definitions } = context;
  let ids = progress.ids;
  const log = new StepLog(operations, progress);

  await refuseImpossible(context, operations, log);
  await warnUnmanaged(context, operations, progress);
  for (const batch of await batchesOf(context, operations)) {
    progress.signal?.throwIfAborted();
    const definition = await definitions.get(path);
    if (definition?.locked === true) throw log.locked("the lab is locked", "the lab was locked during the change");
    log.begin(batch);
    try {
      ids = await runBatch(context, definition, batch, ids, progress, log);
      log.finish(batch);
    } catch (error) {
      throw withProgress(error, log);
    }
  }
  const after = await definitions.get(path);
  return after === undefined ? { ids } : { ids, labId: after.id };
}

/** Returns whether the steps delete the lab with its disks. Then they are one batch: running nodes have nothing to save, and end with the lab. */
function isTeardown(operations: readonly Operation[]): boolean {
  const last = operations.at(-1)?.step;
  return last?.do === "delete-lab" && last.wipe && operations.every(({ step }) => ["stop", "wipe", "delete-lab"].includes(step.do));
}

async function batchesOf(
  { path, definitions, lab }: ApplyContext,
  operations: readonly Operation[],
): Promise<ReturnType<typeof stepBatches>> {
  if (isTeardown(operations)) return [operations];
  const definition = operations.at(-1)?.step.do === "delete-lab" ? await definitions.get(path) : undefined;
  // A lab whose holder hangs can only be ended: it cannot stop its nodes first.
  return definition !== undefined && lab(definition.id).hanging() !== undefined ? [operations] : stepBatches(operations);
}

async function runBatch(
  context: ApplyContext,
  definition: LabDefinition | undefined,
  batch: readonly Operation[],
  ids: NativeIds,
  progress: Progress,
  log: StepLog,
): Promise<NativeIds> {
  const first = batch[0]!.step;
  const last = batch.at(-1)!.step;
  if (first.do === "create-lab") {
    if (definition === undefined) await context.definitions.put(newLab(context, first));
    else await context.definitions.change(context.path, (now) => renewedLab(now, first));
    return ids;
  }
  if (last.do === "delete-lab") {
    if (definition !== undefined) await deleteLab(context, definition, last.wipe);
    return { nodes: {}, networks: {}, links: {} };
  }
  if (definition === undefined) throw new Failure("lab_not_found", `there is no lab ${context.path}`);
  const edit = editDefinition(definition, ids, context.catalogue.template);
  const stopping = first.do === "stop" || first.do === "wipe" ? nodesOf(edit, batch) : [];
  await context.lab(definition.id).refuseForeign(stopping);
  await context.lab(definition.id).refuseHanging();
  switch (first.do) {
    case "start":
      await startNodes(context, definition, edit, batch);
      break;
    case "stop":
      await stopNodes(context, definition, edit, batch, first.mode, progress);
      break;
    case "wipe":
      await wipeNodes(context, definition, edit, batch, progress.stopMode ?? 3, progress);
      break;
    default:
      await editLab(context, definition, edit, batch, progress, log);
  }
  return edit.ids();
}

/** Changes the definition and what runs. Steps before one that fails are done. */
async function editLab(
  context: ApplyContext,
  definition: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
  progress: Progress,
  log: StepLog,
): Promise<void> {
  let failure: unknown;
  let count = 0;
  for (const { step } of batch) {
    try {
      edit.step(step);
      count++;
    } catch (error) {
      failure = error;
      break;
    }
  }
  const done = batch.slice(0, count);
  // First: a change that a crash interrupts is planned again, because the definition still has the old text.
  await applyLiveConfigs(context, definition, edit, done, progress);
  if (count > 0) await commitEdit(context, definition, edit);
  takeOverConfigs(context, definition, edit, done);
  if (failure === undefined) return;
  log.finish(done);
  throw failure;
}
