import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTrash, type Trash } from "../files/trash.ts";
import { localPaths } from "../machine/paths.ts";
import { CaptureViews } from "./capture-views.ts";
import { Decoders } from "./decoders.ts";

const program = localPaths(process.env, process.getuid!()).decoder;
let work: string;
let trash: Trash;
let decoders: Decoders;
let views: CaptureViews;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-views-"));
  trash = await openTrash(join(work, "trash"), unexpected);
  decoders = await openDecoders();
  views = new CaptureViews(decoders);
});
afterEach(async () => {
  await decoders.close();
  await trash.emptied();
  await rm(work, { recursive: true, force: true });
});

function openDecoders(most = 4): Promise<Decoders> {
  return Decoders.open({ program, state: work, trash, most, warn: unexpected });
}

function unexpected(text: string): void {
  throw new Error(text);
}

/** A block of pcapng, with its length at both ends. */
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

/** A part of an IPv4 packet from 10.0.0.1 to 10.0.0.2 with ICMP in it. @param at its offset, bytes */
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
  const listed = async (query: object) => {
    const { total, matching, packets } = await views.packets(capture, "ann", { after: 0, limit: 10, filter: "", ...query });
    return [total, matching, packets.map(({ number }) => number)];
  };
  expect(await listed({})).toEqual([5, 5, [1, 2, 3, 4, 5]]);
  expect(await listed({ skip: 3 })).toEqual([5, 5, [4, 5]]);
  expect(await listed({ skip: 1, after: 2 })).toEqual([5, 5, [4, 5]]);
  expect(await listed({ filter: "icmp.type == 8", skip: 1 })).toEqual([5, 3, [3, 5]]);
  expect(await listed({ filter: "icmp.type == 8", skip: 1, after: 1 })).toEqual([5, 3, [5]]);
  expect(await listed({ filter: "arp" })).toEqual([5, 0, []]);
});

test("fields of data that was reassembled from several packets name the bytes that contain them", async () => {
  const capture = join(work, "capture");
  await mkdir(capture);
  const icmp = Buffer.concat([Buffer.from([8, 0, 0, 0, 0, 1, 0, 1]), Buffer.alloc(1016, "x")]);
  const parts = [fragment(icmp.subarray(0, 512), 0, true), fragment(icmp.subarray(512), 512, false)];
  await writeFile(join(capture, "packets_000001.pcapng"), pcapng(parts));
  await views.packets(capture, "ann", { after: 0, limit: 10, filter: "" });
  const { bytes, sources, tree } = await views.packet(capture, "ann", 2);
  expect(bytes).toBe(parts[1]!.toString("hex"));
  expect(sources).toEqual([{ name: "Reassembled IPv4 (1024 bytes)", bytes: icmp.toString("hex") }]);
  expect(tree.find(({ filter }) => filter === "ip")).toMatchObject({ offset: 14, length: 20 });
  expect(tree.find(({ filter }) => filter === "ip")).not.toHaveProperty("source");
  expect(tree.find(({ filter }) => filter === "icmp")).toMatchObject({ offset: 0, length: 1024, source: 0, severity: "Warning" });
  expect(await views.packet(capture, "ann", 1)).not.toHaveProperty("sources");
});

test.skipIf(process.getuid?.() !== 0)(
  "a file that a decoder plants at the path of its next copy is neither written to nor given to it",
  async () => {
    const capture = join(work, "capture");
    await mkdir(capture);
    const ring = join(capture, "packets_000001.pcapng");
    await writeFile(ring, pcapng(2));
    const query = { after: 0, limit: 10, filter: "" };
    expect((await views.packets(capture, "ann", query)).total).toBe(2);

    const precious = join(work, "precious");
    await writeFile(precious, "root's", { mode: 0o600 });
    const [view = ""] = await readdir(join(work, "views"));
    const planted = join(work, "views", view, "capture-2.pcapng");
    await symlink(precious, planted);
    await writeFile(ring, pcapng(3));
    await expect.poll(async () => (await views.packets(capture, "ann", query)).total).toBe(3);
    expect(await readFile(precious, "utf8")).toBe("root's");
    expect((await stat(precious)).uid).toBe(0);
    expect((await lstat(planted)).isFile()).toBe(true);
  },
);

/** Of the decoders that hang below this process. */
function decoderPids(): readonly number[] {
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
  return [...stats].filter(([pid, { name }]) => name === "sharkd" && isOurs(pid)).map(([pid]) => pid);
}

