import type { SourceBytes } from "../source/read-source.ts";
import { ArchiveError } from "../tar/archive-error.ts";
import { type ArchivedDisk, capturesFolder, checkedManifest, disksFolder, labFolder } from "./manifest.ts";

/** A lab from an archive of Labwright. */
export interface UnpackedLab {
  readonly name: string;
  /** Path of the lab's file in the archive. */
  readonly lab: string;
  readonly yaml: string;
  /** By path, relative to the lab's file. */
  readonly files: Readonly<Record<string, string>>;
  /** Packet captures by file name. */
  readonly captures: ReadonlyMap<string, Uint8Array>;
  /** The nodes' disks that the archive has. */
  readonly disks: readonly ArchivedDisk[];
  /** Files whose digests were compared. */
  readonly checked: number;
}

/** Returns the lab of an archive; undefined: the files are not an archive of Labwright. Throws ArchiveError for a damaged archive. */
export function unpackLab(source: SourceBytes): UnpackedLab | undefined {
  const manifest = checkedManifest(source);
  if (manifest === undefined) return undefined;
  const files: Record<string, string> = {};
  const captures = new Map<string, Uint8Array>();
  for (const [path, data] of source.files) {
    if (path === manifest.lab || !Object.hasOwn(manifest.files, path)) continue;
    const [folder, ...inner] = path.split("/");
    if (inner.length === 0 || inner.some((part) => part === "" || part === "." || part === ".."))
      throw new ArchiveError("bad_archive", `the archive is damaged: ${path} is not a path of an archive`);
    if (folder === labFolder) files[inner.join("/")] = textOf(data, path);
    else if (folder === capturesFolder && inner.length === 1) captures.set(inner[0] ?? "", data);
    else if (folder !== disksFolder || manifest.version === 1)
      throw new ArchiveError("bad_archive", `the archive is damaged: ${path} is not a path of an archive`);
  }
  const yaml = textOf(source.files.get(manifest.lab) ?? new Uint8Array(), manifest.lab);
  return {
    name: manifest.name,
    lab: manifest.lab,
    yaml,
    files,
    captures,
    disks: manifest.disks ?? [],
    checked: Object.keys(manifest.files).length,
  };
}

function textOf(data: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new ArchiveError("bad_archive", `the archive is damaged: ${path} is not text in UTF-8`);
  }
}
