import { hostFailure } from "../api/host-failure.ts";
import type { UnlLab, UnlNode } from "../lab-file/unl.ts";
import type { TakenIds } from "../labs/other-labs.ts";
import type { GivenIds } from "../write/given-ids.ts";

export interface RestoredIds {
  /** Number in the snapshot → number in the lab. */
  readonly given: GivenIds;
  /** Numbers of the nodes that are unchanged and keep their disks. */
  readonly kept: ReadonlySet<number>;
}

/**
 * Returns the numbers of a restored lab. Nodes that the lab has now keep their numbers, because the host stores disks by number. Others get the
 * number of the snapshot, or a free number if another lab has it now. Throws host_error if too few are free.
 */
export function restoredIds(before: UnlLab, wanted: UnlLab, taken: TakenIds, maxNodes: number): RestoredIds {
  const same = new Map<number, number>();
  const kept = new Set<number>();
  const keep = (node: UnlNode, now: UnlNode | undefined) => {
    if (now === undefined) return;
    same.set(node.id, now.id);
    kept.add(now.id);
  };
  // Several nodes may have the same name: each prefers its own number, and so its own disk.
  for (const node of wanted.nodes)
    keep(
      node,
      before.nodes.find((one) => one.id === node.id && isSame(one, node)),
    );
  for (const node of wanted.nodes) {
    if (!same.has(node.id))
      keep(
        node,
        before.nodes.find((one) => !kept.has(one.id) && isSame(one, node)),
      );
  }
  const others = wanted.nodes.map(({ id }) => id).filter((id) => !same.has(id));
  const nodes = new Map([...same, ...freeNumbers(others, new Set([...taken.nodes, ...kept]), maxNodes)]);
  if (nodes.size < wanted.nodes.length) {
    const text = `the host has ${maxNodes} numbers for the nodes of a user, and too few of them are free: delete labs or nodes that are not needed`;
    throw hostFailure(text);
  }
  const bridges = wanted.networks.map(({ id }) => id);
  const networks = freeNumbers(bridges, taken.networks, Number.MAX_SAFE_INTEGER);
  return { given: { node: (id) => nodes.get(id) ?? id, network: (id) => networks.get(id) ?? id }, kept };
}

/** A disk contains the differences from its image, so it cannot be used with another image. */
function isSame(one: UnlNode, other: UnlNode): boolean {
  return one.name === other.name && one.template === other.template && one.type === other.type && one.image === other.image;
}

/** Maps each id to itself if it is free, otherwise to the lowest free number that is none of the ids. Omits ids for which no number is left. */
function freeNumbers(ids: readonly number[], taken: ReadonlySet<number>, most: number): ReadonlyMap<number, number> {
  const numbers = new Map(ids.filter((id) => !taken.has(id)).map((id) => [id, id]));
  let next = 1;
  for (const id of ids.filter((one) => taken.has(one))) {
    while (taken.has(next) || numbers.has(next)) next++;
    if (next > most) break;
    numbers.set(id, next++);
  }
  return numbers;
}
