import { createHash } from "node:crypto";
import type { SourceBytes } from "../source/read-source.ts";
import { ArchiveError } from "../tar/archive-error.ts";

/** Name of the manifest, the first file of an archive. */
export const manifestName = "labwright-archive.json";
/** Folder of the lab's file and of the files that it names. */
export const labFolder = "lab";
/** Folder of the packet captures in an archive. */
export const capturesFolder = "captures";

/** Folder of the nodes' disks in an archive. */
export const disksFolder = "disks";

/** The disk of a node in an archive: a tar archive in it. The fields are those of the API (exportDisks). */
export interface ArchivedDisk {
  /** Path in the archive. */
  readonly path: string;
  readonly node: string;
  readonly kind: "files" | "machine";
  readonly template: string;
  readonly image?: string;
  readonly kernel?: "own";
  readonly base: string;
}

/** The contents of an archive: a lab with everything that belongs to it. */
export interface Manifest {
  readonly format: "labwright-archive";
  /** 2: with disks, which readers of version 1 would refuse as damage. */
  readonly version: 1 | 2;
  readonly name: string;
  /** Path of the lab's file. */
  readonly lab: string;
  /** By path. Every file of the archive is listed, except the manifest. */
  readonly files: Readonly<Record<string, FileEntry>>;
  /** Absent in version 1. */
  readonly disks?: readonly ArchivedDisk[];
}

export interface FileEntry {
  readonly sha256: string;
  readonly bytes: number;
}

export function entryOf(data: Uint8Array): FileEntry {
  return { sha256: createHash("sha256").update(data).digest("hex"), bytes: data.length };
}

/**
 * Returns the manifest of an archive, after comparing the digest of each file; undefined: the files are not an archive of Labwright. Disks may be absent: readers that
 * hold an archive in memory leave large files out. Throws ArchiveError.
 */
export function checkedManifest({ files, leftOut }: SourceBytes): Manifest | undefined {
  const text = files.get(manifestName);
  if (text === undefined) return undefined;
  const manifest = readManifest(text);
  const disks = new Set(manifest.disks?.map(({ path }) => path));
  const large = leftOut.find(({ path }) => !disks.has(path));
  if (large !== undefined)
    throw new ArchiveError("too_large", `${large.path} of the archive has ${large.bytes} bytes, which is too large to import`);
  for (const [path, entry] of Object.entries(manifest.files)) {
    const data = files.get(path);
    if (data !== undefined) compareEntry(path, entryOf(data), entry);
    else if (!disks.has(path)) throw damaged(`${path} is missing`);
  }
  for (const path of files.keys()) {
    if (path !== manifestName && !Object.hasOwn(manifest.files, path)) throw damaged(`${path} is not in the manifest`);
  }
  if (!Object.hasOwn(manifest.files, manifest.lab)) throw damaged("the lab's file is missing");
  return manifest;
}

/** Throws ArchiveError if a file is not the one of the manifest. */
export function compareEntry(path: string, found: FileEntry, listed: FileEntry): void {
  if (found.sha256 !== listed.sha256 || found.bytes !== listed.bytes)
    throw damaged(`${path} has another SHA-256 digest than the manifest lists`);
}

/** Throws ArchiveError for a manifest that is damaged or newer. */
export function readManifest(bytes: Uint8Array): Manifest {
  return parsed(Buffer.from(bytes).toString("utf8"));
}

function parsed(text: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged("the manifest is not JSON");
  }
  const { format, version, name, lab, files, disks = [] } = (value ?? {}) as Partial<Record<keyof Manifest, unknown>>;
  if (format !== "labwright-archive") throw damaged("the manifest is of another program");
  if (version !== 1 && version !== 2)
    throw new ArchiveError(
      "bad_archive",
      `the archive has version ${String(version).slice(0, 20)}, and this Labwright reads versions 1 and 2`,
      "use a newer Labwright",
    );
  const isEntry = (entry: unknown): entry is FileEntry =>
    typeof entry === "object" &&
    entry !== null &&
    "sha256" in entry &&
    typeof entry.sha256 === "string" &&
    "bytes" in entry &&
    typeof entry.bytes === "number";
  if (
    typeof name !== "string" ||
    typeof lab !== "string" ||
    typeof files !== "object" ||
    files === null ||
    !Object.values(files).every(isEntry) ||
    !Array.isArray(disks)
  )
    throw damaged("the manifest is incomplete");
  const listed = files as Manifest["files"];
  if (version === 1) return { format, version, name, lab, files: listed };
  return { format, version, name, lab, files: listed, disks: disks.map((disk: unknown) => archivedDisk(disk, listed)) };
}

/** The service checks what the disk is for. */
function archivedDisk(value: unknown, files: Manifest["files"]): ArchivedDisk {
  const fields = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const word = (name: string): string => {
    const found = fields[name];
    if (typeof found !== "string") throw damaged("the manifest is incomplete");
    return found;
  };
  const [path, kind] = [word("path"), word("kind")];
  if (!path.startsWith(`${disksFolder}/`) || !Object.hasOwn(files, path)) throw damaged(`the manifest does not list the disk ${path}`);
  if (kind !== "files" && kind !== "machine") throw damaged(`${path} is a disk of a kind that is not known`);
  return {
    ...{ path, kind, node: word("node"), template: word("template"), base: word("base") },
    ...(fields["image"] !== undefined && { image: word("image") }),
    ...(fields["kernel"] === "own" && { kernel: "own" as const }),
  };
}

export function damaged(what: string): ArchiveError {
  return new ArchiveError("bad_archive", `the archive is damaged: ${what}`, "copy or export it again; nothing was written");
}
