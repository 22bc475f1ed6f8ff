import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findImages } from "../../images/images.ts";
import { addImage } from "../add-image.ts";
import { unpackLimits } from "../archive/budget.ts";
import { machinePlatform } from "../platform.ts";
import { pruneImages } from "../prune-images.ts";
import { diskUse } from "../store/disk-use.ts";
import { dockerArchive } from "./archive.fixture.ts";
import { failure, imageOf, pullTest } from "./pull.fixture.ts";
import { pusher, TestRegistry } from "./registry.fixture.ts";

const at = pullTest();
const top = mkdtempSync(join(tmpdir(), "labwright-registry-"));
let registry: TestRegistry;
let plain: TestRegistry;

beforeAll(async () => {
  [registry, plain] = await Promise.all([TestRegistry.start(join(top, "private")), TestRegistry.start(join(top, "plain"), "plain")]);
});

afterAll(async () => {
  await Promise.all([registry.stop(), plain.stop()]);
  rmSync(top, { recursive: true });
});

/** Opens the private registry, signed in. */
async function open(): Promise<void> {
  at.use(registry.host, { ca: registry.ca });
  await at.login(registry.host, pusher.user, pusher.password);
}

const base = ["etc/base", "base"] as const;

describe("an image of a private registry with TLS", () => {
  test("is pulled by its tag, with the digests of all parts checked", async () => {
    const digest = await registry.push("team/app:1", imageOf(base, ["app", "one"]));
    await open();
    const name = `${registry.host}/team/app:1`;
    const { record, unchanged } = await at.pull(name, { by: "ann" });
    expect(unchanged).toBe(false);
    expect(record).toMatchObject({ name, pulled: { registry: registry.host, digest, by: "ann", at: "2026-01-01T00:00:00.000Z" } });
    const [image] = await findImages(at.images);
    expect(image?.layers.map((layer) => [readIf(join(layer, "app")), readIf(join(layer, "etc/base"))])).toEqual([
      ["one", ""],
      ["", "base"],
    ]);
    expect(at.downloads()).toEqual([]);
    expect(at.texts.at(-1)).toBe("unpacking layer 2 of 2");
  });

  test("is chosen from an index by the machine's platform", async () => {
    await registry.push("team/multi:1", imageOf(["here", "x"]), ["linux/s390x", machinePlatform(), "unknown/unknown"]);
    await registry.push("team/other:1", imageOf(["here", "x"]), ["linux/s390x", "linux/riscv64"]);
    await open();
    expect((await at.pull(`${registry.host}/team/multi:1`)).record.layers).toHaveLength(1);
    expect(await failure(at.pull(`${registry.host}/team/other:1`))).toMatchObject({
      code: "wrong_platform",
      message: expect.stringContaining("is for linux/riscv64, linux/s390x, not for"),
    });
  });

  test("is refused without its password, with the next step", async () => {
    await registry.push("team/app:1", imageOf(base));
    at.use(registry.host, { ca: registry.ca });
    const refusal = await failure(at.pull(`${registry.host}/team/app:1`));
    expect(refusal).toMatchObject({ code: "unauthorized", hint: expect.stringContaining(`labwright registry login ${registry.host}`) });
    await at.login(registry.host, pusher.user, "wrong");
    expect(await failure(at.pull(`${registry.host}/team/app:1`))).toMatchObject({ code: "unauthorized" });
    expect(await findImages(at.images)).toEqual([]);
  });

  test("is refused if the registry's certificate is not trusted", async () => {
    at.use(registry.host);
    await at.login(registry.host, pusher.user, pusher.password);
    expect(await failure(at.pull(`${registry.host}/team/app:1`))).toMatchObject({
      code: "not_allowed",
      message: expect.stringContaining("not trusted"),
    });
  });

  test("that the registry does not have gives not_found", async () => {
    await open();
    expect(await failure(at.pull(`${registry.host}/team/none:1`))).toMatchObject({ code: "not_found" });
    expect(await failure(at.pull(`${registry.host}/team/none`))).toMatchObject({ message: expect.stringContaining("team/none:latest") });
  });
});

