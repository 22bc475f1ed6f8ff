import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { problemOf, Unreachable } from "./exchange.ts";

/** A server that has blobs. */
export interface BlobServer {
  /** For messages. */
  readonly endpoint: { readonly host: string };
  /** Returns the bytes of a blob from an offset on, or from an earlier one. Throws Unreachable if the call may be repeated. */
  blob(
    digest: string,
    offset: number,
  ): Promise<{ readonly response: { readonly body: Readable }; readonly url: URL; readonly offset: number }>;
}

export interface Blob {
  /** SHA-256 (hex). */
  readonly digest: string;
  readonly size: number;
}

export interface DownloadOptions {
  /** Clients of the servers that have the blob, best first. */
  readonly clients: readonly BlobServer[];
  /** Path of the finished file. The bytes so far are in <path>.part. */
  readonly path: string;
  readonly signal: AbortSignal;
  /** Called with the number of bytes that are there. */
  readonly onBytes: (count: number) => void;
  /** Time before the second try, ms; it doubles with each further one. Default 500. */
  readonly retryMs?: number | undefined;
  /** The next step if the bytes are wrong. Default: for a registry. */
  readonly damageHint?: string;
}

/** Tries in a row that bring no byte, on all servers together. */
const maxVainTries = 6;

/**
 * Downloads a blob into a file. Continues where an earlier call ended, also after a crash, and after broken connections. The file gets its name when its
 * digest is right. Throws ArchiveError: the last problem of the last server.
 */
export async function download(blob: Blob, options: DownloadOptions): Promise<void> {
  const { clients, path, signal, retryMs = 500 } = options;
  const part = `${path}.part`;
  let vain = 0;
  let isDamaged = false;
  for (let at = 0; ; ) {
    const client = clients[at];
    if (client === undefined) throw new Error("internal error: a blob without a server");
    const before = await sizeOf(part);
    try {
      await continueFile(client, blob, part, options);
      await rename(part, path);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ArchiveError)) throw error;
      if (error.code === "digest_mismatch") {
        await rm(part, { force: true });
        // A part of an earlier download may have been damaged: one new try from the start on the same server.
        if (!isDamaged && before > 0) {
          isDamaged = true;
          continue;
        }
      }
      const brought = (await sizeOf(part)) > before;
      vain = brought ? 0 : vain + 1;
      const isLast = at === clients.length - 1;
      if (!(error instanceof Unreachable) || vain >= maxVainTries) {
        if (isLast) throw error;
        at++;
        vain = 0;
        continue;
      }
      await delay(Math.min(retryMs * 2 ** vain, 15_000), undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

async function continueFile(
  client: BlobServer,
  { digest, size }: Blob,
  part: string,
  { onBytes, damageHint }: DownloadOptions,
): Promise<void> {
  let have = await sizeOf(part);
  if (have > size) have = 0;
  let hash = createHash("sha256");
  if (have < size || have === 0) {
    const { response, url, offset } = await client.blob(digest, have);
    try {
      await using file = await open(part, offset === 0 ? "w" : "r+", 0o600);
      if (offset > 0) await addFile(hash, part, offset);
      let at = offset;
      onBytes(at);
      try {
        for await (const chunk of response.body as AsyncIterable<Buffer>) {
          if (at + chunk.length > size) throw mismatch(client, digest, `has more than ${size} bytes`, damageHint);
          await file.write(chunk, 0, chunk.length, at);
          hash.update(chunk);
          at += chunk.length;
          onBytes(at);
        }
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === "ENOSPC" || code === "EDQUOT" || error instanceof ArchiveError) throw error;
        throw problemOf(error, url);
      }
      if (at < size) throw new Unreachable(`${url.host} ended the blob after ${at} of ${size} bytes`);
      await file.sync();
    } finally {
      response.body.destroy();
    }
  } else {
    hash = createHash("sha256");
    await addFile(hash, part, have);
    onBytes(have);
  }
  if (hash.digest("hex") !== digest) throw mismatch(client, digest, "does not match its digest", damageHint);
}

async function addFile(hash: Hash, path: string, bytes: number): Promise<void> {
  for await (const chunk of createReadStream(path, { end: bytes - 1 })) hash.update(chunk as Buffer);
}

function mismatch({ endpoint }: BlobServer, digest: string, problem: string, hint = "push the image again"): ArchiveError {
  return new ArchiveError("digest_mismatch", `the blob sha256:${digest} of ${endpoint.host} ${problem}`, hint);
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return 0;
      throw error;
    },
  );
}
