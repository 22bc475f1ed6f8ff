import { randomUUID } from "node:crypto";
import type { Operation } from "../../../engine/model/plan.ts";
import type { Position } from "../../../intent/lab/lab.ts";
import type { NativeIds, Progress } from "../../host.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import type { TakenIds } from "../labs/other-labs.ts";
import type { EvePlace } from "../labs/world.ts";
import { busyNumbers } from "../power/busy-numbers.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { editLab, type LabEdit } from "../write/lab-edit.ts";

/** A list of steps that is being applied to a lab. */
export interface Run {
  readonly place: EvePlace;
  readonly at: EveLabPath;
  readonly progress: Progress;
  ids: NativeIds;
}

export const nobody: NativeIds = { nodes: {}, networks: {}, links: {} };

export const noneTaken: TakenIds = { nodes: new Set(), networks: new Set() };

/**
 * Returns the ids that new objects must avoid. The console ports of new numbers are looked at before the lab is written: if the service ends after that, no
 * node of the lab has the number of a process of another one.
 */
export async function takenIds({ place, at, ids }: Run, newNodes: number): Promise<TakenIds> {
  if (!place.world.edition.sharedNames) return noneTaken;
  const taken = await place.world.others.taken(place.account, at.path);
  if (newNodes === 0) return taken;
  const all = Array.from({ length: place.catalogue.maxNodes }, (_, index) => index + 1);
  const inOrder = [...all.filter((id) => !taken.nodes.has(id)), ...all.filter((id) => taken.nodes.has(id))];
  // The lab's own nodes that do not run have a closed port, too.
  return { ...taken, busy: await busyNumbers(place, inOrder, newNodes + Object.keys(ids.nodes).length) };
}

export function openEdit({ place, ids }: Run, lab: UnlLab, taken: TakenIds, coming: readonly Position[] = []): LabEdit {
  return editLab(lab, ids, { catalogue: place.catalogue, lists: place.world.interfaces, taken, newUuid: randomUUID, coming });
}

/** Runs writes of one lab one after the other. If labs share numbers, writes that assign new numbers run one after the other on the whole host. */
export function inTurn<T>({ place, at }: Run, numbers: boolean, work: () => Promise<T>): Promise<T> {
  const { writes, edition } = place.world;
  const mine = () => writes.run(at.path, work);
  return numbers && edition.sharedNames ? writes.run("", mine) : mine();
}

export function nodeIdOf({ step }: Operation, edit: LabEdit): number | undefined {
  return "node" in step && typeof step.node === "string" ? edit.nodeId(step.node) : undefined;
}
