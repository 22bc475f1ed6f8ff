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

/** So many Ethernet frames. */
function pcapng(frames: number): Buffer {
  const section = block(0x0a0d0d0a, Buffer.from("4d3c2b1a01000000ffffffffffffffff", "hex"));
  const port = block(1, Buffer.from("0100000000000000", "hex"));
  const head = Buffer.alloc(20);
  head.writeUInt32LE(60, 12);
  head.writeUInt32LE(60, 16);
  const frame = block(6, Buffer.concat([head, Buffer.alloc(60, 0xff)]));
  return Buffer.concat([section, port, ...Array.from({ length: frames }, () => frame)]);
}

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
