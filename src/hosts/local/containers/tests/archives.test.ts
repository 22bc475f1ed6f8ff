import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { tarArchive } from "../../../../files/tar/tar-writer.ts";
import { findImages } from "../../images/images.ts";
import { machinePlatform } from "../platform.ts";
import { idBase, refusal, testImages } from "./add-image.fixture.ts";
import { configOf, directory, dockerArchive, file, json, layoutFiles, sha256, tarOf, writeLayout } from "./archive.fixture.ts";

const at = testImages();
const { add, left, trees } = at;

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
    expect(await findImages(at.images)).toEqual([expect.objectContaining({ name: "test:1", size: 5 * 4096, container: wanted })]);
    expect((await stat(join(below!, "etc/motd"))).uid).toBe(idBase ?? process.getuid?.());
    expect(left().some((name) => name.startsWith("."))).toBe(false);
  });

  test("that is an OCI layout directory is read", async () => {
    await writeLayout(join(at.top, "layout"), layoutFiles([{ layers: [low, high], config }]));
    expect((await add(join(at.top, "layout"), { name: "it" })).record.layers).toHaveLength(2);
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

  test("takes a layer without the zeros at the end of a tar archive, as umoci writes them", async () => {
    const bare = low.subarray(0, low.length - 1024);
    for (const packing of ["plain", "gzip"] as const) {
      const added = await add(tarOf(layoutFiles([{ layers: [bare], config: configOf([bare]) }], packing)), { name: packing });
      expect(added.record).toMatchObject({ name: packing });
    }
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
    expect(await refusal(add(join(at.top, "absent.tar")))).toMatchObject({ code: "not_found" });
  });
});

test("a file of any other content is refused as none of the kinds that are read", async () => {
  const bytes = Buffer.alloc(100_000, "Labwright, but no archive. ");
  const problem = { code: "bad_archive", message: expect.stringMatching(/is neither a container image nor a disk/) };
  expect(await refusal(add(bytes, { name: "it" }))).toMatchObject(problem);
  expect(await refusal(add(gzipSync(bytes), { name: "it" }))).toMatchObject(problem);
});
