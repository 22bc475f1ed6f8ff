import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { connect, type LabwrightClient } from "../../src/client/index.ts";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { openUsers } from "../../src/hosts/local/accounts/users.ts";
import { eventually, type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import { PacketLimit } from "../../src/packets/pcapng-blocks.ts";
import { RawClient } from "./raw-client.ts";
import { heldBytes, openSocket, type Served, serve } from "./served.ts";

const run = promisify(execFile);
const yaml = `
name: wire
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`;

describe.skipIf(process.getuid?.() !== 0)("captures over the wire", () => {
  let local: TestLocalHost;
  let served: Served;
  let work: string;
  let admin: LabwrightClient;
  let ann: LabwrightClient;

  const as = (username: string, password: string) =>
    connect({ url: served.url, pin: served.fingerprint, credentials: { username, password } });

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), "labwright-wire-capture-"));
    local = await testLocalHost();
    await openUsers(join(local.paths.state, "users.json")).put("ann", "ann", "user");
    served = await serve({ host: local.host });
    admin = as("admin", "test");
    ann = as("ann", "ann");
    await admin.deployProject({ yaml });
    // A console that a busy machine has not brought to its prompt yet is asked again, too.
    const first = () => ping().catch((error: Error) => error.message);
    await eventually("a first ping", 90_000, first, (answered) => answered === true);
  });
  afterAll(async () => {
    admin?.close();
    ann?.close();
    await local?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
    await rm(work, { recursive: true, force: true });
  });
  afterEach(async () => {
    for (const { capture } of (await admin.listCaptures({ lab: "/wire" })).captures) await admin.removeCapture({ id: capture });
  });

  async function ping(): Promise<boolean> {
    const { output } = await admin.execConsole({ lab: "/wire", node: "h1", command: "ping -c1 -W5 10.0.0.2" });
    return output?.includes(" 0% packet loss") === true;
  }

  async function download(id: string): Promise<{ readonly file: string; readonly filename: string | undefined; readonly media: string }> {
    const { body, filename, mediaType } = await admin.downloadCapture({ id });
    const parts: Buffer[] = [];
    for await (const part of body as AsyncIterable<Buffer>) parts.push(part);
    const file = join(work, `${id}.pcapng`);
    await writeFile(file, Buffer.concat(parts));
    return { file, filename, media: mediaType };
  }

  async function types(file: string): Promise<string[]> {
    const { stdout } = await run("tshark", ["-r", file, "-T", "fields", "-e", "icmp.type"]);
    return stdout.trim() === "" ? [] : stdout.trim().split("\n");
  }

  /** Reads a stream until `enough`, then closes it. Returns the bytes. */
  async function heard(stream: Duplex, enough: (packets: number) => boolean): Promise<Buffer> {
    const parts: Buffer[] = [];
    const limit = new PacketLimit();
    for await (const part of stream as AsyncIterable<Buffer>) {
      parts.push(part);
      limit.take(part);
      if (enough(limit.packets)) break;
    }
    return Buffer.concat(parts);
  }

  test("a capture is started, downloaded while it runs and after, listed, stopped and removed", async () => {
    const started = await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0", filter: "icmp", snaplen: 60 });
    expect(started).toMatchObject({ node: "h1", interface: "eth0", url: `/api/v1/projects/captures/${started.capture}/pcapng` });
    const id = started.capture;
    expect(await ping()).toBe(true);
    await expect.poll(async () => types((await download(id)).file)).toEqual(["8", "0"]);
    expect(await admin.getCapture({ id })).toMatchObject({
      capture: id,
      lab: "/wire",
      status: "running",
      filter: "icmp",
      snaplen: 60,
      max_bytes: 64 << 20,
      truncated: false,
    });
    expect(await admin.stopCapture({ id })).toMatchObject({
      status: "stopped",
      packets: 2,
      dropped: 0,
      size_bytes: expect.any(Number),
      expires_at: expect.any(String),
    });
    const { file, filename, media } = await download(id);
    expect([filename, media, await types(file)]).toEqual(["wire-h1-eth0.pcapng", "application/x-pcapng", ["8", "0"]]);
    expect((await admin.listCaptures({ lab: "/wire" })).captures.map(({ capture }) => capture)).toEqual([id]);
    expect((await admin.listCaptures()).captures.map(({ capture }) => capture)).toEqual([id]);
    await admin.removeCapture({ id });
    for (const call of [admin.getCapture, admin.downloadCapture, admin.stopCapture, admin.removeCapture, admin.attachCapture]) {
      await expect(call({ id })).rejects.toMatchObject({ status: 404, code: "capture_not_found" });
    }
  });

  test("what cannot be captured is refused with its reason", async () => {
    const start = (more: object) => admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0", ...more });
    await expect(start({ node: "h9" })).rejects.toMatchObject({ code: "node_not_found" });
    await expect(start({ interface: "eth9" })).rejects.toMatchObject({ code: "bad_request", data: { problems: [{ path: "/interface" }] } });
    await expect(start({ filter: "hots 10.0.0.1" })).rejects.toMatchObject({
      code: "bad_request",
      data: { problems: [{ path: "/filter" }] },
    });
    await expect(start({ filter: "tcp) or (udp" })).rejects.toMatchObject({ code: "bad_request" });
    await expect(start({ filter: "inbound" })).rejects.toMatchObject({ code: "bad_request" });
    await expect(start({ lab: "/none" })).rejects.toMatchObject({ code: "lab_not_found" });
    await expect(admin.getCapture({ id: "../../etc" })).rejects.toMatchObject({ code: "capture_not_found" });
    expect((await admin.listCaptures()).captures).toEqual([]);
  });

  test("a capture of another's lab is as none, until the lab is shared", async () => {
    const { capture: id } = await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0" });
    await expect(ann.getCapture({ id })).rejects.toMatchObject({ code: "capture_not_found" });
    await expect(ann.listCaptures({ lab: "/wire" })).rejects.toMatchObject({ code: "lab_not_found" });
    expect((await ann.listCaptures()).captures).toEqual([]);
    await admin.setLabGrants({ lab: "/wire", grants: [{ user: "ann", right: "view" }] });
    expect(await ann.getCapture({ id })).toMatchObject({ status: "running" });
    await expect(ann.downloadCapture({ id })).rejects.toMatchObject({ code: "operation_not_allowed" });
    await expect(ann.stopCapture({ id })).rejects.toMatchObject({ code: "operation_not_allowed" });
    await expect(ann.startCapture({ lab: "/wire", node: "h1", interface: "eth0" })).rejects.toMatchObject({
      code: "operation_not_allowed",
    });
    await admin.setLabGrants({ lab: "/wire", grants: [{ user: "ann", right: "operate" }] });
    const stream = await ann.openCapture({ id });
    const ended = once(stream, "close");
    stream.resume();
    await admin.setLabGrants({ lab: "/wire", grants: [] });
    await ended;
  });

  test("a stream has what was captured before and what comes, and ends with the capture", async () => {
    const { capture: id } = await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0", filter: "icmp" });
    expect(await ping()).toBe(true);
    const first = await admin.openCapture({ id });
    expect(await ping()).toBe(true);
    const file = join(work, "stream.pcapng");
    await writeFile(file, await heard(first, (packets) => packets === 4));
    expect(await types(file)).toEqual(["8", "0", "8", "0"]);
    const second = await admin.openCapture({ id });
    const all = heard(second, () => false);
    await admin.stopCapture({ id });
    const limit = new PacketLimit();
    limit.take(await all);
    expect(limit.packets).toBe(4);
  });

  test("a stream over a WebSocket has the same bytes; a ticket is good once and for its session", async () => {
    const { capture: id } = await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0", filter: "icmp" });
    expect(await ping()).toBe(true);
    const { stream } = await admin.attachCapture({ id });
    const path = `/api/v1/projects/captures/stream/${stream}`;
    const { socket, heard: text } = openSocket(served.url, path, { Authorization: `Bearer ${admin.token}` });
    const limit = new PacketLimit();
    let at = 0;
    const packets = () => {
      const bytes = Buffer.from(text(), "latin1");
      limit.take(bytes.subarray(at));
      at = bytes.length;
      return limit.packets;
    };
    await expect.poll(packets).toBe(2);
    socket.terminate();
    await expect(admin.streamCapture({ ticket: stream })).rejects.toMatchObject({ code: "browser_token_invalid" });
    await admin.setLabGrants({ lab: "/wire", grants: [{ user: "ann", right: "operate" }] });
    const other = await admin.attachCapture({ id });
    await expect(ann.streamCapture({ ticket: other.stream })).rejects.toMatchObject({ code: "browser_token_invalid" });
    await admin.setLabGrants({ lab: "/wire", grants: [] });
  });

  test("a stream ends with the session that it was opened with, and no other does", async () => {
    const { capture: id } = await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0", filter: "icmp" });
    using leaving = as("admin", "test");
    const [gone, kept] = [await leaving.openCapture({ id }), await admin.openCapture({ id })];
    const ended = once(gone, "close");
    gone.resume();
    await leaving.logout();
    await ended;
    expect(kept.destroyed).toBe(false);
    kept.destroy();
  });

  test("packets are listed as rows, by number and by display filter, and decoded to the last field", async () => {
    const { capture: id } = await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0", filter: "icmp" });
    expect((await admin.listCapturePackets({ id })).packets).toEqual([]);
    expect(await ping()).toBe(true);
    await expect.poll(async () => (await admin.listCapturePackets({ id })).total).toBe(2);
    const { packets } = await admin.listCapturePackets({ id });
    expect(packets).toMatchObject([
      {
        number: 1,
        from: "10.0.0.1",
        to: "10.0.0.2",
        protocols: ["eth", "ip", "icmp", "data"],
        length: 98,
        summary: expect.stringContaining("request"),
      },
      { number: 2, from: "10.0.0.2", to: "10.0.0.1", length: 98, summary: expect.stringContaining("reply") },
    ]);
    expect(Math.abs(Date.parse(packets[0]!.at) - Date.now())).toBeLessThan(60_000);
    const numbers = async (query: object) => (await admin.listCapturePackets({ id, ...query })).packets.map(({ number }) => number);
    expect(await numbers({ after: "1" })).toEqual([2]);
    expect(await numbers({ limit: "1" })).toEqual([1]);
    expect(await numbers({ filter: "icmp.type == 0" })).toEqual([2]);
    expect(await numbers({ filter: "icmp", after: "1" })).toEqual([2]);
    expect(await numbers({ filter: "arp" })).toEqual([]);
    expect(await numbers({ skip: "1" })).toEqual([2]);
    expect(await admin.listCapturePackets({ id, filter: "icmp.type == 0" })).toMatchObject({ total: 2, matching: 1 });
    for (const filter of ["icmp.nope", "icmp) || (arp", "&&"]) {
      await expect(numbers({ filter })).rejects.toMatchObject({ code: "bad_request", data: { problems: [{ path: "/filter" }] } });
    }
    await expect(numbers({ limit: "5000" })).rejects.toMatchObject({ code: "bad_request" });
    const { tree, bytes } = await admin.getCapturePacket({ id, number: "2" });
    expect(bytes).toHaveLength(98 * 2);
    const icmp = tree.find(({ filter }) => filter === "icmp");
    expect(icmp).toMatchObject({ label: "Internet Control Message Protocol", offset: 34, length: 64 });
    expect(icmp?.children?.map(({ label }) => label)).toContain("Type: 0 (Echo (ping) reply)");
    // The request that it answers.
    expect(icmp?.children?.flatMap(({ packet }) => packet ?? [])).toEqual([1]);
    await expect(admin.getCapturePacket({ id, number: "3" })).rejects.toMatchObject({ code: "bad_request" });
  });

  test("captures are reported as events", async () => {
    using events = await admin.events({ lab: "/wire", types: "capture" });
    const seen: unknown[] = [];
    const listening = (async () => {
      for await (const { type, data } of events) if (type === "capture") seen.push(data);
    })();
    const { capture } = await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0" });
    await admin.stopCapture({ id: capture });
    await admin.removeCapture({ id: capture });
    await expect.poll(() => seen.length).toBe(3);
    expect(seen).toMatchObject(["running", "stopped", "removed"].map((status) => ({ capture, node: "h1", interface: "eth0", status })));
    events[Symbol.dispose]();
    await listening;
  });

  test("a capture that ends by itself is reported as an event once, although nobody reads it", async () => {
    using events = await admin.events({ lab: "/wire", types: "capture" });
    const seen: unknown[] = [];
    const listening = (async () => {
      for await (const { type, data } of events) if (type === "capture") seen.push(data);
    })();
    const [killed, stopped] = [
      await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0" }),
      await admin.startCapture({ lab: "/wire", node: "h2", interface: "eth0" }),
    ];
    const kill = 'kill -9 $(grep -lzxF "capture=$1" /proc/[0-9]*/cmdline 2> /dev/null | cut -d/ -f3)';
    await (await local.sandbox("/wire")).run(["sh", "-c", kill, "sh", killed.capture]);
    const failed = { capture: killed.capture, node: "h1", interface: "eth0", status: "failed", reason: expect.stringContaining("killed") };
    await expect.poll(() => seen.at(-1)).toMatchObject(failed);
    await admin.stopCapture({ id: stopped.capture });
    await expect.poll(() => seen.length).toBe(4);
    expect(seen[3]).toMatchObject({ capture: stopped.capture, status: "stopped" });
    events[Symbol.dispose]();
    await listening;
  });

  test("a viewer that does not read holds no memory, keeps nobody from capturing, and gets all of it when it reads again", async () => {
    const { capture: id } = await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0", filter: "icmp" });
    const { stream } = await admin.attachCapture({ id });
    const path = `/api/v1/projects/captures/stream/${stream}`;
    const { socket } = openSocket(served.url, path, { Authorization: `Bearer ${admin.token}` });
    const limit = new PacketLimit();
    socket.removeAllListeners("message").on("message", (data: Buffer) => void limit.take(data));
    await once(socket, "open");
    socket.pause();
    const before = heldBytes();
    // 40 MiB: less than the ring holds, and more than any buffer on the way may.
    const flood = "ping -q -A -c 4000 -s 5000 -W1 10.0.0.2 > /dev/null 2>&1; echo over";
    await admin.execConsole({ lab: "/wire", node: "h1", command: flood, timeout_ms: 60_000 });
    await expect.poll(() => heldBytes() - before, { timeout: 40_000, interval: 100 }).toBeLessThan(8 << 20);
    // A busy machine may drop some before they are taken: enough for no buffer to hide them.
    const { packets = 0, size_bytes } = await admin.stopCapture({ id });
    expect(size_bytes).toBeGreaterThan(16 << 20);
    socket.resume();
    await expect.poll(() => limit.packets).toBe(packets);
    socket.terminate();
  });

  test("its url leads to its packets where no pages are served", async () => {
    const { url, capture: id } = await admin.startCapture({ lab: "/wire", node: "h1", interface: "eth0", filter: "icmp" });
    expect(await ping()).toBe(true);
    await admin.stopCapture({ id });
    using raw = new RawClient(served.url);
    raw.token = admin.token ?? null;
    const answer = await raw.get(url);
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/x-pcapng"]);
    expect((await admin.getCapture({ id })).url).toBe(url);
  });

  describe("the command line", () => {
    const cli = (...args: readonly string[]): ChildProcess =>
      spawn(process.execPath, [testedProgram("cli/main"), ...args, "--url", served.url, "--pin", served.fingerprint], {
        env: { ...process.env, LABWRIGHT_TOKEN: admin.token, XDG_CONFIG_HOME: work },
        stdio: ["ignore", "pipe", "pipe"],
      });

    /** As Wireshark finds it: by a link in its folder, called without a command. */
    const extcap = (...words: readonly string[]): ChildProcess =>
      spawn(process.execPath, [testedProgram("cli/main"), ...words], {
        env: {
          ...process.env,
          LABWRIGHT_URL: served.url,
          LABWRIGHT_PIN: served.fingerprint,
          LABWRIGHT_TOKEN: admin.token,
          XDG_CONFIG_HOME: work,
        },
        stdio: ["ignore", "pipe", "pipe"],
      });

    async function ended(child: ChildProcess): Promise<{ readonly code: number | null; readonly out: Buffer; readonly err: string }> {
      const out: Buffer[] = [];
      let err = "";
      child.stdout!.on("data", (chunk: Buffer) => out.push(chunk));
      child.stderr!.on("data", (chunk: Buffer) => {
        err += chunk.toString();
      });
      const [code] = (await once(child, "close")) as [number | null];
      return { code, out: Buffer.concat(out), err };
    }

    test("capture -w - pipes pcapng and ends after --count packets, leaving nothing on the host", async () => {
      const child = cli("capture", "h1:eth0", "--lab", "/wire", "--filter", "icmp", "-w", "-", "--count", "3");
      const end = ended(child);
      await expect.poll(async () => (await admin.listCaptures({ lab: "/wire" })).captures.length).toBe(1);
      expect(await ping()).toBe(true);
      expect(await ping()).toBe(true);
      const { code, out, err } = await end;
      expect([code, err]).toMatchObject([0, expect.stringContaining("3 packets")]);
      const file = join(work, "piped.pcapng");
      await writeFile(file, out);
      expect(await types(file)).toEqual(["8", "0", "8"]);
      expect((await admin.listCaptures({ lab: "/wire" })).captures).toEqual([]);
    });

    test("as Wireshark calls it: interfaces, link types, settings, and packets into its pipe until it says stop", async () => {
      const outputOf = async (...words: readonly string[]) => {
        const { code, out, err } = await ended(extcap(...words));
        expect([code, err]).toEqual([0, ""]);
        return out.toString().split("\n");
      };
      expect(await outputOf("--extcap-interfaces", "--extcap-version=4.0")).toEqual([
        expect.stringMatching(/^extcap \{version=\d+\.\d+\.\d+\}\{display=Labwright\}$/),
        "interface {value=labwright/wire}{display=Labwright lab /wire}",
        "",
      ]);
      const one = ["--extcap-interface", "labwright/wire"];
      expect(await outputOf(...one, "--extcap-dlts")).toEqual(["dlt {number=1}{name=EN10MB}{display=Ethernet}", ""]);
      const settings = await outputOf(...one, "--extcap-config");
      expect(settings).toContain("value {arg=0}{value=h1:eth0}{display=h1:eth0 to h2:eth0}");
      for (const line of settings.slice(0, -1)) expect(line).toMatch(/^(arg \{number=\d\}\{call=--|value \{arg=\d\})/);
      expect(await outputOf(...one, "--extcap-capture-filter", "icmp")).toEqual([""]);

      const fifo = join(work, "wireshark.fifo");
      await run("mkfifo", [fifo]);
      const child = extcap("--capture", ...one, "--fifo", fifo, "--interface", "h1:eth0", "--extcap-capture-filter", "icmp");
      const end = ended(child);
      const limit = new PacketLimit();
      const parts: Buffer[] = [];
      const pipe = createReadStream(fifo).on("data", (part) => {
        parts.push(part as Buffer);
        limit.take(part as Buffer);
      });
      await expect.poll(() => parts.length).toBeGreaterThan(0);
      expect(await ping()).toBe(true);
      await expect.poll(() => limit.packets).toBe(2);
      const closed = once(pipe, "close");
      child.kill("SIGTERM");
      expect(await end).toMatchObject({ code: 0, err: "" });
      await closed;
      const file = join(work, "wireshark.pcapng");
      await writeFile(file, Buffer.concat(parts));
      expect(await types(file)).toEqual(["8", "0"]);
      expect((await admin.listCaptures({ lab: "/wire" })).captures).toEqual([]);

      const { code, err } = await ended(extcap("--capture", ...one, "--fifo", fifo));
      expect([code, err]).toEqual([1, expect.stringContaining("no interface of a node is selected")]);
    });

    test("a reader that goes ends a capture, and leaves nothing on the host", async () => {
      const child = cli("capture", "h1:eth0", "--lab", "/wire", "--filter", "icmp", "-w", "-");
      child.stderr!.resume();
      const end = once(child, "close");
      await once(child.stdout!, "data");
      child.stdout!.destroy();
      // The next write finds no reader.
      await expect
        .poll(
          async () => {
            await ping();
            return child.exitCode;
          },
          { timeout: 30_000 },
        )
        .toBe(0);
      await end;
      expect((await admin.listCaptures({ lab: "/wire" })).captures).toEqual([]);
    });

    test("Ctrl-C ends a capture into a file in order", async () => {
      const file = join(work, "interrupted.pcapng");
      const child = cli("capture", "h1:eth0", "--lab", "/wire", "--filter", "icmp", "-w", file);
      const end = ended(child);
      await expect.poll(async () => (await readFile(file).catch(() => Buffer.alloc(0))).length).toBeGreaterThan(0);
      expect(await ping()).toBe(true);
      child.kill("SIGINT");
      expect(await end).toMatchObject({ code: 0, err: expect.stringContaining("2 packets") });
      expect(await types(file)).toEqual(["8", "0"]);
      expect((await admin.listCaptures({ lab: "/wire" })).captures).toEqual([]);
    });
  });
});