test("a registry without TLS is used only if the administrator allows that", async () => {
  await plain.push("app:1", imageOf(base));
  at.use(plain.host);
  expect(await failure(at.pull(`${plain.host}/app:1`))).toMatchObject({
    code: "unreachable",
    hint: expect.stringContaining("--plain-http"),
  });
  at.use(plain.host, { plainHttp: true });
  expect((await at.pull(`${plain.host}/app:1`)).record.layers).toHaveLength(1);
});

test("a name without a registry is an image of the default registry, and a digest pins it", async () => {
  const digest = await plain.push("frr/frr:10", imageOf(base));
  at.use(plain.host, { plainHttp: true });
  expect(await failure(at.pull("frr/frr:10"))).toMatchObject({
    code: "bad_name",
    hint: expect.stringContaining("labwright registry default"),
  });
  at.settings = { ...at.settings, defaultRegistry: plain.host };
  expect((await at.pull("frr/frr:10")).record).toMatchObject({ name: "frr/frr:10", pulled: { registry: plain.host, digest } });
  expect((await at.pull(`frr/frr@sha256:${digest}`)).record.pulled?.digest).toBe(digest);
});

describe("layers", () => {
  test("that another image has are not downloaded again, and are kept once", async () => {
    await plain.push("one:1", imageOf(base, ["one", "1"]));
    await plain.push("two:1", imageOf(base, ["two", "2"]));
    at.use(plain.host, { plainHttp: true });
    await at.pull(`${plain.host}/one:1`);
    await at.pull(`${plain.host}/two:1`);
    expect(at.texts.filter((text) => text.startsWith("downloaded")).at(-1)).toMatch(/1 of 1 layers$/);
    expect(await diskUse(at.images)).toMatchObject({ layers: 3 });
  });

  test("are as many as the administrator allows, and no more", async () => {
    await plain.push("deep:1", imageOf(base, ["a", "1"], ["b", "1"]));
    at.use(plain.host, { plainHttp: true }, { layers: 2 });
    expect(await failure(at.pull(`${plain.host}/deep:1`))).toMatchObject({
      code: "too_large",
      message: "the image has 3 layers; here are at most 2",
    });
    expect(at.downloads()).toEqual([]);
  });
});

describe("an image that is here", () => {
  test("is pulled again only by always, and only if the tag has moved", async () => {
    await plain.push("moving:1", imageOf(["v", "1"]));
    at.use(plain.host, { plainHttp: true });
    const name = `${plain.host}/moving:1`;
    await at.pull(name);
    await plain.push("moving:1", imageOf(["v", "2"]));
    expect((await at.pull(name)).unchanged).toBe(true);
    expect(await content(name, "v")).toBe("1");
    expect((await at.pull(name, { always: true })).unchanged).toBe(false);
    expect(await content(name, "v")).toBe("2");
    expect((await at.pull(name, { always: true })).unchanged).toBe(true);
  });

  test("but lacks a layer is pulled again, this layer alone", async () => {
    await plain.push("lacking:1", imageOf(base, ["v", "1"]));
    at.use(plain.host, { plainHttp: true });
    const name = `${plain.host}/lacking:1`;
    await at.pull(name);
    const [image] = await findImages(at.images);
    rmSync(join(image!.layers[0]!, ".."), { recursive: true });
    expect(await findImages(at.images)).toEqual([]);
    expect((await at.pull(name)).unchanged).toBe(false);
    expect(await content(name, "v")).toBe("1");
    expect(at.texts.filter((text) => text.startsWith("downloaded")).at(-1)).toMatch(/1 of 1 layers$/);
    expect((await at.pull(name)).unchanged).toBe(true);
  });

  test("from a file is not replaced by one of a registry", async () => {
    const archive = join(at.state, "it.tar");
    const { config } = imageOf(["v", "1"]);
    writeFileSync(
      archive,
      dockerArchive([], Buffer.from(String(config).replace(/"diff_ids":\[[^\]]*\]/, '"diff_ids":[]')), [`${plain.host}/file:1`]),
    );
    const options = {
      file: archive,
      directory: at.images,
      platform: machinePlatform(),
      replace: false,
      idBase: undefined,
      limits: unpackLimits,
    };
    await addImage({ ...options, now: () => new Date(), say: () => {} });
    at.use(plain.host, { plainHttp: true });
    expect(await failure(at.pull(`${plain.host}/file:1`, { always: true }))).toMatchObject({ code: "exists" });
  });
});

