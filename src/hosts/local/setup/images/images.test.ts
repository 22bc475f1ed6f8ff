import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { arch, tmpdir } from "node:os";
import { join, posix } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findImages, type ImageRecord, imageRecords } from "../../images/images.ts";
import { idRange } from "../../machine/idmap.ts";
import { localPaths } from "../../machine/paths.ts";
import { elfNeeds } from "./elf.ts";
import { staleImages } from "./image-builder.ts";
import { recipesFor } from "./recipes.ts";
import { unusedImages } from "./unused-images.ts";

const uid = process.getuid?.() ?? 0;
const paths = localPaths(process.env, uid);
const place = { idBase: uid === 0 ? idRange.base : 0, triplet: arch() === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu" };

describe("the images that set-up built", () => {
  test("exist, and nothing has to be built again", async () => {
    expect(await staleImages({ directory: paths.images, ...place })).toEqual([]);
    const images = await findImages(paths.images);
    expect(images.map((image) => image.name)).toEqual(expect.arrayContaining(recipesFor(place.triplet).map((recipe) => recipe.name)));
    expect(images.find((image) => image.name === "frr")?.layers).toHaveLength(2);
    expect(images.find((image) => image.name === "base")?.size).toBeLessThan(120e6);
    for (const { name, size } of images) expect(size, name).toBeLessThan(140e6);
  });

  const roots = recipesFor(place.triplet).filter(({ machine, guest }) => machine === undefined && guest === undefined);
  test.each(roots.map((recipe) => recipe.name))("%s has every library that its programs need", async (name) => {
    const image = (await findImages(paths.images)).find((candidate) => candidate.name === name);
    const files = new Map<string, string>();
    for (const layer of [...(image?.layers ?? [])].reverse())
      for (const path of await filesBelow(layer, "/")) files.set(path, join(layer, path));
    const missing: string[] = [];
    let programs = 0;
    for (const [path, source] of files) {
      if (!(await lstat(source)).isFile()) continue;
      const needs = elfNeeds(await readFile(source));
      if (needs === undefined) continue;
      programs++;
      const places = [...needs.runpath, `/usr/lib/${place.triplet}`];
      for (const library of needs.needed) if (!places.some((entry) => files.has(join(entry, library)))) missing.push(`${path}: ${library}`);
      if (needs.interpreter !== undefined && !files.has(`/usr${needs.interpreter}`)) missing.push(`${path}: ${needs.interpreter}`);
    }
    expect(missing).toEqual([]);
    expect(programs).toBeGreaterThan(20);
    const dangling = [];
    for (const [path, source] of files) {
      if (!(await lstat(source)).isSymbolicLink()) continue;
      const target = posix.resolve(posix.dirname(path), await readlink(source));
      const inside = files.has(target) || [...files.keys()].some((file) => file.startsWith(`${target}/`));
      if (!inside && !/^\/(proc|run)(\/|$)/.test(target)) dangling.push(`${path} -> ${target}`);
    }
    expect(dangling).toEqual([]);
  });

  test.runIf(uid === 0)("belong to the range of ids that labs map, inside ids kept", async () => {
    const layers = (await findImages(paths.images)).flatMap((image) => image.layers);
    const owners = new Set<number>();
    for (const layer of new Set(layers)) for (const path of await filesBelow(layer, "/")) owners.add((await lstat(join(layer, path))).uid);
    expect([...owners].sort()).toEqual([idRange.base, idRange.base + 100]);
  });
});

async function filesBelow(root: string, directory: string): Promise<readonly string[]> {
  const entries = await readdir(join(root, directory), { withFileTypes: true });
  const below = await Promise.all(
    entries.map((entry) => (entry.isDirectory() ? filesBelow(root, join(directory, entry.name)) : [join(directory, entry.name)])),
  );
  return below.flat();
}

describe("an ELF file", () => {
  test("has its libraries and its loader", async () => {
    const needs = elfNeeds(await readFile(process.execPath));
    expect(needs?.needed).toContain("libc.so.6");
    expect(needs?.interpreter).toMatch(/^\/lib.*\/ld-linux/);
  });

  test("that is static needs nothing, and another file is none", async () => {
    expect(elfNeeds(await readFile(paths.holder))).toEqual({ needed: [], runpath: [] });
    expect(elfNeeds(Buffer.from("#!/bin/sh\necho this is a script that is longer than the header of an ELF file\n"))).toBeUndefined();
  });
});

describe("an image directory", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "labwright-images-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function add(entry: string, more: Partial<ImageRecord>): Promise<void> {
    await mkdir(join(directory, entry, "rootfs"), { recursive: true });
    const record = {
      name: entry.split("-")[0],
      description: "",
      recipe: "",
      digest: entry,
      layers: [],
      packages: {},
      size_bytes: 1,
      id_base: 0,
    };
    await writeFile(join(directory, entry, "image.json"), JSON.stringify({ ...record, created: "2025-01-01T00:00:00Z", ...more }));
  }

  test("gives the newest build of each image, with its layers and their size", async () => {
    await add("base-1", {});
    await add("base-2", { created: "2025-02-01T00:00:00Z", size_bytes: 5 });
    await add("frr-1", { layers: ["base-2"], size_bytes: 2 });
    const images = await findImages(directory);
    expect(images.map(({ name, size, digest }) => ({ name, size, digest }))).toEqual([
      { name: "base", size: 5, digest: "base-2" },
      { name: "frr", size: 7, digest: "frr-1" },
    ]);
    expect(images[1]?.layers).toEqual([join(directory, "frr-1/rootfs"), join(directory, "base-2/rootfs")]);
    expect(await unusedImages(directory)).toEqual(["base-1"]);
  });

  test("passes over what is incomplete, and may be absent", async () => {
    await mkdir(join(directory, "base-1", "rootfs"), { recursive: true });
    await add("frr-1", { layers: ["base-1"] });
    expect(await findImages(directory)).toEqual([]);
    expect([...(await imageRecords(directory)).keys()]).toEqual(["frr-1"]);
    expect(await findImages(join(directory, "absent"))).toEqual([]);
    expect(await staleImages({ directory, ...place })).toEqual(recipesFor(place.triplet).map((recipe) => recipe.name));
  });
});
