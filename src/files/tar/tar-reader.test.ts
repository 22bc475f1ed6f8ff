import fc from "fast-check";
import { expect, test } from "vitest";
import { ArchiveError } from "./archive-error.ts";
import { readTar, type TarEntry } from "./tar-reader.ts";
import { type TarWrite, tarArchive } from "./tar-writer.ts";

/** The entries of an archive with their data. */
async function entriesOf(archive: Buffer, chunk = archive.length): Promise<readonly (TarEntry & { readonly text: string })[]> {
  async function* source() {
    for (let at = 0; at < archive.length; at += chunk) yield archive.subarray(at, at + chunk);
  }
  const found: (TarEntry & { readonly text: string })[] = [];
  for await (const entry of readTar(source())) {
    const parts: Buffer[] = [];
    for await (const part of entry.data()) parts.push(part);
    found.push({ ...entry, text: Buffer.concat(parts).toString("latin1") });
  }
  return found;
}

const refusal = (archive: Buffer): Promise<ArchiveError> =>
  entriesOf(archive).then(
    (found) => Promise.reject(new Error(`accepted: ${JSON.stringify(found)}`)),
    (error) => (error instanceof ArchiveError ? error : Promise.reject(error)),
  );

const file = (name: string, text: string): TarWrite => ({ name, data: Buffer.from(text) });

/** A record of a pax header: its length counts its own digits. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (String(length).length + Buffer.byteLength(rest) !== length) length = String(length).length + Buffer.byteLength(rest);
  return `${length}${rest}`;
}
const pax = (records: string, type = "x"): TarWrite => ({ name: "pax", type, data: Buffer.from(records) });

/** The archive with bytes of its first header replaced and the checksum corrected. */
function patched(archive: Buffer, at: number, bytes: Buffer): Buffer {
  const copy = Buffer.from(archive);
  bytes.copy(copy, at);
  copy.fill(0x20, 148, 156);
  const sum = copy.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  copy.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return copy;
}

test("an entry has its name, data and place, however the source is cut into chunks", async () => {
  const long = `${"n".repeat(90)}/${"m".repeat(60)}`;
  const archive = tarArchive([file("a", "x".repeat(700)), file(long, "long"), { name: "l", type: "2", link: "t".repeat(120) }]);
  for (const chunk of [1, 511, 512, 10_000]) {
    const found = await entriesOf(archive, chunk);
    expect(found.map(({ name, text, link }) => [name, text, link])).toEqual([
      ["a", "x".repeat(700), ""],
      [long, "long", ""],
      ["l", "", "t".repeat(120)],
    ]);
    expect(found.slice(0, 2).map(({ offset, size }) => archive.toString("latin1", offset, offset + size))).toEqual([
      "x".repeat(700),
      "long",
    ]);
  }
});

test("a GNU long name of exactly one block is read although a block of zeros follows", async () => {
  const name = `${"d".repeat(200)}/${"e".repeat(200)}/${"f".repeat(110)}`;
  expect(name).toHaveLength(512);
  expect((await entriesOf(tarArchive([file(name, "x"), file("next", "y")]))).map((entry) => entry.name)).toEqual([name, "next"]);
});

test("pax records replace the name, the link, the size, the owner and the time of the next entry alone", async () => {
  const records = [
    record("path", "näme"),
    record("size", "5"),
    record("uid", "3000000"),
    record("gid", "7"),
    record("mtime", "12.5"),
    record("SCHILY.xattr.user.a", "b"),
  ].join("");
  const archive = tarArchive([pax(records), file("old", "12345"), file("second", "2")]);
  const [first, second] = await entriesOf(archive);
  expect(first).toMatchObject({
    name: Buffer.from("näme").toString("latin1"),
    size: 5,
    uid: 3_000_000,
    gid: 7,
    mtime: 12,
    xattrs: 1,
    text: "12345",
  });
  expect(second).toMatchObject({ name: "second", size: 1, uid: 0, xattrs: 0 });
});

test("a pax size that is larger than the archive is refused as cut off", async () => {
  expect((await refusal(tarArchive([pax(record("size", "100000")), file("a", "x")]))).message).toMatch(/cut off/);
});

