import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { Operation, StopMode } from "../../../engine/model/plan.ts";
import type { Progress } from "../../host.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { DefinitionEdit } from "../definitions/edit-definition.ts";
import type { Trash } from "../files/trash.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import { troubledNode } from "../nodes/node-trouble.ts";
import type { ApplyContext } from "./context.ts";
import { put } from "./put-definition.ts";
import { nodesOf, running } from "./step-nodes.ts";

export async function startNodes(
  context: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
): Promise<void> {
  const wanted = nodesOf(edit, batch);
  const named = new Set(wanted);
  // A running or suspended node has its memory already.
  const starting = edit.result().nodes.filter(({ id, power }) => named.has(id) && power === "stopped");
  using _memory = await context.admission.admit(before.id, starting, context.catalogue);
  for (const id of wanted) edit.power(id, "running", context.bootId);
  const after = edit.result();
  const started = new Map(after.nodes.map((node) => [node.id, node]));
  const record = (ids: ReadonlySet<number>) =>
    put(context.definitions, { ...after, nodes: before.nodes.map((node) => (ids.has(node.id) ? started.get(node.id)! : node)) });
  try {
    await context.lab(before.id).start(after, new Set(wanted), context.catalogue, record);
  } catch (error) {
    const id = troubledNode(error);
    const broken = batch.find(({ key }) => id !== undefined && edit.nodeId(key) === id);
    if (broken === undefined || !(error instanceof Failure)) throw error;
    throw new Failure(error.code, error.message, { data: { ...error.data, failed: broken.id }, cause: error });
  }
}

export async function stopNodes(
  { definitions, catalogue, lab }: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
  mode: StopMode,
  progress: Progress,
): Promise<void> {
  const named = new Set(nodesOf(edit, batch));
  const live = lab(before.id);
  // Only running nodes can be hibernated; others stay off.
  const up = mode === 2 ? await running(live, before, catalogue) : named;
  const nodes = before.nodes.filter(({ id }) => named.has(id) && up.has(id));
  for (const { id } of nodes) edit.power(id, mode === 2 ? "suspended" : "stopped");
  let after = edit.result();
  await put(definitions, after, { isEnding: true });
  try {
    const forced = await live.stop(nodes, mode, catalogue);
    if (forced.size > 0) {
      after = { ...after, nodes: after.nodes.map((node) => (forced.has(node.id) ? { ...node, forced: true } : node)) };
      await put(definitions, after, { isEnding: true });
      for (const operation of batch) warnForced(operation, forced.get(edit.nodeId(operation.key) ?? 0), progress);
    }
  } catch (error) {
    // Only nodes that were hibernated are recorded as such; the others go on running.
    if (mode === 2) {
      // If the nodes' power cannot be read now, all are recorded as before: their next status reads their processes.
      const still = await running(live, before, catalogue).catch(() => up);
      const old = new Map(before.nodes.map((node) => [node.id, node]));
      await put(
        definitions,
        { ...after, nodes: after.nodes.map((node) => (still.has(node.id) ? (old.get(node.id) ?? node) : node)) },
        { isEnding: true },
      );
    }
    throw error;
  }
  await live.reconcileFabric(after, catalogue);
}

function warnForced({ key }: Operation, grace: number | undefined, { warn }: Progress): void {
  if (grace === undefined) return;
  warn?.({ code: "stop_forced", node: key, message: `${key} did not end within ${grace / 1000} s and was switched off` });
}

export async function wipeNodes(
  context: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
  mode: StopMode,
  progress: Progress,
): Promise<void> {
  // A suspended node would resume with a disk that is gone.
  await stopNodes(context, before, edit, batch, mode === 2 ? 3 : mode, progress);
  await removeDisks(context.trash, context.lab(before.id), nodesOf(edit, batch));
}

/** Removes the disks of stopped nodes: nothing writes there any more. */
export async function removeDisks(trash: Trash, lab: LocalLab, ids: readonly number[]): Promise<void> {
  await Promise.all(ids.map((id) => trash.discard(join(lab.directory, "nodes", String(id)))));
}
