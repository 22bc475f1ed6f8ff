import type { EveAccount } from "../account/account.ts";
import { listOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import { parallel } from "../api/parallel.ts";
import { encodePath, snapshotsFolder } from "../read/lab-path.ts";

export interface ListedLab {
  /** The service's path: /courses/bgp-1 */
  readonly path: string;
  readonly written: number | undefined;
}

const maxFolders = 1000;

/** Lists all labs of the host that the user can see, folder by folder, without snapshots. */
export async function listLabs(account: EveAccount): Promise<readonly ListedLab[]> {
  const labs: ListedLab[] = [];
  const seen = new Set<string>();
  let level = ["/"];
  while (level.length > 0 && seen.size < maxFolders) {
    for (const folder of level) seen.add(folder);
    const contents = await parallel(level, 6, async (folder) => {
      const answer = await account.call({ path: `/api/folders${folder === "/" ? "/" : encodePath(folder)}`, read: true });
      // A folder that was removed meanwhile counts as empty.
      if (answer.status === 404 || answer.status === 400) return { folders: [], labs: [] };
      const { folders, labs: files } = recordOf(answer.data);
      const doing = `list the labs in ${folder}`;
      return {
        folders: listOf(folders, doing).flatMap(([, one]) => {
          const { name, path } = recordOf(one);
          const text = textOf(path);
          return name === ".." || text === undefined || text === snapshotsFolder ? [] : [text];
        }),
        labs: listOf(files, doing).flatMap(([, one]) => {
          const { path, umtime } = recordOf(one);
          const text = textOf(path);
          return text?.endsWith(".unl") ? [{ path: text.slice(0, -4).replace(/^\/+/, "/"), written: numberOf(umtime) }] : [];
        }),
      };
    });
    for (const one of contents) for (const lab of one.labs) labs.push(lab);
    level = [...new Set(contents.flatMap((one) => one.folders))].filter((folder) => !seen.has(folder));
  }
  return labs.sort((a, b) => (a.path < b.path ? -1 : 1));
}
