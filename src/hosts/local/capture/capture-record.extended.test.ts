import { execFileSync } from "node:child_process";
import { link, mkdtemp, open, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCapture } from "../decoder/read-capture.ts";
import { maxRingFileBytes, readCounters, readEnd, readRecord, ringFilesIn } from "./capture-record.ts";

let work: string;
let capture: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-record-"));
  capture = await mkdtemp(join(work, "capture-"));
});
afterEach(async () => rm(work, { recursive: true, force: true }));

const stopped = async (): Promise<never> => {
  throw new Error("not asked");
};

async function read(): Promise<number> {
  let length = 0;
  for await (const part of readCapture({ directory: capture, state: stopped }, false)) length += part.length;
  return length;
}

test("links that a lab's root plants in its capture's directory lead nowhere", async () => {
  const secret = join(work, "secret");
  await writeFile(secret, '{"version": 1}\n7 8\n');
  for (const name of ["capture.json", "end", "counters", "packets_000001.pcapng"]) await symlink(secret, join(capture, name));
  expect(await readRecord(capture)).toBeUndefined();
  expect(await readEnd(capture)).toBeUndefined();
  expect(await readCounters(capture)).toEqual({ packets: 0, dropped: 0 });
  expect(await ringFilesIn(capture)).toEqual([]);
  expect(await read()).toBe(0);
  await rename(join(capture, "end"), join(capture, "away"));
  await link(secret, join(capture, "end"));
  expect(await readEnd(capture)).toBeUndefined();
});

test("a pipe in the place of a file is not waited for", async () => {
  for (const name of ["capture.json", "end", "counters", "packets_000001.pcapng"]) execFileSync("mkfifo", [join(capture, name)]);
  expect(await readRecord(capture)).toBeUndefined();
  expect(await readEnd(capture)).toBeUndefined();
  expect(await readCounters(capture)).toEqual({ packets: 0, dropped: 0 });
  expect(await read()).toBe(0);
});

test("of files without end only so much is read as a capture's process writes", async () => {
  for (const name of ["end", "counters"]) {
    await using file = await open(join(capture, name), "w");
    await file.write("error\nwords");
    await file.truncate(2 ** 40);
  }
  expect((await readEnd(capture))?.words.length).toBeLessThanOrEqual(4096);
  expect(await readCounters(capture)).toEqual({ packets: 0, dropped: 0 });
  // Holes, with the head of a block at each 16 MiB.
  const head = Buffer.from("0600000000000001", "hex");
  await using ring = await open(join(capture, "packets_000001.pcapng"), "w");
  for (let at = 0; at <= maxRingFileBytes; at += 2 ** 24) await ring.write(head, 0, head.length, at);
  await ring.truncate(maxRingFileBytes + 2 ** 24);
  expect(await ringFilesIn(capture)).toMatchObject([{ sequence: 1, bytes: maxRingFileBytes }]);
  await expect(read()).rejects.toMatchObject({ code: "host_error" });
});

test("a ring has no more files than its process keeps, whatever else is put there", async () => {
  for (let i = 1; i <= 40; i++) await writeFile(join(capture, `packets_${String(i).padStart(6, "0")}.pcapng`), "");
  expect((await ringFilesIn(capture)).map(({ sequence }) => sequence)).toEqual([32, 33, 34, 35, 36, 37, 38, 39, 40]);
});

test.skipIf(process.getuid?.() !== 0)("a record that the service did not write is none", async () => {
  const file = join(capture, "capture.json");
  await writeFile(file, '{"version": 1}');
  expect(await readRecord(capture)).toEqual({ version: 1 });
  execFileSync("chown", ["12345", file]);
  expect(await readRecord(capture)).toBeUndefined();
});
