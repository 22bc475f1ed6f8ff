import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostCapture, HostCaptures } from "../../host-captures.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";

const run = promisify(execFile);

describe.skipIf(process.getuid?.() !== 0)("captures of the embedded host", () => {
  let local: TestLocalHost;
  let work: string;
  const path = "/cap";
  const captures = (): HostCaptures => local.session.captures!;
  const nodeId = async (name: string) => (await local.session.observe(path))!.nodes.find((node) => node.name === name)!.id;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), "labwright-capture-"));
    local = await testLocalHost();
    await local.deploy(
      path,
      labOf(`
name: cap
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`),
    );
    await eventually(
      "a first ping",
      60_000,
      () => local.exec(path, "h1", "ping", "-c1", "-W1", "10.0.0.2"),
      ({ code }) => code === 0,
    );
  });
  afterAll(async () => {
    await local?.[Symbol.asyncDispose]();
    await rm(work, { recursive: true, force: true });
  });

  async function bytesOf(id: string): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of captures().read(path, id, { follow: false })) parts.push(part);
    return Buffer.concat(parts);
  }

  async function tshark(id: string, ...fields: readonly string[]): Promise<string[][]> {
    const file = join(work, `${id}.pcapng`);
    await writeFile(file, await bytesOf(id));
    const { stdout } = await run("tshark", ["-r", file, "-T", "fields", ...fields.flatMap((field) => ["-e", field])]);
    return stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split("\t"));
  }

  test("a ping's packets are in the pcapng, named as in the lab, with direction, in order", async () => {
    const started = await captures().start(path, { nodeId: await nodeId("h1"), interface: "eth0", label: "h1:eth0", filter: "icmp" });
    expect(started).toMatchObject({ status: "running", label: "h1:eth0", truncated: false });
    expect((await local.exec(path, "h1", "ping", "-c5", "-i0.1", "10.0.0.2")).code).toBe(0);
    const rows = await eventually(
      "the packets",
      30_000,
      () => tshark(started.id, "frame.interface_name", "frame.packet_flags_direction", "icmp.type", "icmp.seq"),
      (all) => all.length === 10,
    );
    expect(rows).toEqual(
      [1, 2, 3, 4, 5].flatMap((seq) => [
        ["h1:eth0", "0x00000002", "8", String(seq)],
        ["h1:eth0", "0x00000001", "0", String(seq)],
      ]),
    );
    const stopped = await captures().stop(path, started.id);
    expect(stopped).toMatchObject({ status: "stopped", packets: 10, dropped: 0 });
    expect(stopped.reason).toBeUndefined();
    expect(await tshark(started.id, "icmp.seq")).toHaveLength(10);
    await captures().remove(path, started.id);
    await expect(captures().get(path, started.id)).rejects.toMatchObject({ code: "capture_not_found" });
  });

  const start = async (more: object = {}) =>
    captures().start(path, { nodeId: await nodeId("h1"), interface: "eth0", label: "h1:eth0", ...more });
  const ping = async (count: number) => (await local.exec(path, "h1", "ping", `-c${count}`, "-i0.1", "-W10", "10.0.0.2")).code === 0;
  const settled = (id: string, holds: (one: HostCapture) => boolean) =>
    eventually("the capture", 30_000, () => captures().get(path, id), holds);
  const pidOf = async (id: string) => {
    const { stdout } = await (await local.sandbox(path)).run([
      "sh",
      "-c",
      'grep -lzxF "capture=$1" /proc/[0-9]*/cmdline 2> /dev/null',
      "x",
      id,
    ]);
    return /\/proc\/(\d+)\//.exec(stdout)![1]!;
  };
  const clear = async () => {
    for (const { id } of await captures().list(path)) await captures().remove(path, id);
  };

  test("two captures of one interface are independent", async () => {
    await expect(start({ filter: "icmp\0" })).rejects.toMatchObject({ code: "bad_request", data: { problems: [{ path: "/filter" }] } });
    const [all, pings] = [await start(), await start({ filter: "icmp", snaplen: 40 })];
    expect(await ping(2)).toBe(true);
    await captures().stop(path, pings.id);
    expect(await ping(1)).toBe(true);
    expect(await captures().get(path, pings.id)).toMatchObject({ status: "stopped", packets: 4 });
    expect((await captures().stop(path, all.id)).packets).toBeGreaterThanOrEqual(6);
    expect((await tshark(pings.id, "frame.cap_len", "frame.len"))[0]).toEqual(["40", "98"]);
    await clear();
  });

  test("a capture outlives the service and is found again; a killed capture is reported as failed", async () => {
    const { id } = await start({ filter: "icmp" });
    const killed = await start();
    expect(await ping(1)).toBe(true);
    await local.reopen();
    expect(await ping(1)).toBe(true);
    expect(await settled(id, ({ packets }) => packets === 4)).toMatchObject({ status: "running" });
    const sandbox = await local.sandbox(path);
    await sandbox.run(["kill", "-9", await pidOf(killed.id)]);
    const failed = await settled(killed.id, ({ status }) => status !== "running");
    expect(failed).toMatchObject({ status: "failed", reason: expect.stringContaining("killed"), stoppedAt: expect.any(Number) });
    expect((await tshark(killed.id, "frame.number")).length).toBeGreaterThan(0);
    expect(await captures().get(path, killed.id)).toEqual(failed);
    expect(await captures().stop(path, id)).toMatchObject({ status: "stopped", packets: 4 });
    await clear();
  });

  test("frames for which a capture's process had no time are counted as dropped, and none of them is in the file", async () => {
    const { id } = await start();
    const sandbox = await local.sandbox(path);
    const pid = await pidOf(id);
    await sandbox.run(["kill", "-STOP", pid]);
    // 41 fragments each way, which is more than the 8 MiB that the kernel keeps.
    const { stdout } = await local.exec(path, "h1", "ping", "-q", "-A", "-c200", "-s60000", "-W5", "10.0.0.2");
    await sandbox.run(["kill", "-CONT", pid]);
    // On a busy machine the nodes themselves may lose one.
    const received = Number(/200 packets transmitted, (\d+) received/.exec(stdout)?.[1]);
    expect(received).toBeGreaterThan(150);
    const frames = received * 41 * 2;
    await settled(id, ({ packets = 0, dropped = 0 }) => packets + dropped >= frames);
    const { packets = 0, dropped = 0 } = await captures().stop(path, id);
    expect(dropped).toBeGreaterThan(0);
    expect(packets).toBeGreaterThan(0);
    // A few that are not pings may be among them.
    expect(packets + dropped - frames).toBeLessThan(100 + (200 - received) * 41 * 2);
    expect((await tshark(id, "frame.number")).length).toBe(packets);
    await clear();
  });

  const labDirectory = async () => join(local.paths.state, "labs", (await local.session.observe(path))!.id);

  test("a capture whose start was cut off before its process was known has failed, and that process is ended", async () => {
    const { id } = await start();
    const file = join(await labDirectory(), "captures", id, "capture.json");
    const { pid, ...before } = JSON.parse(await readFile(file, "utf8"));
    expect(pid).toBe(Number(await pidOf(id)));
    await writeFile(file, JSON.stringify(before));
    await local.reopen();
    expect(await captures().get(path, id)).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("while it was being started"),
    });
    await eventually(
      "the end of its process",
      30_000,
      async () => (await local.sandbox(path)).run(["sh", "-c", 'grep -lzxF "capture=$1" /proc/[0-9]*/cmdline 2> /dev/null', "x", id]),
      ({ stdout }) => !/\/proc\/\d+\//.test(stdout),
    );
    await clear();
  });

  test("the service removes at its start what an interrupted capture without a record left; captures with a record stay", async () => {
    const { id } = await start();
    const all = join(await labDirectory(), "captures");
    await mkdir(join(all, "0123456789abcdef"));
    await local.reopen();
    expect(await readdir(all)).toEqual([id]);
    expect(await captures().list(path)).toMatchObject([{ id, status: "running" }]);
    await clear();
    expect(await readdir(all)).toEqual([]);
  });

  test("an interface without carrier is captured when it comes back; one that goes away ends its capture", async () => {
    const { id } = await start({ filter: "icmp" });
    const { links } = (await local.session.observe(path))!;
    await local.session.setLinkSuspend(path, links[0]!.id, { a: true, b: true });
    expect(await captures().get(path, id)).toMatchObject({ status: "running" });
    await local.session.setLinkSuspend(path, links[0]!.id, { a: false, b: false });
    await eventually(
      "a ping",
      60_000,
      () => ping(1),
      (answered) => answered,
    );
    expect((await settled(id, ({ packets = 0 }) => packets >= 2)).status).toBe("running");
    // The device goes with its node's end of it.
    await local.exec(path, "h1", "ip", "link", "del", "eth0");
    expect(await settled(id, ({ status }) => status !== "running")).toMatchObject({
      status: "stopped",
      reason: expect.stringContaining("went away"),
    });
    await expect(start()).rejects.toMatchObject({ code: "link_not_found" });
    await clear();
  });

  test("captures are limited, each with its reason; a full ring drops its oldest packets", async () => {
    await using small = await testLocalHost({
      captureLimits: { runningPerLab: 1, keptPerLab: 2, ringBytes: 64 << 10, hostBytes: 200 << 10 },
    });
    await small.deploy(
      "/small",
      labOf('name: small\nnodes:\n  h1: {template: linux}\n  s1: {template: switch}\nlinks:\n  - ["h1:eth0", "s1:eth0"]\n'),
    );
    await eventually(
      "h1's interface is up",
      30_000,
      () => small.exec("/small", "h1", "cat", "/sys/class/net/eth0/operstate"),
      ({ stdout }) => stdout === "up\n",
    );
    const { nodes } = (await small.session.observe("/small"))!;
    const [h1, s1] = ["h1", "s1"].map((name) => nodes.find((node) => node.name === name)!);
    const request = { nodeId: s1!.id, interface: s1!.interfaces[0]!.name, label: "s1:eth0" };
    const own = small.session.captures!;
    const begin = (one: object = {}) => own.start("/small", { ...request, ...one });
    const first = await begin();
    await expect(begin()).rejects.toMatchObject({ code: "capture_limit", data: { limit: "running_per_lab", most: 1 } });
    const slow = own.read("/small", first.id, { follow: true })[Symbol.asyncIterator]();
    const held = await slow.next();
    const flood = [
      "sh",
      "-c",
      "ip addr add 10.1.0.1/24 dev eth0; ip neigh replace 10.1.0.2 lladdr 02:00:00:00:00:02 dev eth0; for i in 1 2 3 4; do ping -q -c20 -i0.002 -s1400 -W1 10.1.0.2; done; true",
    ];
    await small.exec("/small", "h1", ...flood);
    const full = await eventually(
      "a full ring",
      30_000,
      () => own.get("/small", first.id),
      ({ truncated }) => truncated,
    );
    expect(full.sizeBytes).toBeLessThanOrEqual(64 << 10);
    // A reader that paused gets a block where packets are missing, and continues after them.
    const late = [held.value as Uint8Array];
    for await (const part of { [Symbol.asyncIterator]: () => slow }) {
      late.push(part);
      if (Buffer.concat(late).includes("are missing here") && late.length > 3) break;
    }
    await writeFile(join(work, "late.pcapng"), Buffer.concat(late));
    const { stdout } = await run("tshark", ["-r", join(work, "late.pcapng"), "-T", "fields", "-e", "icmp.seq"]);
    expect(stdout.trim().split("\n").length).toBeGreaterThan(3);
    expect((await own.stop("/small", first.id)).packets).toBeGreaterThan(60);
    const second = await begin({ nodeId: h1!.id, interface: "eth0", label: "h1:eth0" });
    await own.stop("/small", second.id);
    await expect(begin()).rejects.toMatchObject({ code: "capture_limit", data: { limit: "kept_per_lab" } });
    await own.remove("/small", second.id);
    expect((await own.list("/small")).map(({ id }) => id)).toEqual([first.id]);
  });
});
