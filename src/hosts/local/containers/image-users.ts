import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The labs that use images. */
export interface ImageUsers {
  /** Returns the paths of the labs that have a node with this image, running or not, sorted. An unreadable definition may have one, so it counts. */
  of(image: string): readonly string[];
}

/** Reads the definitions of all labs in the state directory. */
export async function imageUsers(state: string): Promise<ImageUsers> {
  const labs = join(state, "labs");
  const absent = (error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  };
  const byImage = new Map<string, Set<string>>();
  const unreadable: string[] = [];
  for (const id of (await readdir(labs).catch(absent)) ?? []) {
    const text = await readFile(join(labs, id, "lab.json"), "utf8").catch(absent);
    if (text === undefined) continue;
    try {
      const { path, nodes } = JSON.parse(text) as { readonly path: string; readonly nodes: readonly { readonly image?: string }[] };
      for (const { image } of nodes) if (image !== undefined) byImage.set(image, (byImage.get(image) ?? new Set()).add(path));
    } catch {
      // It may use every image, which is then not removed: the refusal has this line.
      unreadable.push(`${join(labs, id, "lab.json")}, which is unreadable`);
    }
  }
  return { of: (image) => [...(byImage.get(image) ?? []), ...unreadable].sort() };
}
