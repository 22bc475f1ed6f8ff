import { existsSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pack } from "./pack.ts";
import { type TarWrite, tarArchive } from "./tar-writer.ts";
import { type UnpackOptions, unpack } from "./unpack.ts";

let work: string;
let folder: string;
let skipped: string[];

beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-unpack-"));
  folder = join(work, "in");
  mkdirSync(folder);
  writeFileSync(join(work, "secret"), "untouched");
  skipped = [];
});
afterEach(() => rm(work, { recursive: true }));

async function taken(entries: readonly TarWrite[], more: Partial<UnpackOptions> = {}): Promise<void> {
  const onSkipped = (name: string) => skipped.push(name);
  const options = { folder, expected: "x", top: "x", owners: false, maxBytes: 1e6, maxEntries: 100, onSkipped, onBytes: () => {}, ...more };
  await unpack(
    (async function* () {
      yield tarArchive(entries);
    })(),
    options,
  );
}

test("a source may reuse the memory of its chunks", async () => {
  const long = `x/${"n".repeat(150)}`;
  const text = Buffer.from(Array.from({ length: 5_000 }, (_, at) => 97 + (at % 26))).toString();
  const archive = tarArchive([folderOf("x"), file(long, text), file("x/last", "end")]);
  const memory = Buffer.alloc(700);
  const source = (async function* () {
    for (let at = 0; at < archive.length; at += memory.length) yield memory.subarray(0, archive.copy(memory, 0, at));
  })();
  const options = {
    folder,
    expected: "x",
    top: "y",
    owners: false,
    maxBytes: 1e6,
    maxEntries: 100,
    onSkipped: () => {},
    onBytes: () => {},
  };
  await unpack(source, options);
  expect(readFileSync(join(folder, "y", "n".repeat(150)), "utf8")).toBe(text);
  expect(readFileSync(join(folder, "y", "last"), "utf8")).toBe("end");
});

const file = (name: string, text = "evil"): TarWrite => ({ name, data: Buffer.from(text) });
const folderOf = (name: string): TarWrite => ({ name: `${name}/`, type: "5", mode: 0o755 });
const linkTo = (name: string, link: string): TarWrite => ({ name, type: "2", link });

