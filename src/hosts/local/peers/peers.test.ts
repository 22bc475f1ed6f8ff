import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import { type TarWrite, tarArchive } from "../../../files/tar/tar-writer.ts";
import { testedProgram } from "../../../files/tested-program.fixture.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import type { ImagePeers, ImageUser } from "../../host-images.ts";
import { addImage } from "../containers/add-image.ts";
import { unpackLimits } from "../containers/archive/budget.ts";
import { machinePlatform } from "../containers/platform.ts";
import { configOf, directory, dockerArchive, file } from "../containers/tests/archive.fixture.ts";
import { findImages, imageRecords } from "../images/images.ts";
import { localPaths } from "../machine/paths.ts";
import { Pulls } from "../registries/pulls.ts";
import { usualLimits } from "../registries/settings.ts";
import { fetchFromPeers } from "./fetch-image.ts";
import { fetchable, imagesOfPeers } from "./peer-images.ts";
import { SharedImages } from "./shared-images.ts";

const admin: ImageUser = { name: "root", role: "admin" };
const ann: ImageUser = { name: "ann", role: "user" };

/** A machine with an image directory. */
function machine(name: string) {
  const state = join(top, name);
  const paths = { ...localPaths({ LABWRIGHT_STATE_DIR: state, LABWRIGHT_RUN_DIR: join(state, "run") }, 0), images: join(state, "images") };
  mkdirSync(paths.images, { recursive: true });
  mkdirSync(paths.vmImages, { recursive: true });
  return { name, paths, shared: new SharedImages(paths), pulls: new Pulls(paths, testedProgram("hosts/local/containers/main")) };
}
type Machine = ReturnType<typeof machine>;

let top: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "labwright-peers-"));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

/** The images of a machine for another one. `cut`: bytes after which the first connections break. */
function peersOf(holders: readonly Machine[], cut: number[] = []) {
  const reads: { readonly machine: string; readonly part: number; readonly offset: number }[] = [];
  const at = (number: number) => holders[number - 1]!.shared;
  const listed: { current: ReturnType<ImagePeers["list"]> } = { current: [] };
  const peers: ImagePeers = {
    list: () => listed.current,
    manifest: (image, user) => at(image.machine.number).manifest(user, image.kind, image.name),
    part: (image, user, part) => at(image.machine.number).part(user, image.kind, image.name, part),
    read: async (image, user, part, offset) => {
      reads.push({ machine: image.machine.name, part, offset });
      const bytes = await at(image.machine.number).read(user, image.kind, image.name, part, offset);
      const most = cut.shift();
      return most === undefined ? bytes : Readable.from(cutAfter(bytes, most), { objectMode: false });
    },
  };
  const refresh = async () => {
    listed.current = (
      await Promise.all(
        holders.map(async ({ name, shared }, i) =>
          (await shared.shared()).map((image) => ({ ...image, machine: { number: i + 1, name } })),
        ),
      )
    ).flat();
  };
  return { peers, reads, refresh };
}

async function* cutAfter(bytes: Readable, most: number): AsyncGenerator<Buffer> {
  let left = most;
  for await (const part of bytes as AsyncIterable<Buffer>) {
    yield part.subarray(0, left);
    left -= part.length;
    if (left <= 0) throw new Failure("machine_unreachable", "the connection broke", { data: { machine: "one" } });
  }
}

const idBase = process.getuid?.() === 0 ? 1_000_000 : undefined;

async function add({ paths }: Machine, name: string, ...layers: readonly (readonly TarWrite[])[]): Promise<void> {
  const plain = layers.map((entries) => tarArchive([...entries]));
  const path = join(top, "image.tar");
  writeFileSync(path, dockerArchive(plain, configOf(plain, { Cmd: ["/bin/run"], Env: ["A=b"] })));
  await addImage({
    ...{ file: path, name, directory: paths.images, platform: machinePlatform(), replace: false, idBase, limits: unpackLimits },
    ...{ now: () => new Date("2026-01-01T00:00:00Z"), say: () => {} },
  });
}

