import { deflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { readZip } from "./unzip.ts";
import { zipOf } from "./zip.ts";

const files = new Map([
  ["lab.yaml", "name: größe\n"],
  ["configs/r1.conf", "hostname r1\n"],
]);

/** Returns an archive whose first file is replaced by other data and another method. */
function withData(data: Uint8Array, method: number): Uint8Array<ArrayBuffer> {
  const zip = zipOf(new Map([["a.txt", " ".repeat(data.length)]]));
  const view = new DataView(zip.buffer);
  zip.set(data, 30 + "a.txt".length);
  const directory = 30 + "a.txt".length + data.length;
  view.setUint16(8, method, true);
  view.setUint16(directory + 10, method, true);
  return zip;
}

test("a written archive is read again, with folders and letters of all languages", async () => {
  expect(await readZip(zipOf(files))).toEqual(files);
});

test("compressed files are read, also after a comment", async () => {
  const text = "interface eth0\n".repeat(500);
  const zip = withData(deflateRawSync(text), 8);
  expect((await readZip(zip)).get("a.txt")).toBe(text);
  const commented = new Uint8Array(zip.length + 5);
  commented.set(zip);
  expect((await readZip(commented)).get("a.txt")).toBe(text);
});

test.each([
  ["an archive of gigabytes", withData(deflateRawSync(Buffer.alloc(64 * 2 ** 20)), 8), "more than 16 MiB"],
  ["damaged data", withData(new Uint8Array(40).fill(255), 8), "damaged"],
  ["another compression", withData(new Uint8Array(40), 14), "not supported"],
  ["data that are no text", withData(new Uint8Array(40).fill(255), 0), "a.txt is not text"],
  ["a path out of the archive", zipOf(new Map([["../r1.conf", ""]])), "leads out of the archive"],
  ["an absolute path", zipOf(new Map([["/etc/passwd", ""]])), "leads out of the archive"],
  ["another file", new TextEncoder().encode("name: lab\n".repeat(10)), "not a zip file"],
  ["half an archive", zipOf(files).slice(0, 100), "not a zip file"],
  ["a directory that is not there", zipOf(files).fill(0, 40, 90), "damaged"],
])("%s is refused", async (_name, zip, message) => {
  await expect(readZip(zip)).rejects.toThrow(message);
});