describe("an archive of a hostile node writes nothing outside of its folder", () => {
  const hostile: Readonly<Record<string, () => readonly TarWrite[]>> = {
    "a name with ..": () => [file("x/../../secret")],
    "an absolute name": () => [file(join(work, "secret"))],
    "another top name": () => [file(".bashrc")],
    "a symbolic link as a folder": () => [linkTo("x", work), file("x/secret")],
    "a deeper symbolic link as a folder": () => [folderOf("x"), linkTo("x/a", work), file("x/a/secret")],
    "a folder and then a link in its place": () => [folderOf("x"), folderOf("x/a"), linkTo("x/a", work), file("x/a/secret")],
    "a link, and a folder in its place": () => [folderOf("x"), linkTo("x/a", work), folderOf("x/a"), file("x/a/secret")],
    "a hard link out of the folder": () => [folderOf("x"), { name: "x/a", type: "1", link: "../secret" }],
    "a hard link to a file that was there": () => [folderOf("x"), { name: "x/a", type: "1", link: "x/mine" }],
    "a hard link through a symbolic link": () => [linkTo("x/d", work), { name: "x/a", type: "1", link: "x/d/secret" }],
  };
  test.each(Object.keys(hostile))("%s is refused", async (name) => {
    await expect(taken(hostile[name]!())).rejects.toMatchObject({ code: "unsafe_archive" });
    expect(readFileSync(join(work, "secret"), "utf8")).toBe("untouched");
    expect(existsSync(join(folder, ".bashrc"))).toBe(false);
  });

  test("a file after a link of the same name replaces the link, not the file behind it", async () => {
    await taken([folderOf("x"), linkTo("x/a", join(work, "secret")), file("x/a", "mine")]);
    expect([lstatSync(join(folder, "x/a")).isFile(), readFileSync(join(work, "secret"), "utf8")]).toEqual([true, "untouched"]);
  });

  test("links that exist on this machine are not followed", async () => {
    mkdirSync(join(folder, "x"));
    symlinkSync(join(work, "secret"), join(folder, "x/a"));
    await taken([file("x/a", "mine")]);
    expect([lstatSync(join(folder, "x/a")).isFile(), readFileSync(join(work, "secret"), "utf8")]).toEqual([true, "untouched"]);
    symlinkSync(work, join(folder, "x/d"));
    await expect(taken([file("x/d/secret")])).rejects.toMatchObject({ code: "unsafe_archive" });
    expect(readFileSync(join(work, "secret"), "utf8")).toBe("untouched");
  });

  test("a hard link of the folder is not written through", async () => {
    mkdirSync(join(folder, "x"));
    linkSync(join(work, "secret"), join(folder, "x/a"));
    await taken([file("x/a", "mine")]);
    expect(readFileSync(join(work, "secret"), "utf8")).toBe("untouched");
  });

  test("devices and FIFOs are left out, setuid bits are removed", async () => {
    await taken([
      folderOf("x"),
      { name: "x/sda", type: "4", device: [8, 0] },
      { name: "x/fifo", type: "6" },
      { ...file("x/su"), mode: 0o6755 },
    ]);
    expect(skipped).toEqual(["x/sda", "x/fifo"]);
    expect([existsSync(join(folder, "x/sda")), (lstatSync(join(folder, "x/su")).mode & 0o7777).toString(8)]).toEqual([false, "755"]);
  });

  test("more bytes or files than the limit are refused, and an incomplete file leaves the one that was there before", async () => {
    writeFileSync(join(folder, "x"), "before");
    await expect(taken([file("x", "a".repeat(1001))], { maxBytes: 1000 })).rejects.toMatchObject({ code: "too_large" });
    const cut = async function* () {
      yield tarArchive([file("x", "a".repeat(3000))]).subarray(0, 2000);
    };
    const options = {
      folder,
      expected: "x",
      top: "x",
      owners: false,
      maxBytes: 1e6,
      maxEntries: 9,
      onSkipped: () => {},
      onBytes: () => {},
    };
    await expect(unpack(cut(), options)).rejects.toMatchObject({ code: "bad_archive" });
    expect([readdirSync(folder), readFileSync(join(folder, "x"), "utf8")]).toEqual([["x"], "before"]);
    await taken([file("x", "after")]);
    expect([readdirSync(folder), readFileSync(join(folder, "x"), "utf8")]).toEqual([["x"], "after"]);
    await rm(join(folder, "x"));
    await expect(taken([folderOf("x"), file("x/a"), file("x/b")], { maxEntries: 2 })).rejects.toMatchObject({ code: "too_large" });
  });
});

test("what pack archives, unpack restores: names, bytes, modes, times, links and hard links", async () => {
  const source = join(work, "source");
  const long = "n".repeat(120);
  mkdirSync(join(source, "sub/empty"), { recursive: true });
  writeFileSync(join(source, "sub", long), "deep", { mode: 0o640 });
  writeFileSync(join(source, "größe"), Buffer.alloc(1_500_001, "xyz"), { mode: 0o755 });
  linkSync(join(source, "größe"), join(source, "hard"));
  symlinkSync("../nowhere", join(source, "sub/soft"));
  const onSkipped = (name: string) => skipped.push(name);
  const archive = pack(source, { name: "x", owners: false, onSkipped });
  const options = { folder, expected: "x", top: "copy", owners: false, maxBytes: 1e7, maxEntries: 100, onSkipped, onBytes: () => {} };
  await unpack(archive, options);
  const at = (name: string) => join(folder, "copy", name);
  expect(readFileSync(at(`sub/${long}`), "utf8")).toBe("deep");
  expect(readFileSync(at("größe")).equals(readFileSync(join(source, "größe")))).toBe(true);
  expect(lstatSync(at("größe")).ino).toBe(lstatSync(at("hard")).ino);
  expect(readlinkSync(at("sub/soft"))).toBe("../nowhere");
  expect(lstatSync(at("sub/empty")).isDirectory()).toBe(true);
  for (const name of ["größe", `sub/${long}`, "sub"]) {
    const [a, b] = [lstatSync(join(source, name)), lstatSync(at(name))];
    expect([b.mode, Math.floor(b.mtimeMs / 1000)]).toEqual([a.mode, Math.floor(a.mtimeMs / 1000)]);
  }
});
