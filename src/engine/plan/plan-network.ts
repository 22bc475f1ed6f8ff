import type { NetworkWork } from "../compare/comparison.ts";
import { affectedByNetwork } from "../effects/affects.ts";
import { networkObstacle } from "../effects/blocked.ts";
import { networkAction } from "../effects/propagate.ts";
import type { Action, PlanOp } from "../model/plan.ts";
import { defined } from "../shared/defined.ts";
import { announce, differs, onlyInIntent, onlyOnHost, type Planning } from "./planning.ts";

/** Plans a network that is added, changed or deleted. */
export function planNetwork(plan: Planning, network: NetworkWork): void {
  const { builder, comparison } = plan;
  const { key, fate, after, changes, level } = network;
  if (fate === "extra" || (fate === "keep" && changes.length === 0)) return;
  const op: PlanOp = fate === "create" ? "create" : fate === "delete" ? "delete" : network.replaced ? "replace" : "update";
  const reason = op === "create" ? onlyInIntent : op === "delete" ? onlyOnHost : differs(changes);
  const action = defined<Action>({
    id: networkAction(network),
    op,
    kind: "network",
    key,
    native_id: network.id,
    name: (after ?? network.before)?.name,
    reason,
    disruption: level,
    affected: undefined,
    ...affectedByNetwork(network),
    changes,
    prune: op === "delete",
    line: undefined,
  });
  const obstacle = networkObstacle(network, comparison.rules);
  if (!announce(plan, network, action, obstacle === undefined ? [] : [obstacle])) return;
  if (op === "delete" || op === "replace") {
    builder.run("delete-network", action, { op: "delete", disruption: level, step: { do: "delete-network", network: key } });
  }
  if (after === undefined) return;
  if (op === "create" || op === "replace") {
    builder.run("create-network", action, { op: "create", disruption: level, changes, step: { do: "create-network", network: after } });
  }
  if (op === "update")
    builder.run("update-network", action, { op, disruption: "none", changes, step: { do: "update-network", network: after } });
}
