import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";
import { type TarWrite, tarArchive } from "../../../../files/tar/tar-writer.ts";
import { unpackLimits } from "../archive/budget.ts";
import { isWhiteout } from "../store/layer-tree.ts";
import type { AddedImage } from "../store/store-image.ts";
import { refusal, testImages } from "./add-image.fixture.ts";
import { configOf, directory, dockerArchive, file } from "./archive.fixture.ts";

const root = process.getuid?.() === 0;
const at = testImages();
const { add, rootfs, trees, left } = at;

describe("unpacking", () => {
  test.each([
    ["a name that leads upwards", [file("../evil", "x")]],
    ["a name that leads upwards on its way", [file("a/../../evil", "x")]],
    [
      "a hard link out of the image",
      [
        { name: "etc", type: "2", link: "/etc" },
        { name: "mine", type: "1", link: "etc/hostname" },
      ],
    ],
    ["a hard link upwards", [{ name: "mine", type: "1", link: "../../../../../etc/hostname" }]],
    [
      "a hard link to a device, which was left out",
      [
        { name: "d", type: "3" },
        { name: "mine", type: "1", link: "d" },
      ],
    ],
    ["a link in a circle on the way", [{ name: "a", type: "2", link: "b" }, { name: "b", type: "2", link: "a" }, file("a/x", "x")]],
    ["a file on the way", [file("a", "x"), file("a/b", "x")]],
    ["a name that is too long", [file("x".repeat(300), "x")]],
    ["a path that is too long", [file("x/".repeat(2000), "x")]],
    ["a whiteout of its own parent", [file("a/.wh...", "")]],
  ] as readonly (readonly [string, readonly TarWrite[]])[])("refuses %s and leaves nothing", async (_, entries) => {
    expect(await refusal(rootfs(entries))).toMatchObject({ code: "unsafe_archive" });
    expect(left()).toEqual([]);
  });

  test("makes a hard link to a symbolic link another symbolic link with the same target", async () => {
    await rootfs([
      { name: "V", type: "V" },
      { name: "l", type: "2", link: "/etc/hostname" },
      { name: "mine", type: "1", link: "l" },
      { name: "turned", type: "1", link: "mine" },
    ]);
    const [tree] = await trees("it");
    for (const name of ["l", "mine", "turned"]) expect(readlinkSync(join(tree!, name))).toBe("/etc/hostname");
    expect(readdirSync(tree!).sort()).toEqual(["l", "mine", "turned"]);
  });

  test("follows links only within the image, and never writes through one that it replaces", async () => {
    const outside = join(at.top, "outside");
    writeFileSync(outside, "untouched");
    await rootfs([
      { name: "esc", type: "2", link: `${at.top}` },
      file("esc/outside", "inside"),
      { name: "up", type: "2", link: "../../../../../../.." },
      file("up/etc/x", "x"),
      { name: "target", type: "2", link: outside },
      file("target", "a file of its own"),
      file("/absolute", "y"),
    ]);
    const [tree] = await trees("it");
    expect(readFileSync(outside, "utf8")).toBe("untouched");
    expect(readFileSync(join(tree!, at.top, "outside"), "utf8")).toBe("inside");
    expect(readFileSync(join(tree!, "etc/x"), "utf8")).toBe("x");
    expect(lstatSync(join(tree!, "target")).isFile()).toBe(true);
    expect(readFileSync(join(tree!, "absolute"), "utf8")).toBe("y");
    expect(existsSync("/etc/x")).toBe(false);
  });

  test.runIf(root)("keeps modes and owners within the labs' range, and leaves devices and attributes out", async () => {
    const pax = "31 SCHILY.xattr.security.x=abc\n".replace(/^\d+/, (n) => n);
    const { notes } = await rootfs([
      file("suid", "x", { mode: 0o4755, uid: 12, gid: 34 }),
      { name: "x", type: "x", data: Buffer.from(pax) },
      file("caps", "x"),
      { name: "disk", type: "4", device: [8, 0] },
      { name: "hole", type: "3", device: [0, 0] },
      { name: "pipe", type: "6", mode: 0o640 },
      file("stranger", "x", { uid: 100_000 }),
      { name: "again", type: "1", link: "suid" },
      file("n\xe4me", "latin1"),
    ]);
    const [tree] = await trees("it");
    const suid = lstatSync(join(tree!, "suid"));
    expect(suid).toMatchObject({ uid: 1_000_012, gid: 1_000_034, nlink: 2 });
    expect(suid.mode & 0o7777).toBe(0o4755);
    expect(lstatSync(join(tree!, "stranger")).uid).toBe(1_065_534);
    expect(lstatSync(join(tree!, "pipe")).isFIFO()).toBe(true);
    expect(existsSync(join(tree!, "disk")) || existsSync(join(tree!, "hole"))).toBe(false);
    expect(readdirSync(Buffer.from(tree!), "latin1")).toContain("n\xe4me");
    expect(notes.join("; ")).toMatch(/2 device nodes.*1 extended attributes.*1 owners/);
  });

  test("makes whiteouts and opaque directories overlay's own, over just the layers below", async () => {
    const low = tarArchive([
      directory("a"),
      file("a/1", "1"),
      file("a/2", "2"),
      directory("a/deep"),
      file("a/deep/3", "3"),
      file("b", "b"),
      file("c", "c"),
    ]);
    const high = tarArchive([
      file(".wh.b", ""),
      file(".wh.absent", ""),
      file(".wh.c", ""),
      directory("c"),
      file("a/.wh..wh..opq", ""),
      file("a/1", "new"),
      file("a/deep/4", "4"),
      file(".wh..wh.plnk", ""),
    ]);
    await add(dockerArchive([low, high], configOf([low, high])));
    const [, above] = await trees("test:1");
    const whiteouts = (readdirSync(above!, { recursive: true }) as string[])
      .filter((name) => isWhiteout(lstatSync(join(above!, name))))
      .sort();
    expect(whiteouts).toEqual(["a/2", "a/deep/3", "b"]);
    expect(readdirSync(above!).sort()).toEqual(["a", "b", "c"]);
    expect(readFileSync(join(above!, "a/1"), "utf8")).toBe("new");
  });

  test("counts the blocks that small files take on the disk", async () => {
    const small = Array.from({ length: 30 }, (_, i) => file(`f${i}`, "x"));
    expect(await refusal(rootfs(small, { limits: { ...unpackLimits, bytes: 99_999 } }))).toMatchObject({ code: "too_large" });
    expect((await rootfs(small)).record.size_bytes).toBe(30 * 4096);
  });

  test("makes one special file of a path that several entries hide or replace", async () => {
    const low = tarArchive([directory("a"), file("a/1", "1"), file("b", "b"), file("c", "c")]);
    const fifo = (name: string) => ({ name, type: "6" }) as const;
    const high = tarArchive([
      file(".wh..wh..opq", ""),
      file(".wh.b", ""),
      fifo("c"),
      fifo("d"),
      fifo("d"),
      fifo("e"),
      file("e", "a file in the end"),
    ]);
    await add(dockerArchive([low, high], configOf([low, high])));
    const [, above] = await trees("test:1");
    const kinds = readdirSync(above!)
      .sort()
      .map((name) => {
        const stats = lstatSync(join(above!, name));
        return `${name} ${isWhiteout(stats) ? "whiteout" : stats.isFIFO() ? "fifo" : "file"}`;
      });
    expect(kinds).toEqual(["a whiteout", "b whiteout", "c fifo", "d fifo", "e file"]);
  });

  test("writes entries behind a link of the layer below to the target of the link", async () => {
    const low = tarArchive([
      directory("usr"),
      directory("usr/lib", 0o711),
      { name: "lib", type: "2", link: "usr/lib" },
      file("usr/lib/old", "old", { mode: 0o600 }),
    ]);
    const high = tarArchive([file("lib/x", "x"), { name: "lib/second", type: "1", link: "usr/lib/old" }]);
    await add(dockerArchive([low, high], configOf([low, high])));
    const [, above] = await trees("test:1");
    expect(readFileSync(join(above!, "usr/lib/x"), "utf8")).toBe("x");
    expect(readFileSync(join(above!, "usr/lib/second"), "utf8")).toBe("old");
    expect(lstatSync(join(above!, "usr/lib")).mode & 0o777).toBe(0o711);
    expect(lstatSync(join(above!, "usr/lib/second")).mode & 0o777).toBe(0o600);
    expect(existsSync(join(above!, "lib"))).toBe(false);
  });

  test("ends at each limit, and leaves nothing", async () => {
    const limit = (limits: Partial<typeof unpackLimits>) => ({ limits: { ...unpackLimits, ...limits } });
    expect(await refusal(rootfs([file("a", "x".repeat(100_000))], limit({ bytes: 99_999 })))).toMatchObject({ code: "too_large" });
    expect(await refusal(rootfs([file("a", ""), file("b", "")], limit({ entries: 1 })))).toMatchObject({ code: "too_large" });
    const bomb = gzipSync(tarArchive([{ name: "zeros", data: Buffer.alloc(8 << 20) }]));
    expect(await refusal(add(bomb, { name: "it", ...limit({ ratioFrom: 1 << 20 }) }))).toMatchObject({
      code: "too_large",
      message: expect.stringContaining("300 times"),
    });
    const many = Array.from({ length: 100 }, (_, i) => tarArchive([file(`${i}`, "")]));
    expect(await refusal(add(dockerArchive(many, configOf(many))))).toMatchObject({
      code: "too_large",
      message: expect.stringContaining("100 layers"),
    });
    expect(left()).toEqual([]);
  });

  test("takes any mutation of an archive as what it is: an image, or refused with nothing left", async () => {
    const outside = readdirSync(at.top).sort();
    const good = tarArchive([
      directory("d"),
      file("d/f", "text"),
      { name: "l", type: "2", link: "d/f" },
      { name: "h", type: "1", link: "d/f" },
      file(`${"n".repeat(90)}/${"m".repeat(60)}`, "long"),
    ]);
    const change = fc.record({ at: fc.nat(good.length - 1), byte: fc.nat(255) });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), fc.option(fc.nat(good.length)), async (changes, cut) => {
        const data = Buffer.from(good.subarray(0, cut ?? good.length));
        for (const { at, byte } of changes) if (at < data.length) data[at] = byte;
        const fixed = withChecksums(data);
        const outcome = await add(fixed, { name: "it", replace: true }).catch((error) => error);
        if (outcome instanceof ArchiveError) expect(left().filter((name) => name.startsWith("."))).toEqual([]);
        else expect((outcome as AddedImage).record?.name, String((outcome as Error).stack)).toBe("it");
      }),
      { numRuns: 25 },
    );
    expect(
      readdirSync(at.top)
        .filter((name) => name !== "image.tar")
        .sort(),
    ).toEqual(outside);
  });
});

/** So that mutations reach past the checksum. */
function withChecksums(data: Buffer): Buffer {
  for (let at = 0; at + 512 <= data.length; at += 512) {
    const block = data.subarray(at, at + 512);
    if (block.toString("latin1", 257, 262) !== "ustar") continue;
    block.fill(0x20, 148, 156);
    block.write(
      `${block
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, "0")}\0 `,
      148,
      "latin1",
    );
  }
  return data;
}
