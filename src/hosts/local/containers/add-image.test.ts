import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { testedProgram } from "../../../files/tested-program.fixture.ts";
import { findImages } from "../images/images.ts";
import { type AddedImage, type AddOptions, addImage } from "./add-image.ts";
import { ArchiveError } from "./archive/archive-error.ts";
import { unpackLimits } from "./archive/budget.ts";
import { type TarWrite, tarArchive } from "./archive/tar-writer.ts";
import { configOf, directory, dockerArchive, file, json, layoutFiles, sha256, tarOf, writeLayout } from "./archive.fixture.ts";
import { isWhiteout } from "./layer-tree.ts";
import { machinePlatform } from "./platform.ts";
import { removeImage } from "./remove-image.ts";
import { lockImages } from "./store-lock.ts";

const root = process.getuid?.() === 0;
const idBase = root ? 1_000_000 : undefined;

let top: string;
let images: string;
beforeEach(async () => {
  top = mkdtempSync(join(tmpdir(), "labwright-archive-"));
  images = join(top, "images");
  await mkdir(images);
});
afterEach(() => {
  rmSync(top, { recursive: true, force: true });
});

function add(data: Buffer | string, more: Partial<AddOptions> = {}): Promise<AddedImage> {
  const path = typeof data === "string" ? data : join(top, "image.tar");
  if (typeof data !== "string") writeFileSync(path, data);
  return addImage({
    file: path,
    directory: images,
    platform: machinePlatform(),
    replace: false,
    idBase,
    limits: unpackLimits,
    now: () => new Date("2026-01-01T00:00:00Z"),
    say: () => {},
    ...more,
  });
}

/** A root file system of these entries as an image. */
const rootfs = (entries: readonly TarWrite[], more: Partial<AddOptions> = {}) => add(tarArchive(entries), { name: "it", ...more });
const refusal = (promise: Promise<unknown>): Promise<ArchiveError> =>
  promise.then(
    () => Promise.reject(new Error("it was added")),
    (error) => (error instanceof ArchiveError ? error : Promise.reject(error)),
  );
/** The layers' trees, the lowest first. */
const trees = async (name: string) => (await findImages(images)).find((image) => image.name === name)!.layers.toReversed();
/** But for the lock, which stays. */
const left = () => readdirSync(images).filter((name) => name !== ".lock");