test.skipIf(process.getuid?.() !== 0)(
  "a decoder sees no process and no packets but its own, and all that it started ends with it",
  async () => {
    const capture = join(work, "capture");
    await mkdir(capture);
    await writeFile(join(capture, "packets_000001.pcapng"), pcapng(2));
    expect((await views.packets(capture, "ann", { after: 0, limit: 10, filter: "" })).total).toBe(2);
    const [pid, ...others] = decoderPids();
    expect(others).toEqual([]);
    for (const space of ["net", "mnt", "pid", "ipc", "uts"])
      expect(readlinkSync(`/proc/${pid}/ns/${space}`)).not.toBe(readlinkSync(`/proc/self/ns/${space}`));
    const root = `/proc/${pid}/root`;
    expect(
      readdirSync(root)
        .filter((name) => !["lib", "lib64"].includes(name))
        .sort(),
    ).toEqual(["etc", "usr", "view"]);
    expect(readdirSync(`${root}/etc`)).toEqual(["ld.so.cache"]);
    expect(readdirSync(`${root}/usr/bin`)).toEqual(["sharkd"]);
    expect(readdirSync(`/proc/${pid}/cwd`).sort()).toEqual(["capture-1.pcapng", "preferences"]);
    const mounts = readFileSync(`/proc/${pid}/mounts`, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(" ")[3]!.split(","));
    for (const options of mounts) expect(options).toEqual(expect.arrayContaining(["ro", "nosuid", "nodev"]));
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"]) expect(status).toMatch(new RegExp(`^Cap${set}:\\t0+$`, "m"));
    expect(status).toMatch(/^Uid:\t(\d+)\t\1\t\1\t\1$/m);
    expect(status).not.toMatch(/^Uid:\t0\t/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    expect(readFileSync(`/proc/${pid}/limits`, "utf8")).toMatch(/^Max address space +2147483648 +2147483648/m);
    const started = spawn("nsenter", ["-t", String(pid), "--pid", "sh", "-c", "echo; sleep 600"], { stdio: ["ignore", "pipe", "ignore"] });
    const gone = once(started, "close");
    await once(started.stdout, "data");
    await decoders.close();
    await gone;
  },
);

const everything = { after: 0, limit: 10, filter: "" };

async function captureOf(name: string, frames: number): Promise<string> {
  const capture = join(work, name);
  await mkdir(capture);
  await writeFile(join(capture, "packets_000001.pcapng"), pcapng(frames));
  return capture;
}

test("a decoder works in a directory that only the service can write to: the capture's directory, which is the lab's, is only read", async () => {
  const capture = await captureOf("capture", 2);
  const precious = join(work, "precious");
  await mkdir(precious);
  await symlink(precious, join(capture, "view"));
  const before = (await readdir(capture)).sort();
  expect((await views.packets(capture, "ann", everything)).total).toBe(2);
  expect((await readdir(capture)).sort()).toEqual(before);
  expect(await readlink(join(capture, "view"))).toBe(precious);
  expect(await readdir(precious)).toEqual([]);
  const home = await stat(join(work, "views"));
  expect([home.uid, home.mode & 0o777]).toEqual([process.getuid?.(), 0o700]);
  await decoders.close();
  expect(await readdir(join(work, "views"))).toEqual([]);
});

test("the next service removes what decoders of a killed service left", async () => {
  const capture = await captureOf("capture", 2);
  await views.packets(capture, "ann", everything);
  // As after a kill: the directory is there, and nobody knows it.
  const again = await openDecoders();
  expect(await readdir(join(work, "views"))).toEqual([]);
  await again.close();
});

/** A look that lasts until the decoder is let go on. */
async function stuckLook(capture: string): Promise<{ readonly goOn: () => void; readonly answer: Promise<unknown> }> {
  const known = new Set(decoderPids());
  await views.packets(capture, "ann", everything);
  const [pid] = decoderPids().filter((one) => !known.has(one));
  process.kill(pid!, "SIGSTOP");
  const answer = views.packets(capture, "ann", everything).catch((error: unknown) => error);
  return { goOn: () => process.kill(pid!, "SIGCONT"), answer };
}

test("a look at one capture does not wait for that at another", async () => {
  const slow = await stuckLook(await captureOf("slow", 1));
  expect((await views.packets(await captureOf("quick", 3), "ann", everything)).total).toBe(3);
  slow.goOn();
  await slow.answer;
});

test("no more decoders run than may: a look waits for one that is done, and takes its place", async () => {
  await decoders.close();
  decoders = await openDecoders(1);
  views = new CaptureViews(decoders);
  const slow = await stuckLook(await captureOf("slow", 1));
  const waiting = ["first", "second"].map(async (name, i) => (await views.packets(await captureOf(name, i + 2), "ann", everything)).total);
  await expect.poll(() => existsSync(join(work, "second"))).toBe(true);
  expect(decoderPids()).toHaveLength(1);
  slow.goOn();
  await slow.answer;
  expect(await Promise.all(waiting)).toEqual([2, 3]);
  expect(decoderPids()).toHaveLength(1);
  expect(await readdir(join(work, "views"))).toHaveLength(1);
});

test("a decoder that nobody uses makes room for another, and its capture is read again at the next request", async () => {
  await decoders.close();
  decoders = await openDecoders(1);
  views = new CaptureViews(decoders);
  const [one, two] = [await captureOf("one", 1), await captureOf("two", 2)];
  for (const total of [1, 2, 1]) expect((await views.packets(total === 1 ? one : two, "ann", everything)).total).toBe(total);
  expect(decoderPids()).toHaveLength(1);
});

test("a display filter that is longer than the decoder reads is refused with the limit, and the decoder serves the next one at once", async () => {
  const capture = await captureOf("capture", 3);
  const longest = "frame.number == 1".padEnd(1794, " ");
  const long = Array.from({ length: 90 }, () => "ip.addr == 10.0.0.1").join(" or ");
  expect((await views.packets(capture, "ann", { ...everything, filter: longest, after: 0 })).matching).toBe(1);
  const [pid] = decoderPids();
  const started = performance.now();
  for (const filter of [long, `${longest} or arp`, `frame contains "${'\\"'.repeat(800)}"`]) {
    const failure = await views.packets(capture, "ann", { ...everything, filter }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "bad_request", data: { problems: [{ path: "/filter" }] } });
    expect((failure as Error).message).toMatch(/may have 1796 bytes .* this one has \d+/);
  }
  expect((await views.packets(capture, "ann", { ...everything, filter: "frame" })).matching).toBe(3);
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(decoderPids()).toEqual([pid]);
});

