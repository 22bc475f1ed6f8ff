import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** A directory of an image, with its owner inside the node. */
export interface ImageDirectory {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const limits = { directories: 200, depth: 4 } as const;

/**
 * Returns the directories below /run of an image, parents first. A node's /run is empty at its start, but software expects the directories that its image
 * has there. Follows no link. @param trees the layers, top first
 */
export function runDirectories(trees: readonly string[]): readonly ImageDirectory[] {
  const found = new Map<string, ImageDirectory>();
  for (const tree of trees) {
    const base = lstatSync(tree);
    const visit = (path: string, depth: number): void => {
      for (const { name } of directoriesIn(join(tree, path))) {
        const inside = `${path}/${name}`;
        if (found.size >= limits.directories) return;
        const { mode, uid, gid } = lstatSync(join(tree, inside));
        if (!found.has(inside)) found.set(inside, { path: inside, mode: mode & 0o1777, uid: uid - base.uid, gid: gid - base.gid });
        if (depth < limits.depth) visit(inside, depth + 1);
      }
    };
    visit("/run", 1);
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Returns the directories directly in a directory, none if it is missing or a link. */
function directoriesIn(path: string): readonly Dirent[] {
  try {
    if (!lstatSync(path).isDirectory()) return [];
    return readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