describe("the disk", () => {
  test("of a user is limited by the images that the user was the first to pull", async () => {
    await plain.push("large:1", imageOf(["a", "x".repeat(5000)]));
    await plain.push("large:2", imageOf(["b", "y".repeat(5000)]));
    at.use(plain.host, { plainHttp: true }, { userBytes: 12_000 });
    await at.pull(`${plain.host}/large:1`, { by: "ann" });
    const refusal = await failure(at.pull(`${plain.host}/large:2`, { by: "ann" }));
    expect(refusal).toMatchObject({ code: "too_large" });
    expect(at.leftWork()).toEqual([]);
    await at.pull(`${plain.host}/large:2`, { by: "bob" });
    await at.pull(`${plain.host}/large:1`, { by: "bob" });
    expect((await findImages(at.images)).map(({ pulled }) => pulled?.by)).toEqual(["ann", "bob"]);
  });

  test("is given back by prune: images without a lab and parts of old downloads, not those added from files", async () => {
    await plain.push("gone:1", imageOf(base, ["gone", "1"]));
    await plain.push("used:1", imageOf(base, ["used", "1"]));
    at.use(plain.host, { plainHttp: true });
    await at.pull(`${plain.host}/gone:1`);
    await at.pull(`${plain.host}/used:1`);
    const { mkdirSync } = await import("node:fs");
    mkdirSync(join(at.state, "labs/x"), { recursive: true });
    writeFileSync(join(at.state, "labs/x/lab.json"), JSON.stringify({ path: "/mine", nodes: [{ image: `${plain.host}/used:1` }] }));
    const dry = await pruneImages(at.images, at.state, { all: false, dry: true });
    expect(dry).toEqual({ images: [`${plain.host}/gone:1`], bytes: 4096 });
    expect(await findImages(at.images)).toHaveLength(2);
    expect(await pruneImages(at.images, at.state, { all: false, dry: false })).toEqual(dry);
    expect((await findImages(at.images)).map(({ name }) => name)).toEqual([`${plain.host}/used:1`]);
    expect(await diskUse(at.images)).toEqual({ layers: 2, bytes: 3 * 4096 });
  });
});

test("a mirror is asked first, with its own password, and the registry if the mirror fails", async () => {
  await registry.push("hub/app:1", imageOf(["from", "mirror"]));
  await plain.push("app:1", imageOf(["from", "registry"]));
  await plain.push("only:1", imageOf(["from", "registry"]));
  at.use(plain.host, { plainHttp: true, ca: registry.ca, mirrors: [`https://${registry.host}/hub`] });
  // The password of the registry is not for its mirror: the mirror refuses, and the registry is asked.
  await at.login(plain.host, pusher.user, pusher.password);
  await at.pull(`${plain.host}/app:1`);
  expect(await content(`${plain.host}/app:1`, "from")).toBe("registry");
  await at.login(registry.host, pusher.user, pusher.password);
  await at.pull(`${plain.host}/app:1`, { always: true });
  expect(await content(`${plain.host}/app:1`, "from")).toBe("mirror");
  await at.pull(`${plain.host}/only:1`);
  expect(await content(`${plain.host}/only:1`, "from")).toBe("registry");
});

async function content(image: string, path: string): Promise<string> {
  const found = (await findImages(at.images)).find(({ name }) => name === image);
  return readFileSync(join(found?.rootfs ?? "", path), "utf8");
}

function readIf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