test.each([
  ["a pax size that is negative", tarArchive([pax(record("size", "-5")), file("a", "x")])],
  ["a pax size that is not a number", tarArchive([pax(record("size", "0x10")), file("a", "x")])],
  ["a pax size beyond what a number holds", tarArchive([pax(record("size", "9".repeat(30))), file("a", "x")])],
  ["a pax owner that is negative", tarArchive([pax(record("uid", "-1")), file("a", "x")])],
  [
    "a pax name that is not UTF-8",
    tarArchive([{ name: "pax", type: "x", data: Buffer.from("11 path=\xff\xfe\n", "latin1") }, file("a", "")]),
  ],
  ["a sparse file of GNU's old form", tarArchive([{ name: "s", type: "S", data: Buffer.alloc(512) }])],
  ["a sparse file without data", tarArchive([{ name: "s", type: "S" }])],
  ["a sparse file of pax form", tarArchive([pax(record("GNU.sparse.major", "1") + record("GNU.sparse.name", "s")), file("s", "x")])],
  ["a global header that renames entries", tarArchive([pax(record("path", "other"), "g"), file("a", "x")])],
  ["a global header that is larger than the archive", tarArchive([{ ...pax("", "g"), data: Buffer.alloc(0) }]).subarray(0, 512)],
  ["an extended header without an entry", tarArchive([pax(record("path", "a"))])],
  ["extended headers without an end", tarArchive(Array.from({ length: 3000 }, () => pax(record("comment", "x"))))],
  ["a GNU long name of 2 MiB", tarArchive([{ name: "././@LongLink", type: "L", data: Buffer.alloc(2 << 20, 0x61) }, file("a", "")])],
  ["a size in base 256 that is negative", patched(tarArchive([file("a", "x")]), 124, Buffer.alloc(12, 0xff))],
  [
    "a size in base 256 beyond what a number holds",
    patched(tarArchive([file("a", "x")]), 124, Buffer.from("80ffffffffffffffffffffff", "hex")),
  ],
  ["a size that is not octal", patched(tarArchive([file("a", "x")]), 124, Buffer.from("zzzzzzzzzzz\0"))],
  ["an owner that is negative", patched(tarArchive([file("a", "x")]), 108, Buffer.from("fffffffffffffffe", "hex"))],
  ["a wrong checksum", Buffer.from(tarArchive([file("a", "x")])).fill(0x62, 0, 1)],
  ["an archive without its end", tarArchive([file("a", "x")]).subarray(0, 1024)],
  ["an archive that ends in the data", tarArchive([file("a", "x".repeat(2000))]).subarray(0, 1024)],
  ["an archive that ends in a header", tarArchive([file("a", "")]).subarray(0, 300)],
  ["an empty archive", Buffer.alloc(0)],
])("%s is refused", async (_, archive) => {
  expect(await refusal(archive)).toMatchObject({ code: "bad_archive" });
});

test("a global header with a comment, as git archive writes it, is ignored", async () => {
  const [entry] = await entriesOf(tarArchive([pax(record("comment", "0123abcd"), "g"), file("a", "x")]));
  expect(entry).toMatchObject({ name: "a", text: "x" });
});

test("entries beyond the end of the archive are not read, and the source is read to its end", async () => {
  let bytes = 0;
  const archive = Buffer.concat([tarArchive([file("a", "x")]), tarArchive([file("hidden", "y")])]);
  async function* source() {
    for (let at = 0; at < archive.length; at += 512) {
      bytes += 512;
      yield archive.subarray(at, at + 512);
    }
  }
  const names: string[] = [];
  for await (const { name } of readTar(source())) names.push(name);
  expect(names).toEqual(["a"]);
  expect(bytes).toBe(archive.length);
});

test("the size of a link is ignored: no data follows it", async () => {
  const archive = patched(tarArchive([{ name: "l", type: "2", link: "t" }, file("a", "x")]), 124, Buffer.from("00000001000\0"));
  expect((await entriesOf(archive)).map(({ name, size }) => [name, size])).toEqual([
    ["l", 0],
    ["a", 1],
  ]);
});

test("any bytes in a pax header give entries or a refusal, and never an endless loop", async () => {
  const piece = fc.oneof(
    fc.constantFrom("11 path=ab\n", "-7 a=b\n", "9999 size=1\n", "0 =\n", "12 size=\n", "-1 ", "=", "\n", "10 __proto__=1\n"),
    fc.string({ maxLength: 12 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const archive = tarArchive([pax(pieces.join("")), file("a", "x")]);
      const outcome = await entriesOf(archive).catch((error: unknown) => error);
      expect(outcome instanceof ArchiveError || Array.isArray(outcome), String(outcome)).toBe(true);
    }),
    { numRuns: 150 },
  );
});