describe("an archive", () => {
  const low = tarArchive([directory("etc"), file("etc/motd", "low"), file("etc/keep", "kept")]);
  const high = tarArchive([directory("etc"), file("etc/motd", "high")]);
  const config = configOf([low, high], { Entrypoint: ["/init"], Cmd: ["a"], Env: ["A=b=c"], WorkingDir: "/srv", User: "web" });
  const wanted = { entrypoint: ["/init"], command: ["a"], env: { A: "b=c" }, workdir: "/srv", user: "web" };

  const forms: readonly (readonly [string, () => Buffer])[] = [
    ["docker saved before 25", () => dockerArchive([low, high], config)],
    [
      "docker saves since 25",
      () => {
        const files = layoutFiles([{ layers: [low, high], config, name: "test:1" }], "plain");
        files.set(
          "manifest.json",
          json([
            {
              Config: `blobs/sha256/${sha256(config)}`,
              RepoTags: ["test:1"],
              Layers: [low, high].map((one) => `blobs/sha256/${sha256(one)}`),
            },
          ]),
        );
        return tarOf(files);
      },
    ],
    ["an OCI layout of plain layers", () => tarOf(layoutFiles([{ layers: [low, high], config, name: "test:1" }], "plain"))],
    ["an OCI layout of gzip layers", () => tarOf(layoutFiles([{ layers: [low, high], config, name: "test:1" }], "gzip"))],
    [
      "an OCI layout of zstd layers, packed once more",
      () => gzipSync(tarOf(layoutFiles([{ layers: [low, high], config, name: "test:1" }], "zstd"))),
    ],
  ];
  test.each(forms)("as %s is read, with its name and what it runs", async (_, make) => {
    const { record } = await add(make());
    expect(record).toMatchObject({ name: "test:1", container: wanted });
    const [below, above] = await trees("test:1");
    expect(readFileSync(join(below!, "etc/motd"), "utf8")).toBe("low");
    expect(readFileSync(join(above!, "etc/motd"), "utf8")).toBe("high");
    expect(await findImages(images)).toEqual([expect.objectContaining({ name: "test:1", size: 7 + 4, container: wanted })]);
    expect((await stat(join(below!, "etc/motd"))).uid).toBe(idBase ?? process.getuid?.());
    expect(left().some((name) => name.startsWith("."))).toBe(false);
  });

  test("that is an OCI layout directory is read", async () => {
    await writeLayout(join(top, "layout"), layoutFiles([{ layers: [low, high], config }]));
    expect((await add(join(top, "layout"), { name: "it" })).record.layers).toHaveLength(2);
  });

  test("gives the image of the platform and skips attestations; without one the error lists the platforms", async () => {
    const other = machinePlatform() === "linux/amd64" ? "linux/arm64" : "linux/amd64";
    const both = [
      { layers: [high], config: configOf([high], { Cmd: ["other"] }, other), platform: other },
      { layers: [low], config: configOf([low], { Cmd: ["mine"] }), platform: machinePlatform() },
    ];
    expect((await add(tarOf(layoutFiles(both)), { name: "it" })).record.container?.command).toEqual(["mine"]);
    expect((await add(tarOf(layoutFiles(both)), { name: "that", platform: other })).record.container?.command).toEqual(["other"]);
    expect(await refusal(add(tarOf(layoutFiles(both.slice(0, 1)))))).toMatchObject({
      code: "wrong_platform",
      message: expect.stringContaining(other),
    });
    expect(await refusal(add(dockerArchive([low], configOf([low], {}, other))))).toMatchObject({ code: "wrong_platform" });
  });

  test("with several images needs --ref", async () => {
    const several = tarOf(
      layoutFiles([
        { layers: [low], config: configOf([low], { Cmd: ["one"] }), name: "one" },
        { layers: [high], config: configOf([high], { Cmd: ["two"] }), name: "two:latest" },
      ]),
    );
    expect(await refusal(add(several))).toMatchObject({ code: "ambiguous", message: expect.stringContaining("one, two:latest") });
    expect((await add(several, { ref: "two" })).record).toMatchObject({ name: "two:latest", container: { command: ["two"] } });
    expect(await refusal(add(several, { ref: "three" }))).toMatchObject({ code: "ambiguous", hint: expect.stringContaining("one") });
  });

  test.each([
    ["plain", (tar: Buffer) => tar],
    ["gzip", (tar: Buffer) => gzipSync(tar)],
    ["zstd", (tar: Buffer) => zstdCompressSync(tar)],
    ["xz", (tar: Buffer) => execFileSync("xz", ["-c"], { input: tar })],
  ])("of a root file system (%s) runs a shell", async (_, pack) => {
    const { record } = await add(pack(low), { name: "plain" });
    expect(record.container).toEqual({ entrypoint: [], command: ["/bin/sh"], env: {}, workdir: "/", user: "" });
    expect(readFileSync(join((await trees("plain"))[0]!, "etc/keep"), "utf8")).toBe("kept");
  });

  test.each([
    [
      "a config that is not its digest",
      () => {
        const files = layoutFiles([{ layers: [low], config: configOf([low]) }]);
        const path = `blobs/sha256/${sha256(configOf([low]))}`;
        files.set(path, Buffer.from(files.get(path)!.toString().replace("/bin/sh", "/bin/sx")));
        return tarOf(files);
      },
    ],
    [
      "a layer that is not its digest",
      () => {
        const files = layoutFiles([{ layers: [low], config: configOf([low]) }], "plain");
        const data = Buffer.from(files.get(`blobs/sha256/${sha256(low)}`)!);
        data.write("LOW", data.indexOf("low"));
        files.set(`blobs/sha256/${sha256(low)}`, data);
        return tarOf(files);
      },
    ],
    ["a layer that is not its diff id", () => dockerArchive([low], configOf([high]))],
    [
      "a layer that is shorter than its descriptor says",
      () => {
        const files = layoutFiles([{ layers: [low], config: configOf([low]) }], "plain");
        files.set(`blobs/sha256/${sha256(low)}`, low.subarray(0, low.length - 512));
        return tarOf(files);
      },
    ],
  ])("with %s is refused and leaves nothing", async (_, make) => {
    expect(await refusal(add(make()))).toMatchObject({ code: "digest_mismatch" });
    expect(left()).toEqual([]);
  });

  test.each([
    ["that is no tar", () => Buffer.from("hello".repeat(1000))],
    ["that is cut off", () => low.subarray(0, 700)],
    ["whose end is missing", () => low.subarray(0, low.length - 1024)],
    ["packed and cut off", () => gzipSync(low).subarray(0, 40)],
    ["packed with bzip2", () => Buffer.from("BZh91AY&SY...")],
    [
      "that lacks a layer",
      () => {
        const files = layoutFiles([{ layers: [low], config: configOf([low]) }], "plain");
        files.delete(`blobs/sha256/${sha256(low)}`);
        return tarOf(files);
      },
    ],
    ["with fewer layers than its configuration", () => dockerArchive([low], configOf([low, high]))],
    ["with a configuration of another form", () => dockerArchive([low], json({ rootfs: { type: "layers", diff_ids: "x" } }))],
    [
      "with a digest that is none",
      () =>
        tarOf(
          new Map([
            ["oci-layout", json({})],
            ["index.json", json({ manifests: [{ digest: "sha256:../../x", size: 1, mediaType: "" }] })],
          ]),
        ),
    ],
  ])("%s is refused and leaves nothing", async (_, make) => {
    expect(await refusal(add(make(), { name: "it" }))).toMatchObject({ code: "bad_archive" });
    expect(left()).toEqual([]);
  });

  test("with a name that an intent cannot say needs another", async () => {
    expect(await refusal(add(low, { name: "a b" }))).toMatchObject({ code: "bad_name" });
    expect(await refusal(add(low, { name: "default" }))).toMatchObject({ code: "bad_name" });
    expect(await refusal(add(join(top, "absent.tar")))).toMatchObject({ code: "not_found" });
  });
});

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
    const outside = join(top, "outside");
    writeFileSync(outside, "untouched");
    await rootfs([
      { name: "esc", type: "2", link: `${top}` },
      file("esc/outside", "inside"),
      { name: "up", type: "2", link: "../../../../../../.." },
      file("up/etc/x", "x"),
      { name: "target", type: "2", link: outside },
      file("target", "a file of its own"),
      file("/absolute", "y"),
    ]);
    const [tree] = await trees("it");
    expect(readFileSync(outside, "utf8")).toBe("untouched");
    expect(readFileSync(join(tree!, top, "outside"), "utf8")).toBe("inside");
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
    const outside = readdirSync(top).sort();
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
      { numRuns: 150 },
    );
    expect(
      readdirSync(top)
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

describe("images in the directory", () => {
  const shared = tarArchive([file("base", "base")]);
  const one = tarArchive([file("one", "one")]);
  const two = tarArchive([file("two", "two")]);
  const layerCount = () => left().filter((name) => name.startsWith("layer-")).length;

  test("share the layers of a common base; the last that has one takes it along", async () => {
    await add(dockerArchive([shared, one], configOf([shared, one]), ["one"]));
    await add(tarOf(layoutFiles([{ layers: [shared, two], config: configOf([shared, two]), name: "two" }], "zstd")));
    expect(layerCount()).toBe(3);
    expect((await trees("one"))[0]).toBe((await trees("two"))[0]);
    await removeImage(images, top, "one");
    expect(layerCount()).toBe(2);
    await removeImage(images, top, "two");
    expect(left()).toEqual([]);
    expect(await refusal(removeImage(images, top, "two"))).toMatchObject({ code: "not_found" });
  });

  test("stay when the same comes again; another of the name takes its place only when asked to", async () => {
    const archive = dockerArchive([shared], configOf([shared]));
    expect((await add(archive)).unchanged).toBe(false);
    expect((await add(archive)).unchanged).toBe(true);
    const other = dockerArchive([shared, one], configOf([shared, one]));
    expect(await refusal(add(other))).toMatchObject({ code: "exists" });
    expect((await findImages(images)).map((image) => image.layers.length)).toEqual([1]);
    await add(other, { replace: true });
    expect((await findImages(images)).map((image) => image.layers.length)).toEqual([2]);
  });

  test("that a lab uses are not removed", async () => {
    await add(shared, { name: "it" });
    await mkdir(join(top, "labs/x"), { recursive: true });
    writeFileSync(join(top, "labs/x/lab.json"), JSON.stringify({ path: "/mine", nodes: [{ image: "it" }] }));
    expect(await refusal(removeImage(images, top, "it"))).toMatchObject({ code: "in_use", message: expect.stringContaining("/mine") });
    writeFileSync(join(top, "labs/x/lab.json"), "{");
    expect(await refusal(removeImage(images, top, "it"))).toMatchObject({ code: "in_use" });
    expect(await findImages(images)).toHaveLength(1);
  });

  test("are seen whole or not at all: what a killed program left is gone with the next", async () => {
    const big = join(top, "big.tar");
    writeFileSync(big, tarArchive(Array.from({ length: 3000 }, (_, i) => file(`f${i}`, "x".repeat(4000)))));
    const program = testedProgram("hosts/local/containers/main");
    const env = { ...process.env, LABWRIGHT_STATE_DIR: top, LABWRIGHT_IMAGE_DIR: images };
    const begun = () =>
      left().some((name) => name.startsWith(".add-") && entriesOf(join(images, name)).some((one) => one.startsWith("layer-")));
    // One that has done all of its work before it is killed is no such program.
    for (let tries = 1; ; tries++) {
      const child = spawn(process.execPath, [program, "add", big, "--name", "big"], { env, stdio: "ignore" });
      const ended = once(child, "exit");
      while (!begun() && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 2));
      child.kill("SIGKILL");
      await ended;
      if ((await findImages(images)).length === 0) break;
      expect(tries).toBeLessThan(10);
      await removeImage(images, top, "big");
    }
    expect(left().some((name) => name.startsWith(".add-"))).toBe(true);
    await add(shared, { name: "next" });
    expect(left().filter((name) => name.startsWith("."))).toEqual([]);
    expect((await findImages(images)).map((image) => image.name)).toEqual(["next"]);
  });

  test("are added and removed by one process at a time", async () => {
    await add(shared, { name: "it" });
    {
      await using _lock = await lockImages(images);
      expect(await refusal(add(shared, { name: "second" }))).toMatchObject({ code: "busy" });
      expect(await refusal(removeImage(images, top, "it"))).toMatchObject({ code: "busy" });
    }
    expect((await add(shared, { name: "second" })).record.name).toBe("second");
  });

  test("are locked by one of many who find the lock of a process that was killed", async () => {
    const script = `const { lockImages } = await import(${JSON.stringify(new URL("store-lock.ts", import.meta.url).href)});
      await lockImages(${JSON.stringify(images)}); console.log("locked");`;
    const other = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const gone = once(other, "close");
    await once(other.stdout, "data");
    expect(await refusal(lockImages(images))).toMatchObject({ code: "busy", message: expect.stringContaining(`process ${other.pid} `) });
    other.kill("SIGKILL");
    await gone;
    const all = await vi.waitUntil(
      async () => {
        const tried = await Promise.allSettled(Array.from({ length: 8 }, () => lockImages(images)));
        return tried.some(({ status }) => status === "fulfilled") && tried;
      },
      { timeout: 40_000 },
    );
    const locks = all.filter((one) => one.status === "fulfilled");
    expect(locks).toHaveLength(1);
    await locks[0]!.value[Symbol.asyncDispose]();
    await using _next = await lockImages(images);
  });

  test("leave nothing when adding them is broken off", async () => {
    const stop = new AbortController();
    let layers = 0;
    const say = () => {
      if (++layers === 2) stop.abort(new ArchiveError("interrupted", "enough"));
    };
    const archive = dockerArchive([shared, one], configOf([shared, one]));
    expect(await refusal(add(archive, { signal: stop.signal, say }))).toMatchObject({ code: "interrupted" });
    expect(left()).toEqual([]);
  });

  test("of a layout whose blob is a link to a file of the machine are refused", async () => {
    await writeLayout(join(top, "layout"), layoutFiles([{ layers: [shared], config: configOf([shared]) }], "plain"));
    const blob = join(top, "layout/blobs/sha256", sha256(shared));
    writeFileSync(join(top, "elsewhere"), shared);
    rmSync(blob);
    symlinkSync(join(top, "elsewhere"), blob);
    expect(readlinkSync(blob)).toBe(join(top, "elsewhere"));
    expect(await refusal(add(join(top, "layout")))).toMatchObject({ code: "bad_archive" });
  });
});

/** The names in a directory; none if it does not exist. */
function entriesOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
