import { createHash } from "node:crypto";
import type { SourceBytes } from "../source/read-source.ts";
import { ArchiveError } from "../tar/archive-error.ts";

/** Name of the manifest, the first file of an archive. */
export const manifestName = "labwright-archive.json";
/** Folder of the lab's file and of the files that it names. */
export const labFolder = "lab";
/** Folder of the packet captures in an archive. */
export const capturesFolder = "captures";

/** The contents of an archive: a lab with everything that belongs to it. */
export interface Manifest {
  readonly format: "labwright-archive";
  readonly version: 1;
  readonly name: string;
  /** Path of the lab's file. */
  readonly lab: string;
  /** By path. Every file of the archive is listed, except the manifest. */
  readonly files: Readonly<Record<string, FileEntry>>;
}

export interface FileEntry {
  readonly sha256: string;
  readonly bytes: number;
}

export function entryOf(data: Uint8Array): FileEntry {
  return { sha256: createHash("sha256").update(data).digest("hex"), bytes: data.length };
}

/** Returns the manifest of an archive, after comparing the digest of each file; undefined: the files are no archive of Labwright. Throws ArchiveError. */
export function checkedManifest({ files, leftOut }: SourceBytes): Manifest | undefined {
  const text = files.get(manifestName);
  if (text === undefined) return undefined;
  const [large] = leftOut;
  if (large !== undefined)
    throw new ArchiveError("too_large", `${large.path} of the archive has ${large.bytes} bytes, which is too large to import`);
  const manifest = parsed(Buffer.from(text).toString("utf8"));
  for (const [path, { sha256, bytes }] of Object.entries(manifest.files)) {
    const data = files.get(path);
    if (data === undefined) throw damaged(`${path} is missing`);
    const found = entryOf(data);
    if (found.sha256 !== sha256 || found.bytes !== bytes) throw damaged(`${path} has another SHA-256 digest than the manifest lists`);
  }
  for (const path of files.keys()) {
    if (path !== manifestName && !Object.hasOwn(manifest.files, path)) throw damaged(`${path} is not in the manifest`);
  }
  if (!Object.hasOwn(manifest.files, manifest.lab)) throw damaged("the lab's file is missing");
  return manifest;
}

function parsed(text: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged("the manifest is not JSON");
  }
  const { format, version, name, lab, files } = (value ?? {}) as Partial<Record<keyof Manifest, unknown>>;
  if (format !== "labwright-archive") throw damaged("the manifest is of another program");
  if (version !== 1)
    throw new ArchiveError(
      "bad_archive",
      `the archive has version ${String(version).slice(0, 20)}, and this Labwright reads version 1`,
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
    !Object.values(files).every(isEntry)
  )
    throw damaged("the manifest is incomplete");
  return { format, version, name, lab, files: files as Manifest["files"] };
}

function damaged(what: string): ArchiveError {
  return new ArchiveError("bad_archive", `the archive is damaged: ${what}`, "copy or export it again; nothing was written");
}
