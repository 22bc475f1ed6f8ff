import { spawn } from "node:child_process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";
import type { UnpackLimits } from "./budget.ts";

export type Bytes = AsyncIterable<Buffer>;

/**
 * Decompresses gzip, zstd or xz, detected by the first bytes. Other bytes pass unchanged. Reads the source only as fast as the caller reads the
 * result. Throws ArchiveError bad_archive for damaged data, too_large if the ratio exceeds the limit.
 */
export async function* decompressed(source: Bytes, what: string, limits: UnpackLimits): Bytes {
  let taken = 0;
  const iterator = source[Symbol.asyncIterator]();
  const head: Buffer[] = [];
  let length = 0;
  while (length < 6) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    head.push(value);
    length += value.length;
  }
  const first = Buffer.concat(head);
  async function* counted(): Bytes {
    taken += first.length;
    if (first.length > 0) yield first;
    for (;;) {
      const { value, done } = await iterator.next();
      if (done === true) return;
      taken += value.length;
      yield value;
    }
  }

  const kind = kindOf(first);
  if (kind === "plain") return yield* counted();
  if (kind === "bzip2") throw new ArchiveError("bad_archive", `${what} is packed with bzip2`, "gzip, zstd and xz are read");
  let given = 0;
  try {
    for await (const chunk of kind === "xz" ? unxz(counted()) : unpacked(counted(), kind)) {
      given += chunk.length;
      if (given > limits.ratioFrom && given > taken * limits.ratio) {
        throw new ArchiveError("too_large", `${what} unpacks to more than ${limits.ratio} times its size: it cannot be a file system`);
      }
      yield chunk;
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const damaged = code?.startsWith("Z_") === true || code?.startsWith("ZSTD_") === true || code === "ERR_XZ";
    throw damaged ? new ArchiveError("bad_archive", `${what} is damaged: ${message}`) : error;
  } finally {
    await iterator.return?.();
  }
}

function kindOf(first: Buffer): "plain" | "gzip" | "zstd" | "xz" | "bzip2" {
  const starts = (hex: string) => first.subarray(0, hex.length / 2).toString("hex") === hex;
  if (starts("1f8b")) return "gzip";
  if (starts("28b52ffd")) return "zstd";
  if (starts("fd377a585a00")) return "xz";
  return starts("425a68") ? "bzip2" : "plain";
}

async function* unpacked(source: Bytes, kind: "gzip" | "zstd"): Bytes {
  const unpack = kind === "gzip" ? createGunzip() : createZstdDecompress();
  const input = Readable.from(source, { objectMode: false });
  // Errors of the decompressor and of the source are reported on the stream that is read.
  const flow = pipeline(input, unpack).catch(() => undefined);
  try {
    yield* unpack;
  } finally {
    input.destroy();
    unpack.destroy();
    await flow;
  }
}

/** Node has no xz, so this runs the program of Debian's xz-utils. */
async function* unxz(source: Bytes): Bytes {
  const xz = spawn("xz", ["-dc", "-M", "256MiB"], { stdio: ["pipe", "pipe", "pipe"] });
  let words = "";
  xz.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(0, 1000);
  });
  const ended = new Promise<number>((resolve) => {
    xz.on("error", (error) => {
      words = (error as NodeJS.ErrnoException).code === "ENOENT" ? "xz is not there: apt-get install xz-utils" : error.message;
      resolve(127);
    });
    xz.on("close", (code) => resolve(code ?? -1));
  });
  const input = Readable.from(source, { objectMode: false });
  let broken: unknown;
  const flow = pipeline(input, xz.stdin).catch((error: NodeJS.ErrnoException) => {
    // If xz ends early, it reports the reason itself.
    if (error.code !== "EPIPE" && error.code !== "ERR_STREAM_PREMATURE_CLOSE") broken = error;
  });
  let whole = false;
  try {
    yield* xz.stdout;
    whole = true;
  } finally {
    // After its last output xz ends by itself. Its exit code decides.
    if (!whole) {
      input.destroy();
      xz.kill("SIGKILL");
    }
    await flow;
    const code = await ended;
    if (whole) failed(code, words, broken);
  }
}

function failed(code: number, words: string, broken: unknown): void {
  if (broken !== undefined) throw broken;
  if (code !== 0) throw Object.assign(new Error(words.trim() || `xz ended with ${code}`), { code: "ERR_XZ" });
}
