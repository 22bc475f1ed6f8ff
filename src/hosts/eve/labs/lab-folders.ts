import { randomUUID } from "node:crypto";
import type { Progress } from "../../host.ts";
import type { EveAccount } from "../account/account.ts";
import { entriesOf, hostError, recordOf, textOf } from "../api/answer.ts";
import { settled } from "../api/pending-outcome.ts";
import { encodePath } from "../read/lab-path.ts";

type Account = Pick<EveAccount, "call">;

/** A key of EveWorld.writes: labs are created and folders removed one after the other. */
export const folderTurn = "folders";

/**
 * Creates a folder and its missing parent folders.
 * @param made Progress.madeFolder
 */
export async function ensureFolder(account: Account, folder: string, made: NonNullable<Progress["madeFolder"]>): Promise<void> {
  if (folder === "/" || (await contentsOf(account, folder)) !== null) return;
  const parent = parentOf(folder);
  await ensureFolder(account, parent, made);
  const body = { path: parent, name: folder.slice(folder.lastIndexOf("/") + 1) };
  made(folder, true);
  await settled(
    `make folder ${folder}`,
    () => account.call({ method: "POST", path: "/api/folders", body, read: false }),
    ({ code }) => {
      // 60013: someone else created it at the same moment.
      if (code === 60013) made(folder, false);
      return code === 60014 || code === 60013;
    },
    async () => (await contentsOf(account, folder)) !== null,
  );
}

/**
 * Removes a folder if it is empty. EVE-NG deletes a folder with its content, so the folder is first renamed to an unknown name. If it then contains a
 * lab that was created at the same moment, it gets its old name back. @returns whether the folder was removed
 */
export async function removeEmptyFolder(account: Account, folder: string): Promise<boolean> {
  const contents = await contentsOf(account, folder);
  if (contents === null) return true;
  if (contents > 0) return false;
  const aside = `${parentOf(folder) === "/" ? "" : parentOf(folder)}/labwright-removes-${randomUUID()}`;
  await rename(account, folder, aside);
  if ((await contentsOf(account, aside)) !== 0) {
    await rename(account, aside, folder);
    return false;
  }
  await settled(
    `remove folder ${folder}`,
    () => account.call({ method: "DELETE", path: urlOf(aside), read: false }),
    ({ code }) => code === 60012,
    async () => (await contentsOf(account, aside)) === null,
  );
  return true;
}

async function rename(account: Account, from: string, to: string): Promise<void> {
  await settled(
    `rename folder ${from} to ${to}`,
    () => account.call({ method: "PUT", path: urlOf(from), body: { path: to }, read: false }),
    ({ code }) => code === 60049,
    async () => (await contentsOf(account, to)) !== null,
  );
}

/** Returns the number of labs and folders in a folder, `null` if it does not exist. */
async function contentsOf(account: Account, folder: string): Promise<number | null> {
  const answer = await account.call({ path: urlOf(folder), read: true });
  if (answer.code === 60008) return null;
  if (answer.code !== 60007) throw hostError(`look for folder ${folder}`, answer);
  const { folders, labs } = recordOf(answer.data);
  return entriesOf(labs).length + entriesOf(folders).filter(([, one]) => textOf(recordOf(one).name) !== "..").length;
}

function parentOf(folder: string): string {
  return folder.slice(0, folder.lastIndexOf("/")) || "/";
}

function urlOf(folder: string): string {
  return `/api/folders${encodePath(folder)}`;
}
