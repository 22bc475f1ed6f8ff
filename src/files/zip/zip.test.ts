import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readZip, writeZip } from "./zip.ts";

const text = (value: string) => new TextEncoder().encode(value);

test("any files read back the same after they were written", () => {
  const entry = fc.record({
    name: fc.string({ minLength: 1, unit: "grapheme" }).filter((name) => !name.endsWith("/")),
    data: fc.uint8Array({ maxLength: 2000 }),
  });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
      const read = readZip(writeZip(entries)).map(({ name, data }) => ({ name, data: new Uint8Array(data) }));
      expect(read).toEqual(entries);
    }),
  );
});

test("another program reads what was written, and what it writes is read", () => {
  const folder = mkdtempSync(join(tmpdir(), "labwright-zip-"));
  try {
    writeFileSync(join(folder, "ours.zip"), writeZip([{ name: "Team A/lab-1.unl", data: text("<lab/>\n".repeat(100)) }]));
    const program = `
import sys, zipfile
ours = zipfile.ZipFile(sys.argv[1]); assert ours.testzip() is None
with zipfile.ZipFile(sys.argv[2], "w") as theirs:
    theirs.mkdir("sub")
    theirs.writestr("stored", "as it is")
    theirs.writestr(zipfile.ZipInfo("sub/deflated"), ours.read("Team A/lab-1.unl"), zipfile.ZIP_DEFLATED)
    theirs.comment = b"a comment"
`;
    execFileSync("python3", ["-c", program, join(folder, "ours.zip"), join(folder, "theirs.zip")]);
    const read = readZip(readFileSync(join(folder, "theirs.zip")));
    expect(read.map(({ name }) => name)).toEqual(["stored", "sub/deflated"]);
    expect(read.map(({ data }) => Buffer.from(data).toString())).toEqual(["as it is", "<lab/>\n".repeat(100)]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an archive that would grow too large is refused before it grows", () => {
  const archive = writeZip([{ name: "zeros", data: new Uint8Array(1_000_000) }]);
  expect(archive.length).toBeLessThan(2000);
  expect(() => readZip(archive, 999_999)).toThrow(/larger than 999999 bytes/);
  // The size in the directory is wrong.
  archive.writeUInt32LE(10, archive.indexOf(Buffer.from([0x50, 0x4b, 1, 2])) + 24);
  expect(() => readZip(archive, 999_999)).toThrow(SyntaxError);
});

test("for any bytes, the answer is an archive or a SyntaxError", () => {
  const archive = writeZip([
    { name: "a", data: text("hello hello hello") },
    { name: "b", data: text("") },
  ]);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(archive.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      fc.nat(archive.length),
      (bytes, size) => {
        const broken = Buffer.from(archive);
        for (const [at, byte] of bytes) broken[at] = byte;
        for (const each of [broken, broken.subarray(0, size)]) {
          try {
            readZip(each);
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError);
          }
        }
      },
    ),
    { numRuns: 300 },
  );
});

describe("a hostile archive", () => {
  const archive = writeZip([{ name: "a", data: text("hello ".repeat(100)) }]);
  const listed = archive.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
  const end = archive.indexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  const changed = (change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(archive);
    change(bytes);
    return bytes;
  };

  test.each([
    ["whose checksum is wrong", changed((bytes) => bytes.writeUInt32LE(1, listed + 16))],
    ["whose listed size is smaller than the file", changed((bytes) => bytes.writeUInt32LE(10, listed + 24))],
    ["whose listed size is larger than the file", changed((bytes) => bytes.writeUInt32LE(100_000, listed + 24))],
    ["whose file has no header", changed((bytes) => bytes.writeUInt32LE(0, 0))],
    ["whose file begins beyond the archive", changed((bytes) => bytes.writeUInt32LE(0x7fff_ffff, listed + 42))],
    ["that lists more files than it has", changed((bytes) => bytes.writeUInt16LE(9, end + 10))],
    ["whose file is encrypted", changed((bytes) => bytes.writeUInt16LE(1, listed + 8))],
    ["with an unknown compression method", changed((bytes) => bytes.writeUInt16LE(99, listed + 10))],
    ["of several disks", changed((bytes) => bytes.writeUInt16LE(1, end + 4))],
    ["of ZIP64 form", changed((bytes) => bytes.writeUInt32LE(0xffff_ffff, end + 16))],
    ["with ZIP64 sizes", changed((bytes) => bytes.writeUInt32LE(0xffff_ffff, listed + 24))],
    ["that is cut off", archive.subarray(0, archive.length - 1)],
    ["that begins too late", archive.subarray(10)],
  ])("%s is refused", (_, bytes) => {
    expect(() => readZip(bytes)).toThrow(SyntaxError);
  });

  test("cannot exceed the size limit with files that share their data", () => {
    const many = writeZip(Array.from({ length: 40 }, (_, i) => ({ name: `${i}`, data: new Uint8Array(100_000) })));
    expect(many.length).toBeLessThan(20_000);
    expect(() => readZip(many, 1_000_000)).toThrow(/larger than 1000000 bytes/);
  });

  test("keeps names with .. and names of object properties as plain text", () => {
    const names = ["../../etc/passwd", "/absolute", "__proto__", "constructor"];
    expect(readZip(writeZip(names.map((name) => ({ name, data: text(name) })))).map(({ name }) => name)).toEqual(names);
  });
});

test("what is no archive is refused", () => {
  expect(() => readZip(text("<lab/>"))).toThrow("not a ZIP archive");
  expect(() => readZip(text(""))).toThrow("not a ZIP archive");
});
