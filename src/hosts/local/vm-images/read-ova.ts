import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { readTar, type TarEntry } from "../../../files/tar/tar-reader.ts";
import { unsafeImage, wrongImage } from "./refuse.ts";

/** A file of an OVA that belongs to the machine. */
export interface OvaFile {
  readonly name: string;
  /** Position in the archive, bytes. */
  readonly offset: number;
  readonly size: number;
}

export interface Ova {
  /** Its disks and CDs, in the order of the description. */
  readonly files: readonly OvaFile[];
  /** Names of the machine and its product, for people. */
  readonly product: string | undefined;
}

/** Maximum bytes of a description or a list of checksums. */
const maxText = 2 * 1024 * 1024;
const maxFiles = 64;

/**
 * Reads the list of an OVA: a description (.ovf), disks, and perhaps checksums (.mf), which are compared. Nothing is unpacked. Throws ArchiveError.
 * @param file path of the plain tar archive @param what its name, for people
 */
export async function readOva(file: string, what: string, signal?: AbortSignal): Promise<Ova> {
  const found = new Map<string, OvaFile & { readonly digests: ReadonlyMap<string, string> }>();
  const texts = new Map<string, string>();
  for await (const entry of readTar(createReadStream(file))) {
    signal?.throwIfAborted();
    const name = plainName(entry, what);
    if (found.has(name)) throw unsafeImage(`${what}: it has the file ${JSON.stringify(name)} twice`, again);
    if (found.size >= maxFiles) throw new ArchiveError("too_large", `${what} has more than ${maxFiles} files`, again);
    const hashes = ["sha1", "sha256", "sha512"].map((algorithm) => [algorithm, createHash(algorithm)] as const);
    const isText = /\.(ovf|mf)$/i.test(name);
    if (isText && entry.size > maxText) throw new ArchiveError("too_large", `${what}: ${name} has ${entry.size} bytes`, again);
    const parts: Buffer[] = [];
    for await (const chunk of entry.data()) {
      signal?.throwIfAborted();
      for (const [, hash] of hashes) hash.update(chunk);
      if (isText) parts.push(Buffer.from(chunk));
    }
    if (isText) texts.set(name, Buffer.concat(parts).toString("utf8"));
    const digests = new Map(hashes.map(([algorithm, hash]) => [algorithm, hash.digest("hex")]));
    found.set(name, { name, offset: entry.offset, size: entry.size, digests });
  }
  for (const [name, text] of texts) {
    if (!/\.mf$/i.test(name)) continue;
    for (const { algorithm, file: listed, digest } of checksums(text)) {
      const actual = found.get(listed)?.digests.get(algorithm);
      if (actual === undefined || actual === digest) continue;
      throw new ArchiveError(
        "digest_mismatch",
        `${what}: ${listed} does not match its ${algorithm.toUpperCase()} in ${name}`,
        "download it again",
      );
    }
  }
  const [ovf] = [...texts].find(([name]) => /\.ovf$/i.test(name)) ?? [];
  if (ovf === undefined) throw wrongImage(`${what} has no description (.ovf)`);
  const text = texts.get(ovf)!;
  const names = diskNames(text, `${what}: ${ovf}`);
  const files = names.map((name) => {
    const one = found.get(name);
    if (one === undefined) throw wrongImage(`${what}: ${ovf} names the file ${JSON.stringify(name)}, which is not in the archive`);
    return { name, offset: one.offset, size: one.size };
  });
  return { files, product: product(text) };
}

const again = "download it from its publisher again";

/** Returns the name of an entry, which must be a plain file directly in the archive. */
function plainName({ name, type }: TarEntry, what: string): string {
  const bare = name.replace(/^\.\//, "");
  if (type !== "0" && type !== "\0" && type !== "7") throw unsafeImage(`${what}: ${JSON.stringify(name)} is not a plain file`, again);
  if (bare === "" || /[/\\\0]/.test(bare) || bare === "." || bare === "..")
    throw unsafeImage(`${what}: ${JSON.stringify(name)} is a path out of the archive`, again);
  return bare;
}

function* checksums(text: string): Generator<{ readonly algorithm: string; readonly file: string; readonly digest: string }> {
  for (const line of text.split(/\r?\n/)) {
    const match = /^(SHA1|SHA256|SHA512) ?\((.+)\) ?= ?([0-9a-fA-F]+)\s*$/.exec(line);
    if (match !== null) yield { algorithm: match[1]!.toLowerCase(), file: match[2]!, digest: match[3]!.toLowerCase() };
  }
}

/** Returns the files of the description: those of disks in the order of the disks, then the others, which are CDs. */
function diskNames(ovf: string, place: string): readonly string[] {
  const files = new Map<string, string>();
  for (const [, text] of ovf.matchAll(/<(?:\w+:)?File\s([^<>]*)>/g)) {
    const { id, href, chunkSize } = attributes(text!);
    if (href === undefined) continue;
    if (/[/\\]/.test(href) || /^\w+:/.test(href))
      throw unsafeImage(`${place}: it names the file ${JSON.stringify(href)} outside of the archive`, again);
    if (chunkSize !== undefined)
      throw wrongImage(`${place}: the disk ${href} is split into parts, which is not read`, "export the machine again, in one part");
    files.set(id ?? href, href);
  }
  const disks = [...ovf.matchAll(/<(?:\w+:)?Disk\s([^<>]*)>/g)].flatMap(([, text]) => {
    const { fileRef, parentRef } = attributes(text!);
    if (parentRef !== undefined)
      throw wrongImage(`${place}: a disk is the difference to another one`, "export the machine again, without snapshots");
    const name = files.get(fileRef ?? "");
    return name === undefined ? [] : [name];
  });
  const images = [...files.values()].filter((name) => /\.iso$/i.test(name));
  const all = [...new Set([...disks, ...images])];
  if (all.length === 0) throw wrongImage(`${place}: it has no disk`);
  return all;
}

function attributes(text: string): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    [...text.matchAll(/(?:\w+:)?(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, key, a, b]) => [key, withoutEntities(a ?? b ?? "")]),
  );
}

function withoutEntities(text: string): string {
  const known: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replace(/&(lt|gt|quot|apos|amp);/g, (_, name: string) => known[name]!);
}

function product(ovf: string): string | undefined {
  const value = (tag: string) => new RegExp(`<(?:\\w+:)?${tag}(?:\\s[^<>]*)?>([^<]{1,100})<`).exec(ovf)?.[1]?.trim();
  const words = [value("Product"), value("FullVersion") ?? value("Version")].filter((word) => word !== undefined && word !== "");
  return words.length === 0 ? undefined : withoutEntities(words.join(" "));
}
