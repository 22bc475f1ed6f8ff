import { Failure } from "../../../contract/errors.ts";
import type { Operation } from "../../../engine/model/plan.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { DefinitionEdit } from "../definitions/edit-definition.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import type { Catalogue } from "../templates/catalogue.ts";

/** Throws node_not_found for a key that the lab does not have. */
export function nodesOf(edit: DefinitionEdit, batch: readonly Operation[]): readonly number[] {
  return batch.map(({ step }) => {
    const key = "node" in step && typeof step.node === "string" ? step.node : "";
    const id = edit.nodeId(key);
    if (id === undefined) throw new Failure("node_not_found", `the lab has no node ${key}`);
    return id;
  });
}

/** Returns the numbers of the nodes that run or start. */
export async function running(live: LocalLab, definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlySet<number>> {
  const life = await live.life(definition, catalogue);
  return new Set([...life].filter(([, { power }]) => power === "running" || power === "starting").map(([id]) => id));
}
