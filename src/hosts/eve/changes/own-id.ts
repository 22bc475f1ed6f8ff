import { randomUUID } from "node:crypto";
import { hostFailure } from "../api/host-failure.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import { readPower } from "../labs/clashes.ts";
import type { LabNodes } from "../labs/other-labs.ts";
import { labsWithSameId } from "../labs/shared-id.ts";
import type { EvePlace } from "../labs/world.ts";
import { bringDown } from "../power/power.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { type LabHead, mustReadHead, readNodes, withHead } from "../read/lab-read.ts";
import { writeLab } from "../write/write-lab.ts";

/** The node numbers of these labs. */
export function numbersOf(labs: readonly LabNodes[]): ReadonlySet<number> {
  return new Set(labs.flatMap(({ nodes }) => [...nodes.keys()]));
}

/**
 * Before a forced deletion: gives a lab that has the id of another lab its own id, so that the deletion removes no directory of the other lab. Does
 * nothing if no other lab has the id, or if the host takes no lab files.
 */
export async function separateCopy(place: EvePlace, at: EveLabPath, head: LabHead): Promise<void> {
  const { world, account } = place;
  if (world.edition.imports !== "any") return;
  if ((await labsWithSameId(place, at)).length === 0) return;
  // One lab at a time: of two labs with the same id, one keeps the id and the processes.
  await world.writes.run("", () =>
    world.writes.run(at.path, async () => {
      const copies = await labsWithSameId(place, at);
      const before = withHead(await world.reader.file(account, at), head);
      if (copies.length === 0 || before.isPartial === true) return;
      await stopOwnNodes(place, at, before, numbersOf(copies));
      await giveOwnId(place, at, before);
    }),
  );
}

/**
 * Writes the lab with a new id. The directories of its nodes, with processes and disks, stay with the labs that have the old id. The caller must have
 * checked that no process of only this lab runs there: the host could not end it any more. Returns the changed lab.
 */
export async function giveOwnId(place: EvePlace, at: EveLabPath, before: UnlLab): Promise<UnlLab> {
  const { world, account } = place;
  const after = { ...before, id: randomUUID() };
  await writeLab(place, at, before, after, { whole: true });
  const { uuid } = await mustReadHead(account, at);
  if (uuid !== after.id) throw hostFailure(`the host did not accept the new id of lab ${at.path}: wanted ${after.id}, got ${uuid}`);
  const owners = world.owners.of(account);
  // A lab with a new id has no processes: every node that the host reports as running is another lab's.
  for (const { id, status } of await readNodes(account, at)) if (status >= 2) owners.disown(id, at.path);
  return after;
}

/**
 * Stops the nodes that run only for this lab: nodes that this session started for it, and nodes whose numbers the labs with the same id do not have.
 * Nodes with an unknown owner keep running, for the labs with the same id.
 */
async function stopOwnNodes(place: EvePlace, at: EveLabPath, lab: UnlLab, shared: ReadonlySet<number>): Promise<void> {
  const owners = place.world.owners.of(place.account);
  const { nodes, clashes } = await readPower(place, at);
  const isOwn = (id: number) => {
    if (shared.has(id)) return !clashes.has(id) && owners.hasStarted(id, at.path);
    return clashes.get(id)?.certain !== true;
  };
  const own = nodes.filter(({ id, status }) => status >= 2 && isOwn(id)).map(({ id }) => id);
  if (own.length > 0) await bringDown({ place, at, lab, force: true }, own, 3);
}
