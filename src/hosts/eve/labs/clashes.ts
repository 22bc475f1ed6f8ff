import { Failure } from "../../../contract/errors.ts";
import { clashText } from "../../../engine/effects/blocked.ts";
import type { NumberClash } from "../../../engine/model/observed.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { type NodeStatus, readNodes } from "../read/lab-read.ts";
import type { Clashes } from "../read/observe.ts";
import type { EvePlace } from "./world.ts";

const none: Clashes = new Map();

/**
 * Returns the nodes that the host reports as running, but that are or may be another lab's. On Community Edition a node counts as running if its
 * console port listens, even if another lab has started it. Reads other labs only if the owner of a number is not known.
 * @param mark NumberOwners.mark() from before the nodes were read
 * @param maxAgeMs maximum age of the list of other labs
 */
export async function findClashes(
  { world, account }: EvePlace,
  at: EveLabPath,
  nodes: readonly NodeStatus[],
  mark: number,
  maxAgeMs: number,
): Promise<Clashes> {
  if (!world.edition.sharedNames) return none;
  const owners = world.owners.of(account);
  owners.see(nodes, mark);
  const open = nodes.filter(({ id, status }) => status >= 2 && owners.of(id) !== at.path);
  if (open.length === 0) return none;
  const { found: namesakes, isComplete } = await world.others.namesakes(account, at.path, new Set(open.map(({ id }) => id)), maxAgeMs);
  const clashes = new Map<number, NumberClash>();
  for (const { id } of open) {
    const rivals = (namesakes.get(id) ?? []).filter(({ lab }) => !owners.isStranger(id, lab));
    const owner = rivals.find(({ lab }) => lab === owners.of(id));
    const [first] = rivals;
    const certain = owner !== undefined || owners.isStranger(id, at.path);
    if (certain) clashes.set(id, { number: id, ...(owner ?? first), certain });
    // No other lab has the number: it runs for this lab, even if another user started it.
    else if (first === undefined) {
      if (isComplete) owners.take(id, at.path);
    } else clashes.set(id, { number: id, ...first, certain });
  }
  return clashes;
}

/** Returns the nodes' current states, and which of them may belong to other labs. Throws lab_not_found. */
export async function readPower(
  place: EvePlace,
  at: EveLabPath,
  signal?: AbortSignal,
): Promise<{ readonly nodes: readonly NodeStatus[]; readonly clashes: Clashes }> {
  const mark = place.world.owners.of(place.account).mark();
  const nodes = await readNodes(place.account, at, signal);
  return { nodes, clashes: await findClashes(place, at, nodes, mark, 0) };
}

/** @param what "start node r1" */
export function numberClash(what: string, clash: NumberClash): Failure {
  const { number: id, lab, node } = clash;
  // The field for clients that are older than the error code of clashes.
  const collision = lab === undefined ? {} : { collision: { lab, id, ...(node !== undefined && { node }) } };
  return new Failure("number_clash", `${what}: ${clashText(clash)}`, { data: { clash, ...collision } });
}
