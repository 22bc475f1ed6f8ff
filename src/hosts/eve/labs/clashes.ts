import { Failure } from "../../../contract/errors.ts";
import { clashText } from "../../../engine/effects/blocked.ts";
import type { NumberClash } from "../../../engine/model/observed.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { type NodeStatus, readNodes } from "../read/lab-read.ts";
import type { Clashes } from "../read/observe.ts";
import type { EvePlace } from "./world.ts";

const none: Clashes = new Map();

/**
 * Those of the nodes that the host calls running and that are, or may be, another lab's: on Community Edition a node runs where its console port listens,
 * even if another lab has started it. Asks the host about other labs only if it is not known whose node a number runs.
 * @param mark NumberOwners.mark() from before the nodes were read
 * @param maxAgeMs how old the listing of other labs may be
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
    // Nobody else has the number: it runs for this lab, even if another user started it.
    else if (first === undefined) {
      if (isComplete) owners.take(id, at.path);
    } else clashes.set(id, { number: id, ...first, certain });
  }
  return clashes;
}

/** The nodes as they are now, and what of them may be others'. Throws lab_not_found. */
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
  // The name that clients know it by from before clashes had a code of their own.
  const collision = lab === undefined ? {} : { collision: { lab, node, id } };
  return new Failure("number_clash", `${what}: ${clashText(clash)}`, { data: { clash, ...collision } });
}