/** The trees of all layers as text: modes, owners, times, sizes, links. */
async function trees({ paths }: Machine, name: string): Promise<string> {
  const image = (await findImages(paths.images)).find((one) => one.name === name)!;
  const listing = (root: string) =>
    execFileSync(
      "sh",
      [
        "-c",
        `find . -type f -printf '%P %Ts\\n' | sort; find . -printf '%P %M %U %G %s %l %n\\n' | sort; find . -type f | sort | xargs -r sha256sum`,
      ],
      {
        cwd: root,
        encoding: "utf8",
      },
    );
  return image.layers.map(listing).join("---\n");
}

const base = [
  directory("etc"),
  file("etc/removed", "it is hidden"),
  directory("opt"),
  file("opt/old", "it is hidden, too"),
  file("bin-run", "x".repeat(600_000), { mode: 0o4755 }),
  { name: "hard", type: "1", link: "bin-run" } satisfies TarWrite,
  { name: "soft", type: "2", link: "../etc/x" } satisfies TarWrite,
];
const upper = [file("etc/.wh.removed", ""), file("opt/.wh..wh..opq", ""), file("opt/new", "y".repeat(300_000), { uid: 7, gid: 8 })];

const follower = (said: string[] = []) => ({ signal: new AbortController().signal, say: (text: string) => void said.push(text) });
const wanted = (image: string) => ({ template: "container", image, pull: "missing" }) as const;

test("an image comes from another machine, whole and once for two labs, also when connections break; parts are removed then", {
  timeout: 60_000,
}, async () => {
  const [one, here] = [machine("one"), machine("here")];
  await add(one, "tool:1", base, upper);
  await add(here, "other:1", base);
  const { peers, reads, refresh } = peersOf([one], [100_000, 70_000]);
  await refresh();
  const holders = [peers.list()[0]!] as const;
  const options = { images: here.paths.images, pulls: here.pulls, peers, user: ann, limits: usualLimits };
  const said: string[] = [];
  const fetching = [follower(said), follower()].map((progress) => fetchFromPeers({ wanted: wanted("tool:1"), holders }, options, progress));
  await Promise.all(fetching);
  // The lower layer is here already; the upper one was read in three connections, each where the one before broke.
  expect(reads.map(({ part }) => part)).toEqual([1, 1, 1]);
  expect(reads.map(({ offset }) => offset)).toEqual([0, 100_000, 170_000]);
  expect(await trees(here, "tool:1")).toBe(await trees(one, "tool:1"));
  const [there, copy] = await Promise.all(
    [one, here].map(async ({ paths }) => [...(await imageRecords(paths.images)).values()].find(({ name }) => name === "tool:1")!),
  );
  expect({ ...copy, fetched: undefined, created: "" }).toEqual({ ...there, fetched: undefined, created: "" });
  expect(copy!.fetched).toMatchObject({ machine: "one", by: "ann" });
  expect(said.join("\n")).toContain("fetching 1 of 1 parts from one");
  expect(readdirSync(join(here.paths.images, ".pull")).filter((name) => !name.endsWith(".lock"))).toEqual([]);
});

test("a fetch that ends half way leaves only the part of its download, which another machine continues", { timeout: 60_000 }, async () => {
  const [one, two, here] = [machine("one"), machine("two"), machine("here")];
  for (const holder of [one, two]) await add(holder, "tool:1", base);
  const cut = [50_000];
  const { peers, reads, refresh } = peersOf([one, two], cut);
  await refresh();
  const stop = new AbortController();
  const [first, second] = peers.list();
  const options = { images: here.paths.images, pulls: here.pulls, peers, user: admin, limits: usualLimits };
  const ending = fetchFromPeers({ wanted: wanted("tool:1"), holders: [first!] }, options, {
    signal: stop.signal,
    say: (text) => text.includes("0.1 MB of") && stop.abort(new Failure("cancelled", "enough")),
  });
  await expect(ending).rejects.toThrow("enough");
  await here.pulls.close();
  const left = () => readdirSync(join(here.paths.images, ".pull")).filter((name) => !name.endsWith(".lock"));
  expect(left()).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.part$/)]);
  expect(await findImages(here.paths.images)).toEqual([]);
  await fetchFromPeers({ wanted: wanted("tool:1"), holders: [second!] }, options, follower());
  expect(reads.at(-1)).toMatchObject({ machine: "two" });
  expect(reads.at(-1)!.offset).toBeGreaterThan(0);
  expect(await trees(here, "tool:1")).toBe(await trees(one, "tool:1"));
  expect(left()).toEqual([]);
});

