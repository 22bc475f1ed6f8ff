import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";
import { tarArchive } from "../../../../files/tar/tar-writer.ts";
import { testedProgram } from "../../../../files/tested-program.fixture.ts";
import { findImages, readImages } from "../../images/images.ts";
import { pruneImages } from "../prune-images.ts";
import { removeImage } from "../remove-image.ts";
import { lockImages } from "../store/store-lock.ts";
import { refusal, testImages } from "./add-image.fixture.ts";
import { configOf, dockerArchive, file, layoutFiles, sha256, tarOf, writeLayout } from "./archive.fixture.ts";

const at = testImages();
const { add, left, trees } = at;

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
    await removeImage(at.images, at.top, "one");
    expect(layerCount()).toBe(2);
    await removeImage(at.images, at.top, "two");
    expect(left()).toEqual([]);
    expect(await refusal(removeImage(at.images, at.top, "two"))).toMatchObject({ code: "not_found" });
  });

  test("stay when the same comes again; another of the name takes its place only when asked to", async () => {
    const archive = dockerArchive([shared], configOf([shared]));
    expect((await add(archive)).unchanged).toBe(false);
    expect((await add(archive)).unchanged).toBe(true);
    const other = dockerArchive([shared, one], configOf([shared, one]));
    expect(await refusal(add(other))).toMatchObject({ code: "exists" });
    expect((await findImages(at.images)).map((image) => image.layers.length)).toEqual([1]);
    await add(other, { replace: true });
    expect((await findImages(at.images)).map((image) => image.layers.length)).toEqual([2]);
  });

  test("that a lab uses are not removed", async () => {
    await add(shared, { name: "it" });
    await mkdir(join(at.top, "labs/x"), { recursive: true });
    writeFileSync(join(at.top, "labs/x/lab.json"), JSON.stringify({ path: "/mine", nodes: [{ image: "it" }] }));
    expect(await refusal(removeImage(at.images, at.top, "it"))).toMatchObject({
      code: "in_use",
      message: expect.stringContaining("/mine"),
    });
    writeFileSync(join(at.top, "labs/x/lab.json"), "{");
    expect(await refusal(removeImage(at.images, at.top, "it"))).toMatchObject({ code: "in_use" });
    expect(await findImages(at.images)).toHaveLength(1);
  });

  test("are seen whole or not at all: what a killed program left is gone with the next", async () => {
    const big = join(at.top, "big.tar");
    writeFileSync(big, tarArchive(Array.from({ length: 3000 }, (_, i) => file(`f${i}`, "x".repeat(4000)))));
    const program = testedProgram("hosts/local/containers/main");
    const env = { ...process.env, LABWRIGHT_STATE_DIR: at.top, LABWRIGHT_IMAGE_DIR: at.images };
    const begun = () =>
      left().some((name) => name.startsWith(".add-") && entriesOf(join(at.images, name)).some((one) => one.startsWith("layer-")));
    // One that has done all of its work before it is killed is not such a program.
    for (let tries = 1; ; tries++) {
      const child = spawn(process.execPath, [program, "add", big, "--name", "big"], { env, stdio: "ignore" });
      const ended = once(child, "exit");
      while (!begun() && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 2));
      child.kill("SIGKILL");
      await ended;
      if ((await findImages(at.images)).length === 0) break;
      expect(tries).toBeLessThan(10);
      await removeImage(at.images, at.top, "big");
    }
    expect(left().some((name) => name.startsWith(".add-"))).toBe(true);
    await add(shared, { name: "next" });
    expect(left().filter((name) => name.startsWith("."))).toEqual([]);
    expect((await findImages(at.images)).map((image) => image.name)).toEqual(["next"]);
  });

  test("are added and removed by one process at a time", async () => {
    await add(shared, { name: "it" });
    {
      await using _lock = await lockImages(at.images);
      expect(await refusal(add(shared, { name: "second" }))).toMatchObject({ code: "busy" });
      expect(await refusal(removeImage(at.images, at.top, "it"))).toMatchObject({ code: "busy" });
    }
    expect((await add(shared, { name: "second" })).record.name).toBe("second");
  });

  test("are locked by one of many who find the lock of a process that was killed", async () => {
    const script = `const { lockImages } = await import(${JSON.stringify(new URL("../store/store-lock.ts", import.meta.url).href)});
      await lockImages(${JSON.stringify(at.images)}); console.log("locked");`;
    const other = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    const gone = once(other, "close");
    await once(other.stdout, "data");
    expect(await refusal(lockImages(at.images))).toMatchObject({ code: "busy", message: expect.stringContaining(`process ${other.pid} `) });
    other.kill("SIGKILL");
    await gone;
    const all = await vi.waitUntil(
      async () => {
        const tried = await Promise.allSettled(Array.from({ length: 8 }, () => lockImages(at.images)));
        return tried.some(({ status }) => status === "fulfilled") && tried;
      },
      { timeout: 40_000 },
    );
    const locks = all.filter((one) => one.status === "fulfilled");
    expect(locks).toHaveLength(1);
    await locks[0]!.value[Symbol.asyncDispose]();
    await using _next = await lockImages(at.images);
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
    await writeLayout(join(at.top, "layout"), layoutFiles([{ layers: [shared], config: configOf([shared]) }], "plain"));
    const blob = join(at.top, "layout/blobs/sha256", sha256(shared));
    writeFileSync(join(at.top, "elsewhere"), shared);
    rmSync(blob);
    symlinkSync(join(at.top, "elsewhere"), blob);
    expect(readlinkSync(blob)).toBe(join(at.top, "elsewhere"));
    expect(await refusal(add(join(at.top, "layout")))).toMatchObject({ code: "bad_archive" });
  });
});

