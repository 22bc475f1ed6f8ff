import { Failure } from "../../../contract/errors.ts";
import type { NumberClash } from "../../../engine/model/observed.ts";
import { isUnreadableLab } from "../../host-unreadable.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { readHead } from "../read/lab-read.ts";
import type { LabNodes } from "./other-labs.ts";
import type { EvePlace } from "./world.ts";

export interface IdCheck {
  /** The refused operation, for the message: "lab /copy was not destroyed". */
  readonly what: string;
  /** Numbers of the nodes that would be wiped. `undefined`: the whole lab is deleted, with the directories of all its nodes. */
  readonly ids?: readonly number[];
}

/**
 * Throws number_clash if another lab has the same lab id, as copies of a lab file do: the host keeps a node's process and disk in a directory that is named
 * by the lab's id and the node's number, so a wipe or delete in one lab would hit the nodes of the other.
 */
export async function refuseSharedId(place: EvePlace, at: EveLabPath, { what, ids }: IdCheck): Promise<void> {
  const remedy =
    place.world.edition.imports === "any"
      ? "labwright renumber gives a stopped lab its own id, and labwright destroy --force deletes one of the labs; processes and disks stay with the other lab"
      : "One of them is a copy: have an administrator of the host remove the copy's .unl file, or give it its own id there";
  for (const { path, nodes } of await labsWithSameId(place, at)) {
    const shared = [...nodes].find(([id]) => ids?.includes(id) ?? true);
    if (shared === undefined) continue;
    const [number, node] = shared;
    const clash: NumberClash = { number, lab: path, node, certain: true };
    throw new Failure(
      "number_clash",
      `${what}: lab ${path} has the same id, so that both share the processes and disks of their nodes on the host. ${remedy}`,
      { data: { clash, collision: { lab: path, node, id: number } } },
    );
  }
}

/** Returns the other labs that have the id of this lab, as copies of a lab file do. */
export async function labsWithSameId({ world, account }: EvePlace, at: EveLabPath): Promise<readonly LabNodes[]> {
  // PNETLab names the directories by the session of the lab.
  if (account.pnetlab) return [];
  const uuid = await readLabId(account, at);
  return uuid === undefined ? [] : world.others.withId(account, at.path, uuid);
}

/** `undefined`: there is no such lab, or the host cannot read it and deletes only its file. */
async function readLabId(account: EvePlace["account"], at: EveLabPath): Promise<string | undefined> {
  try {
    return (await readHead(account, at))?.uuid;
  } catch (error) {
    if (isUnreadableLab(error)) return undefined;
    throw error;
  }
}
