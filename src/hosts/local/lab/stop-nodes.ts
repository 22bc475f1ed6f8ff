import type { StopMode } from "../../../engine/model/plan.ts";
import type { DefinedNode } from "../definitions/definition.ts";
import { backendOf, runsHypervisor } from "../nodes/node-life.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { dropSavedState, hibernateVm } from "../vm/suspend.ts";
import type { LabSandbox } from "./lab-sandbox.ts";
import type { StopGrace } from "./stop-grace.ts";

interface StopRequest {
  readonly nodes: readonly DefinedNode[];
  readonly mode: StopMode;
  readonly catalogue: Catalogue;
}

/** Implements LocalLab.stop. */
export async function stopNodes(
  lab: LabSandbox,
  grace: StopGrace,
  { nodes, mode, catalogue }: StopRequest,
): Promise<ReadonlyMap<number, number>> {
  const states = await lab.states();
  if (lab.isForeign) {
    await lab.refuseForeign(nodes.map(({ id }) => id));
    await lab.endForeign();
    return new Map();
  }
  const { sandbox } = lab;
  const isVm = (node: DefinedNode) => backendOf(node, catalogue) === "vm";
  const alive = nodes.filter(({ id }) => (states.get(id)?.pid ?? 0) > 0);
  let forced = new Map<number, number>();
  if (sandbox !== null && mode === 2) {
    await suspend(sandbox, lab.directory, { vms: alive.filter(isVm), others: alive.filter((node) => !isVm(node)) });
  } else if (sandbox !== null) {
    const machines = alive.filter((node) => runsHypervisor(node, catalogue));
    const others = alive.filter((node) => !runsHypervisor(node, catalogue));
    const timeOf = (automatic: number) => (mode === 0 ? grace.graceful : mode === 3 ? automatic : 0);
    const ended = await Promise.all([end(sandbox, others, mode, timeOf(grace.node)), end(sandbox, machines, mode, timeOf(grace.machine))]);
    forced = new Map(ended.flat());
  }
  if (mode !== 2) for (const { id } of nodes.filter(isVm)) dropSavedState(lab.directory, id);
  return forced;
}

/** All are awaited, so that a failure of one leaves no other halfway. */
async function suspend(
  sandbox: Sandbox,
  directory: string,
  { vms, others }: { readonly vms: readonly DefinedNode[]; readonly others: readonly DefinedNode[] },
): Promise<void> {
  const frozen = others.map(({ id }) => id);
  const still = vms.map(({ id }) => hibernateVm(sandbox, directory, id));
  const [failure] = (await Promise.allSettled([sandbox.freeze(frozen, "freeze"), ...still])).filter((one) => one.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

/** Returns the nodes that did not end within the time (ms), with that time. */
async function end(
  sandbox: Sandbox,
  nodes: readonly DefinedNode[],
  mode: StopMode,
  grace: number,
): Promise<readonly (readonly [number, number])[]> {
  const ids = nodes.map(({ id }) => id);
  if (ids.length === 0) return [];
  await sandbox.stop(ids, mode === 1 ? "kill" : "graceful", grace);
  if (grace === 0) return [];
  const { nodes: states } = await sandbox.info(ids);
  return states.filter(({ state, problem }) => state === "stopped" && problem !== undefined).map(({ id }) => [id, grace] as const);
}
