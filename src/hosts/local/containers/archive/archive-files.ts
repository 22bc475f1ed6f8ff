import { constants, createReadStream } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { join, posix } from "node:path";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";
import { readTar } from "../../../../files/tar/tar-reader.ts";
import type { Bytes } from "./decompress.ts";

/** The files of an image archive by path, in an OCI layout directory or an uncompressed tar. */
export interface ArchiveFiles {
  /** Returns `undefined` if there is no such file. */
  size(path: string): Promise<number | undefined>;
  read(path: string): Bytes;
}

/** Opens only plain files below the directory: links and `..` are not followed. */
export function directoryFiles(directory: string): ArchiveFiles {
  const within = (path: string) => join(directory, posix.normalize(`/${path}`));
  return {
    size: async (path) => {
      const found = await lstat(within(path)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
        throw error;
      });
      return found?.isFile() === true ? found.size : undefined;
    },
    read: async function* (path) {
      await using file = await open(within(path), constants.O_RDONLY | constants.O_NOFOLLOW);
      yield* file.createReadStream({ autoClose: false });
    },
  };
}

const maxEntries = 100_000;

/** The files of a tar. Links resolve to their target: old versions of docker save identical layers as links. */
export async function tarFiles(file: string): Promise<ArchiveFiles> {
  const places = new Map<string, { readonly offset: number; readonly size: number }>();
  const links = new Map<string, string>();
  for await (const entry of readTar(createReadStream(file))) {
    const path = posix.normalize(`/${entry.name}`).slice(1);
    if (entry.type === "0" || entry.type === "\0" || entry.type === "7") places.set(path, { offset: entry.offset, size: entry.size });
    else if (entry.type === "2") links.set(path, posix.normalize(`/${posix.dirname(path)}/${entry.link}`).slice(1));
    else if (entry.type === "1") links.set(path, posix.normalize(`/${entry.link}`).slice(1));
    if (places.size + links.size > maxEntries) break;
  }
  const placeOf = (path: string) => {
    const wanted = posix.normalize(`/${path}`).slice(1);
    const target = links.get(wanted);
    return places.get(wanted) ?? (target === undefined ? undefined : places.get(target));
  };
  return {
    size: async (path) => placeOf(path)?.size,
    read: async function* (path) {
      const place = placeOf(path);
      if (place === undefined) throw new ArchiveError("bad_archive", `the archive has no ${path}`);
      if (place.size > 0) yield* createReadStream(file, { start: place.offset, end: place.offset + place.size - 1 });
    },
  };
}
