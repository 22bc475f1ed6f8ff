import { createHash } from "node:crypto";
import { once } from "node:events";
import type { ReceivedBytes } from "../../host-fleet.ts";
import { spawnPiped } from "../machine/spawn-piped.ts";
import { hostError } from "../transfers/pack-disk.ts";

/*
 * All files of a lab as an archive of GNU tar, between two machines of a fleet that trust each other: holes, owners, hard links and extended attributes are kept.
 * Archives from strangers go through pack-disk.ts and unpack-disk.ts.
 */

const kept = ["--numeric-owner", "--xattrs", "--xattrs-include=*"];
/** The work directories of overlays are empty when nodes are stopped, except for what the kernel left. The origin names files of the other machine. */
const packed = [
  ...["--create", "--format=pax", "--sparse", "--one-file-system", ...kept, "--xattrs-exclude=trusted.overlay.origin"],
  ...["--anchored", "--no-wildcards-match-slash", "--exclude=./nodes/*/work/*", "--exclude=./lab.last.json", "--exclude=./leaving.json"],
];

/** Streams the files of a directory. Throws host_error if one of them changes meanwhile. */
export async function* packLab(directory: string): AsyncGenerator<Buffer> {
  const child = tar([...packed, "--directory", directory, "."]);
  child.stdin.end();
  const ended = endOf(child, "the files of the lab could not be read");
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    await ended;
  } finally {
    child.kill("SIGKILL");
  }
}

/** Writes the files of an archive into a directory. Returns the digest of the archive. Throws host_error. */
export async function unpackLab(bytes: AsyncIterable<Uint8Array>, directory: string): Promise<ReceivedBytes> {
  const child = tar(["--extract", "--same-owner", "--same-permissions", "--delay-directory-restore", ...kept, "--directory", directory]);
  child.stdout.resume();
  const ended = endOf(child, "the files of the lab could not be written");
  const hash = createHash("sha256");
  let count = 0;
  let broken: Error | undefined;
  child.stdin.on("error", (error) => {
    broken = error;
  });
  try {
    for await (const part of bytes) {
      hash.update(part);
      count += part.length;
      // A program that has ended reports that by its exit code.
      if (broken === undefined && !child.stdin.write(part)) await Promise.race([once(child.stdin, "drain"), ended.catch(() => undefined)]);
    }
    child.stdin.end();
    await ended;
    return { bytes: count, sha256: hash.digest("hex") };
  } finally {
    child.kill("SIGKILL");
  }
}

function tar(options: readonly string[]) {
  return spawnPiped("nice", ["-n", "10", "tar", ...options], { env: { ...process.env, LC_ALL: "C" } });
}

function endOf(child: ReturnType<typeof tar>, what: string): Promise<void> {
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (more: string) => {
    text = (text + more).slice(0, 2000);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve();
      else reject(hostError(`${what}: ${text.trim().split("\n")[0] || `tar ended with code ${code}`}`));
    });
  });
  ended.catch(() => undefined);
  return ended;
}
