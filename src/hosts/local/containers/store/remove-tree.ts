import { lstatSync, readdirSync, rmdirSync, unlinkSync } from "node:fs";

/** Removes a tree whose names may be any bytes; rm of node:fs requires UTF-8. A missing tree is not an error. */
export function removeTree(path: Buffer): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (stats.isDirectory()) {
    for (const name of readdirSync(path, "buffer")) removeTree(Buffer.concat([path, Buffer.from("/"), name]));
    rmdirSync(path);
  } else unlinkSync(path);
}
