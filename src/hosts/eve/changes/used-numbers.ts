import type { EvePlace } from "../labs/world.ts";

/** How long a plan waits for the reads of other labs. The host needs about 3 s for the first read of a lab with 126 nodes. */
const patienceMs = 10_000;

/**
 * Returns the reason if the user's other labs leave too few node numbers for new nodes, as a lab of 126 nodes that was drawn on the host does. The nodes then
 * get numbers of other labs, and can only run while those do not. Undefined if there are enough.
 */
export async function tooFewNumbers({ world, account, catalogue }: EvePlace, path: string, count: number): Promise<string | undefined> {
  const all = Array.from({ length: catalogue.maxNodes }, (_, index) => index + 1);
  const { found } = await world.others.namesakes(account, path, new Set(all), world.timing.othersMs, patienceMs);
  const free = all.length - found.size;
  if (count <= free) return undefined;
  const sizes = new Map<string, number>();
  for (const one of found.values()) for (const { lab } of one) sizes.set(lab, (sizes.get(lab) ?? 0) + 1);
  const [largest, size] = [...sizes].sort(([, a], [, b]) => b - a)[0] ?? ["", 0];
  return (
    `${count} new nodes need numbers, and the other labs of the host leave ${free} of ${all.length}: nodes with the number of another lab cannot run at the same ` +
    `time as its nodes. The largest is ${largest} with ${size} nodes: stop or delete labs that are not needed, or use another user of the host`
  );
}