describe("a damaged image", () => {
  const base = tarArchive([file("base", "base")]);
  const one = tarArchive([file("one", "one")]);
  const archive = dockerArchive([base, one], configOf([base, one]), ["one"]);
  const entryOf = (start: string) => left().find((name) => name.startsWith(start))!;

  test.each(['{"name": "on', "null", "[]", '{"name":"x","digest":"1","created":"2026","layers":["../../etc"]}'])(
    "with the record %s hides no other image, and comes again with its file or goes with prune",
    async (text) => {
      await add(base, { name: "other" });
      await add(archive);
      writeFileSync(join(at.images, entryOf(`container-${(await digestOf("one")).slice(0, 12)}`), "image.json"), text);
      const { images, problems } = await readImages(at.images);
      expect(images.map(({ name }) => name)).toEqual(["other"]);
      expect(problems).toEqual([
        expect.stringMatching(/container-[0-9a-f]{12} is damaged: image\.json .*; labwright image prune removes it/),
      ]);
      // The layers stay: the record may only be unreadable for a moment.
      await add(base, { name: "third" });
      expect(left().filter((name) => name.startsWith("layer-"))).toHaveLength(2);
      expect((await add(archive)).unchanged).toBe(false);
      expect(await readImages(at.images)).toMatchObject({ images: [{ name: "one" }, { name: "other" }, { name: "third" }], problems: [] });
      writeFileSync(join(at.images, entryOf(`container-${(await digestOf("one")).slice(0, 12)}`), "image.json"), text);
      expect((await pruneImages(at.images, at.top, { all: false, dry: false })).images).toEqual([expect.stringMatching(/^container-/)]);
      expect(left().filter((name) => name.startsWith("layer-"))).toHaveLength(1);
    },
  );

  test("without one of its layers is named, is complete again with its file, and can be removed", async () => {
    await add(archive);
    const removeTop = async () => rmSync(join((await trees("one")).at(-1)!, ".."), { recursive: true });
    await removeTop();
    const { images, problems } = await readImages(at.images);
    expect(images).toEqual([]);
    expect(problems).toEqual([expect.stringMatching(/^image one lacks layer-[0-9a-f]{24}: add its file again/)]);
    expect((await add(archive)).unchanged).toBe(false);
    expect((await trees("one")).map((tree) => readdirSync(tree))).toEqual([["base"], ["one"]]);
    await removeTop();
    await removeImage(at.images, at.top, "one");
    expect(left()).toEqual([]);
  });

  test("whose layer has no readable record gets this layer again", async () => {
    await add(archive);
    const top = join((await trees("one")).at(-1)!, "..");
    writeFileSync(join(top, "layer.json"), "");
    await add(dockerArchive([base, one], configOf([base, one]), ["two"]));
    expect(JSON.parse(readFileSync(join(top, "layer.json"), "utf8"))).toMatchObject({ size_bytes: 4096 });
    expect((await trees("two")).map((tree) => readdirSync(tree))).toEqual([["base"], ["one"]]);
  });

  async function digestOf(name: string): Promise<string> {
    return (await findImages(at.images)).find((image) => image.name === name)!.digest;
  }
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