test("the longest display filter is still sent whole with a number to begin after", async () => {
  const capture = await captureOf("capture", 3);
  const filter = "frame.number != 2".padEnd(1794, " ");
  const { packets } = await views.packets(capture, "ann", { after: 2, limit: 1000, skip: 0, filter });
  expect(packets.map(({ number }) => number)).toEqual([3]);
});

test("control characters in a display filter are refused", async () => {
  const capture = await captureOf("capture", 1);
  for (const code of [0, 1, 7, 8, 0x1b, 0x7f]) {
    const filter = `ip${String.fromCharCode(code)}`;
    await expect(views.packets(capture, "ann", { ...everything, filter })).rejects.toMatchObject({ code: "bad_request" });
  }
});

test("one user's looks, however many and slow, leave decoders to another user", async () => {
  const stuck = [await stuckLook(await captureOf("slow1", 1)), await stuckLook(await captureOf("slow2", 1))];
  let third: unknown;
  const more = captureOf("slow3", 1).then(async (capture) => (third = await views.packets(capture, "ann", everything)));
  expect((await views.packets(await captureOf("quick", 3), "bob", everything)).total).toBe(3);
  expect(third).toBeUndefined();
  expect(decoderPids()).toHaveLength(3);
  for (const { goOn } of stuck) goOn();
  await Promise.all([more, ...stuck.map(({ answer }) => answer)]);
});

test("a slow look of one user at a capture does not delay another user's look at the same one", async () => {
  const capture = await captureOf("shared", 2);
  const slow = await stuckLook(capture);
  expect((await views.packets(capture, "bob", everything)).total).toBe(2);
  slow.goOn();
  await slow.answer;
  await decoders.forget(capture);
  expect(decoderPids()).toEqual([]);
});

test("without the program that confines decoders packets are not decoded, and the answer says what to do", async () => {
  const without = await Decoders.open({ program: join(work, "missing"), state: work, trash, most: 1, warn: unexpected });
  const failure = await new CaptureViews(without)
    .packets(await captureOf("capture", 1), "ann", everything)
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "host_error", message: expect.stringContaining("labwright setup") });
  await without.close();
});
