import type { HostSession } from "../../hosts/host.ts";
import type { LogPart, StorePart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";

/** Records that a change creates a folder on the host for the lab, or that the folder belongs to somebody else. */
export async function noteFolder({ store }: StorePart, path: string, folder: string, isOurs = true): Promise<void> {
  const record = store.labs.get(path);
  if (record === undefined || (record.folders?.includes(folder) ?? false) === isOurs) return;
  const others = (record.folders ?? []).filter((one) => one !== folder);
  await store.labs.put({ ...record, folders: isOurs ? [...others, folder] : others });
}

/**
 * Removes the folders that were created for a deleted lab, the innermost first. A folder that contains another managed lab is removed with the last
 * such lab. A folder with any other content stays.
 */
export async function releaseFolders(
  context: StorePart & LogPart,
  host: Pick<HostSession, "removeFolder">,
  path: string,
  folders: readonly string[],
): Promise<void> {
  const innermost = [...folders].sort((a, b) => b.length - a.length);
  for (const folder of host.removeFolder === undefined ? [] : innermost) {
    try {
      if (await host.removeFolder?.(folder)) continue;
    } catch (error) {
      context.log("warn", "a folder that was made for a lab could not be removed", { lab: path, folder, error: String(error) });
    }
    const heir = context.store.labs.list().find((record) => record.path !== path && record.path.startsWith(`${folder}/`));
    if (heir !== undefined) await noteFolder(context, heir.path, folder);
  }
}

/**
 * Called after an interrupted change: the record keeps the folders that the change created. If the lab has no record any more, the folders are
 * removed.
 */
export async function keepFolders(context: StorePart & LogPart, { path, host }: Target, made: readonly string[]): Promise<void> {
  if (context.store.labs.get(path) === undefined) return releaseFolders(context, host, path, made);
  for (const folder of made) await noteFolder(context, path, folder);
}
