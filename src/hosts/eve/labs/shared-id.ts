import { Failure } from "../../../contract/errors.ts";
import type { NumberClash } from "../../../engine/model/observed.ts";
import { isUnreadableLab } from "../../host-unreadable.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { readHead } from "../read/lab-read.ts";
import type { EvePlace } from "./world.ts";

export interface IdCheck {
  /** The refused operation, for the message: "lab /copy was not destroyed". */
  readonly what: string;
  /** Numbers of the nodes that would be wiped; undefined: the whole lab goes, with the directories of all its nodes. */
  readonly ids?: readonly number[];
}

/**
 * Throws number_clash if another lab has the same lab id, as copies of a lab file do: the host keeps a node's process and disk in a directory that is named
 * by the lab's id and the node's number, so a wipe or delete in one lab would hit the nodes of the other.
 */
export async function refuseSharedId({ world, account }: EvePlace, at: EveLabPath, { what, ids }: IdCheck): Promise<void> {
  // PNETLab names the directories by the session of the lab.
  if (account.pnetlab) return;
  const uuid = await readLabId(account, at);
  if (uuid === undefined) return;
  for (const { path, nodes } of await world.others.withId(account, at.path, uuid)) {
    const shared = [...nodes].find(([id]) => ids?.includes(id) ?? true);
    if (shared === undefined) continue;
    const [number, node] = shared;
    const clash: NumberClash = { number, lab: path, node, certain: true };
    throw new Failure(
      "number_clash",
      `${what}: lab ${path} has the same id (${uuid}), so that both share the processes and disks of their nodes on the host. ` +
        "One of them is a copy: have an administrator of the host remove the copy's .unl file, or give it an id of its own there",
      { data: { clash, collision: { lab: path, node, id: number } } },
    );
  }
}

/** undefined: there is no such lab, or the host cannot read it: then it deletes the file alone. */
async function readLabId(account: EvePlace["account"], at: EveLabPath): Promise<string | undefined> {
  try {
    return (await readHead(account, at))?.uuid;
  } catch (error) {
    if (isUnreadableLab(error)) return undefined;
    throw error;
  }
}
