import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LiveNode } from "../../host.ts";
import { probeControlGroups } from "../resources/control-groups.ts";
import { builtinTemplates } from "../templates/reading/templates.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { diskUsage } from "./disk-usage.ts";

const mebi = 2 ** 20;
const path = "/full";
const lab = labOf(`
name: full
nodes:
  a: {template: small, start: true, cpu: 2}
  b: {template: small, start: true}
  s: {template: switch}
`);

describe("the disk usage of a tree", () => {
  test("is its blocks: no holes, nothing twice, nothing behind a link; one that is not there is left out", async () => {
    const top = await mkdtemp(join(tmpdir(), "labwright-usage-"));
    try {
      const [one, two, none] = ["one", "two", "none"].map((name) => join(top, name));
      for (const directory of [one!, two!]) await mkdir(directory);
      await writeFile(join(one!, "file"), Buffer.alloc(3 * mebi, 1));
      await symlink(join(one!, "file"), join(two!, "link"));
      const usage = await diskUsage([one!, two!, none!], new AbortController().signal);
      expect([...usage.keys()]).toEqual([one, two]);
      expect(usage.get(one!)).toBeGreaterThanOrEqual(3 * mebi);
      expect(usage.get(one!)).toBeLessThan(4 * mebi);
      expect(usage.get(two!)).toBeLessThan(mebi);
      expect(await diskUsage([one!], AbortSignal.abort())).toEqual(new Map());
    } finally {
      await rm(top, { recursive: true });
    }
  });
});

describe.skipIf(process.getuid?.() !== 0)("a node whose files together take more than it may", () => {
  let local: TestLocalHost;

  beforeAll(async () => {
    local = await testLocalHost({ diskPace: { askMs: 20, maxMs: 200 } });
    // A user's own template: the linux node with a small disk.
    const text = await readFile(join(builtinTemplates, "linux.yaml"), "utf8");
    const small = `${text.replace(/^id: linux$/m, "id: small")}\nlimits: {ram: 256, processes: 64, disk: 16}\n`;
    await mkdir(join(local.paths.state, "templates"));
    await writeFile(join(local.paths.state, "templates", "small.yaml"), small);
    await local.reopen();
    await local.deploy(path, lab);
    await eventually(
      "both run",
      30_000,
      async () => (await local.session.status(path)).nodes,
      (nodes) => nodes.every((node) => node.status === "running"),
    );
  });
  afterAll(async () => {
    await local?.[Symbol.asyncDispose]();
  });

  const status = async (name: string) => (await local.session.status(path)).nodes.find((node) => node.name === name)!;
  const settles = (what: string, holds: (node: LiveNode) => boolean) => eventually(what, 30_000, () => status("a"), holds);
  /** Runs in the background, after its caller has ended: all processes of the node are suspended meanwhile. */
  const write = async (file: string, kibibytes: number) => {
    const script = `(sleep 0.5; dd if=/dev/zero of=/root/${file} bs=${kibibytes}k count=1) > /dev/null 2>&1 < /dev/null &`;
    expect((await local.exec(path, "a", "sh", "-c", script)).code).toBe(0);
  };
  const full = ({ status: now, disk_full, disk_bytes = 0 }: LiveNode) =>
    now === "suspended" && disk_full === true && disk_bytes > 16 * mebi;

  test("is suspended, and its status shows why, also after a restart of the service; its neighbour goes on", async () => {
    await write("first", 15 * 1024);
    await settles("15 MiB", ({ disk_bytes = 0 }) => disk_bytes >= 15 * mebi);
    expect(await status("a")).toMatchObject({ status: "running" });
    expect(await status("a")).not.toHaveProperty("disk_full");
    // The rest of the file is smaller than what the writer may still write after it is resumed.
    await write("second", 1536);
    await settles("the end of its writing", full);
    expect(
      local.warnings.filter((text) => /^lab \/full: the disk of a takes 1[67] MiB, and may take 16 MiB: it was suspended$/.test(text)),
    ).toHaveLength(1);
    const neighbour = await status("b");
    expect(neighbour.status).toBe("running");
    expect(neighbour).not.toHaveProperty("disk_full");
    expect((await local.exec(path, "b", "sh", "-c", "echo well > /root/file && cat /root/file")).stdout).toBe("well\n");
    await local.reopen();
    await settles("the same after a restart", full);
  });

  test("goes on when it is started, is suspended again when it writes more, and is as any other when it has made room", async () => {
    await local.deploy(path, lab);
    await settles("going on", ({ status: now }) => now === "running");
    await write("third", 1280);
    await settles("the end of its writing", full);
    await local.deploy(path, lab);
    expect((await local.exec(path, "a", "sh", "-c", "rm /root/*")).code).toBe(0);
    await settles("room", ({ status: now, disk_bytes = 0, disk_full }) => now === "running" && disk_bytes < mebi && disk_full !== true);
    // The limit of a single file is the limit of all files together.
    for (const [file, mebibytes] of [
      ["fourth", 12],
      ["fifth", 5],
    ] as const)
      await write(file, mebibytes * 1024);
    await settles("the end of its writing, once more", full);
  });

  test("that is hibernated, or stopped, is not called full", async () => {
    const stop = async (mode: 1 | 2) => {
      const id = local.ids(path).nodes["a"]!;
      const operation = {
        id: "0",
        of: "0",
        op: "stop",
        kind: "node",
        key: "a",
        disruption: "stop",
        affects: [],
        changes: [],
        prune: false,
      } as const;
      const step = { do: "stop", node: "a", mode } as const;
      const ids = { nodes: { a: id }, networks: {}, links: {} };
      await local.session.apply(path, [{ ...operation, reason: { code: "requested", text: "" }, step }], { ids, step: () => undefined });
    };
    await stop(1);
    expect(await status("a")).toMatchObject({ status: "stopped" });
    expect(await status("a")).not.toHaveProperty("disk_full");
    await local.deploy(path, lab);
    await settles("its boot", ({ status: now }) => now === "running");
    await stop(2);
    expect(await status("a")).toMatchObject({ status: "suspended" });
    expect(await status("a")).not.toHaveProperty("disk_full");
  });

  test("is checked soon if a caller asks and nothing is known yet, however long the interval is", async () => {
    await using rare = await testLocalHost({ diskPace: { askMs: 50, maxMs: 3_600_000 } });
    const look = (of: string) =>
      eventually(
        "its disk",
        30_000,
        async () => (await rare.session.status(of)).nodes,
        (nodes) => nodes[0]?.disk_bytes !== undefined,
      );
    const one = (name: string) => labOf(`{name: ${name}, nodes: {a: {template: linux}, s: {template: switch}}}`);
    for (const name of ["first", "second"]) {
      await rare.deploy(`/${name}`, one(name));
      const nodes = await look(`/${name}`);
      expect(nodes.map((node) => node.name)).toEqual(["a", "s"]);
      expect(nodes[1]).not.toHaveProperty("disk_bytes");
    }
  });

  test("reports each limit that this machine enforces", async () => {
    const { memory, pids, cpu } = await probeControlGroups();
    const limits = (await local.session.observe(path))!.nodes.map((node) => [node.name, node.limits]);
    const kept = {
      ...(memory === undefined ? {} : { memoryBytes: 256 * mebi }),
      ...(pids === undefined ? {} : { processes: 64 }),
      diskBytes: 16 * mebi,
    };
    expect(limits).toEqual([
      ["a", { ...(cpu === undefined ? {} : { cpu: 2 }), ...kept }],
      ["b", kept],
      ["s", undefined],
    ]);
  });
});
