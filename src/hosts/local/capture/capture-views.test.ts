import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CaptureViews } from "./capture-views.ts";

let work: string;
let views: CaptureViews;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-views-"));
  views = new CaptureViews(work);
});
afterEach(async () => {
  await views.close();
  await rm(work, { recursive: true, force: true });
});

/** A block of pcapng, whose length stands at both its ends. */
function block(type: number, body: Buffer): Buffer {
  const length = 12 + body.length;
  const whole = Buffer.alloc(length);
  whole.writeUInt32LE(type, 0);
  whole.writeUInt32LE(length, 4);
  body.copy(whole, 8);
  whole.writeUInt32LE(length, length - 4);
  return whole;
}

/** So many Ethernet frames, or these. */
function pcapng(frames: number | readonly Buffer[]): Buffer {
  const section = block(0x0a0d0d0a, Buffer.from("4d3c2b1a01000000ffffffffffffffff", "hex"));
  const port = block(1, Buffer.from("0100000000000000", "hex"));
  const all = typeof frames === "number" ? Array.from({ length: frames }, () => Buffer.alloc(60, 0xff)) : frames;
  const packets = all.map((frame) => {
    const head = Buffer.alloc(20);
    head.writeUInt32LE(frame.length, 12);
    head.writeUInt32LE(frame.length, 16);
    return block(6, Buffer.concat([head, frame, Buffer.alloc(-frame.length & 3)]));
  });
  return Buffer.concat([section, port, ...packets]);
}

/** A part of an IPv4 packet from 10.0.0.1 to 10.0.0.2 with ICMP in it. @param at where it begins, bytes */
function fragment(payload: Buffer, at: number, more: boolean): Buffer {
  const header = Buffer.from("450000000007000040010000" + "0a000001" + "0a000002", "hex");
  header.writeUInt16BE(20 + payload.length, 2);
  header.writeUInt16BE((more ? 0x2000 : 0) | (at / 8), 6);
  return Buffer.concat([Buffer.from("0200000000020200000000010800", "hex"), header, payload]);
}

test("of packets that a filter takes some are left out, and all are counted", async () => {
  const capture = join(work, "capture");
  await mkdir(capture);
  const echo = (type: number) => fragment(Buffer.from([type, 0, 0, 0, 0, 1, 0, 1]), 0, false);
  await writeFile(join(capture, "packets_000001.pcapng"), pcapng([8, 0, 8, 0, 8].map(echo)));
  const told = async (query: object) => {
    const { total, matching, packets } = await views.packets(capture, { after: 0, limit: 10, filter: "", ...query });
    return [total, matching, packets.map(({ number }) => number)];
  };
  expect(await told({})).toEqual([5, 5, [1, 2, 3, 4, 5]]);
  expect(await told({ skip: 3 })).toEqual([5, 5, [4, 5]]);
  expect(await told({ skip: 1, after: 2 })).toEqual([5, 5, [4, 5]]);
  expect(await told({ filter: "icmp.type == 8", skip: 1 })).toEqual([5, 3, [3, 5]]);
  expect(await told({ filter: "icmp.type == 8", skip: 1, after: 1 })).toEqual([5, 3, [5]]);
  expect(await told({ filter: "arp" })).toEqual([5, 0, []]);
});

test("fields of what was put together of several packets name the bytes that they stand in", async () => {
  const capture = join(work, "capture");
  await mkdir(capture);
  const icmp = Buffer.concat([Buffer.from([8, 0, 0, 0, 0, 1, 0, 1]), Buffer.alloc(1016, "x")]);
  const parts = [fragment(icmp.subarray(0, 512), 0, true), fragment(icmp.subarray(512), 512, false)];
  await writeFile(join(capture, "packets_000001.pcapng"), pcapng(parts));
  await views.packets(capture, { after: 0, limit: 10, filter: "" });
  const { bytes, sources, tree } = await views.packet(capture, 2);
  expect(bytes).toBe(parts[1]!.toString("hex"));
  expect(sources).toEqual([{ name: "Reassembled IPv4 (1024 bytes)", bytes: icmp.toString("hex") }]);
  expect(tree.find(({ filter }) => filter === "ip")).toMatchObject({ offset: 14, length: 20 });
  expect(tree.find(({ filter }) => filter === "ip")).not.toHaveProperty("source");
  expect(tree.find(({ filter }) => filter === "icmp")).toMatchObject({ offset: 0, length: 1024, source: 0, severity: "Warning" });
  expect(await views.packet(capture, 1)).not.toHaveProperty("sources");
});

test.skipIf(process.getuid?.() !== 0)("what a decoder plants where its next copy will be is not written to, nor given to it", async () => {
  const capture = join(work, "capture");
  await mkdir(capture);
  const ring = join(capture, "packets_000001.pcapng");
  await writeFile(ring, pcapng(2));
  const query = { after: 0, limit: 10, filter: "" };
  expect((await views.packets(capture, query)).total).toBe(2);

  const precious = join(work, "precious");
  await writeFile(precious, "root's", { mode: 0o600 });
  const planted = join(capture, "view", "capture-2.pcapng");
  await symlink(precious, planted);
  await writeFile(ring, pcapng(3));
  await expect.poll(async () => (await views.packets(capture, query)).total, { timeout: 20_000 }).toBe(3);
  expect(await readFile(precious, "utf8")).toBe("root's");
  expect((await stat(precious)).uid).toBe(0);
  expect((await lstat(planted)).isFile()).toBe(true);
});

/** Of the decoder that hangs below this process. */
function decoderPid(): number {
  const stats = new Map<number, { readonly name: string; readonly parent: number }>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      stats.set(Number(name), { name: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")), parent: Number(parent) });
    } catch (error) {
      // It ended meanwhile.
      if (!["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  const isOurs = (pid: number): boolean => pid === process.pid || (stats.has(pid) && isOurs(stats.get(pid)!.parent));
  const found = [...stats].filter(([pid, { name }]) => name === "sharkd" && isOurs(pid));
  expect(found).toHaveLength(1);
  return found[0]![0];
}

test.skipIf(process.getuid?.() !== 0)(
  "a decoder sees no process and no packets but its own, and all that it started ends with it",
  async () => {
    const capture = join(work, "capture");
    await mkdir(capture);
    await writeFile(join(capture, "packets_000001.pcapng"), pcapng(2));
    expect((await views.packets(capture, { after: 0, limit: 10, filter: "" })).total).toBe(2);
    const pid = decoderPid();
    for (const space of ["net", "mnt", "pid"])
      expect(readlinkSync(`/proc/${pid}/ns/${space}`)).not.toBe(readlinkSync(`/proc/self/ns/${space}`));
    expect(readdirSync(`/proc/${pid}/root${work}`)).toEqual([]);
    expect(readdirSync(`/proc/${pid}/cwd`)).toContain("capture-1.pcapng");
    expect(readFileSync(`/proc/${pid}/status`, "utf8")).toMatch(/^CapBnd:\t0+$/m);
    const started = spawn("nsenter", ["-t", String(pid), "--pid", "sh", "-c", "echo; sleep 600"], { stdio: ["ignore", "pipe", "ignore"] });
    const gone = once(started, "close");
    await once(started.stdout, "data");
    await views.close();
    await gone;
  },
);