test("wrong bytes are refused, and nothing of them stays", { timeout: 60_000 }, async () => {
  const [one, here] = [machine("one"), machine("here")];
  await add(one, "tool:1", base);
  const { peers, refresh } = peersOf([one]);
  await refresh();
  const wrong: ImagePeers = {
    ...peers,
    read: async (image, user, part, offset, signal) => {
      const bytes = await peers.read(image, user, part, offset, signal);
      return Readable.from(
        (async function* () {
          for await (const chunk of bytes as AsyncIterable<Buffer>) yield Buffer.from(chunk).fill(1, 0, 1);
        })(),
        { objectMode: false },
      );
    },
  };
  const options = { images: here.paths.images, pulls: here.pulls, peers: wrong, user: admin, limits: usualLimits };
  const refused = fetchFromPeers({ wanted: wanted("tool:1"), holders: [peers.list()[0]!] }, options, follower());
  await expect(refused).rejects.toMatchObject({ code: "image_pull_failed", message: expect.stringContaining("does not match its digest") });
  expect(readdirSync(join(here.paths.images, ".pull")).filter((name) => !name.endsWith(".lock"))).toEqual([]);
});

test("limits of pulls count, and a user without a right to a registry gets none of its images from a machine", {
  timeout: 60_000,
}, async () => {
  const [one, here] = [machine("one"), machine("here")];
  await add(one, "registry.example/tool:1", base);
  const { peers, refresh } = peersOf([one]);
  await refresh();
  const holders = [peers.list()[0]!] as const;
  const options = { images: here.paths.images, pulls: here.pulls, peers, user: ann };
  const small = { ...usualLimits, imageBytes: 100_000 };
  await expect(
    fetchFromPeers({ wanted: wanted("registry.example/tool:1"), holders }, { ...options, limits: small }, follower()),
  ).rejects.toThrow("here are at most 0.1 MB");
  await writeFileAtomic(join(here.paths.state, "registries.yaml"), "limits: {user-bytes: 100000}\n", 0o600);
  await expect(
    fetchFromPeers({ wanted: wanted("registry.example/tool:1"), holders }, { ...options, limits: usualLimits }, follower()),
  ).rejects.toThrow("ann has pulled");

  const [entry, record] = [...(await imageRecords(one.paths.images))][0]!;
  const pulled = { registry: "registry.example", digest: "0".repeat(64), at: "2026-01-01T00:00:00Z" };
  await writeFileAtomic(join(one.paths.images, entry, "image.json"), JSON.stringify({ ...record, pulled }), 0o644);
  await writeFileAtomic(join(one.paths.state, "registries.yaml"), "registries: {registry.example: {users: [bob]}}\n", 0o600);
  mkdirSync(join(one.paths.images, "changed"));
  await refresh();
  expect(peers.list()[0]!.users).toEqual(["bob"]);
  expect(fetchable(peers, ann)).toEqual([]);
  expect(fetchable(peers, admin).map(({ name }) => name)).toEqual(["registry.example/tool:1"]);
  const catalogue = { images: [], template: () => ({ backend: "container", images: [], imageNames: [] }) } as unknown as Parameters<
    typeof imagesOfPeers
  >[1];
  expect(imagesOfPeers([wanted("registry.example/tool:1")], catalogue, peers, ann)).toEqual([]);
  // A machine that asks with an old list is refused, too.
  await expect(one.shared.manifest(ann, "container", "registry.example/tool:1")).rejects.toMatchObject({ code: "operation_not_allowed" });
  await expect(one.shared.read({ name: "bob", role: "user" }, "container", "registry.example/tool:1", 0, 0)).resolves.toBeInstanceOf(
    Readable,
  );
});
