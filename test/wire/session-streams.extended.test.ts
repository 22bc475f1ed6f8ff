import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Host } from "../../src/hosts/host.ts";
import { openUsers, type Users } from "../../src/hosts/local/accounts/users.ts";
import { eventually, type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "./raw-client.ts";
import { openSocket, type Served, serve } from "./served.ts";

const yaml = `
name: ends
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`;
const lab = "/ends";
const hour = 3_600_000;

interface OpenedStream {
  readonly name: string;
  readonly ended: () => boolean;
}

describe.skipIf(process.getuid?.() !== 0)("the streams of a session", () => {
  let local: TestLocalHost;
  let admin: RawClient;
  let served: Served;
  /** ms that the service's clock is ahead. */
  let ahead = 0;
  /** More than loopback keeps for a reader that has stopped. */
  let capture = "";
  const closers: (() => void | Promise<void>)[] = [];

  const serveHost = (host: Host) => serve({ host, service: { clock: { now: () => Date.now() + ahead } } });

  beforeAll(async () => {
    local = await testLocalHost();
    served = await serveHost(local.host);
    admin = await served.signIn("admin", "test");
    expect((await admin.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
    const exec = async (command: string) =>
      (await admin.post("/api/v1/console/exec", { lab, node: "h1", command, timeout_ms: 60_000 })).json.data?.output as string | undefined;
    await eventually(
      "a first ping",
      90_000,
      () => exec("ping -c1 -W5 10.0.0.2"),
      (output) => output?.includes(" 0% packet loss") === true,
    );
    const started = await admin.post("/api/v1/projects/capture", { lab, node: "h1", interface: "eth0" });
    expect(started.json).toMatchObject({ ok: true });
    capture = started.json.data.capture;
    // A busy machine sends less in the time of one command.
    const grown = async () => {
      await exec("ping -q -f -c 2000 -s 1400 10.0.0.2");
      return (await admin.get(`/api/v1/projects/captures/${capture}`)).json.data.size_bytes as number;
    };
    await eventually("a large capture", 120_000, grown, (bytes) => bytes > 20_000_000);
  });
  afterAll(async () => {
    await local?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    ahead = 0;
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  function openUpgrade(url: string, client: RawClient, name: string, path: string): OpenedStream {
    const opened = openSocket(url, path, { Authorization: `Bearer ${client.token}` });
    closers.push(() => opened.socket.terminate());
    return { name, ended: () => opened.closed() !== undefined || opened.refused() !== undefined };
  }

  async function openAnswer(
    client: RawClient,
    name: string,
    path: string,
    accept = "*/*",
  ): Promise<OpenedStream & { readonly resume: () => void; readonly heard: () => string }> {
    const { socket, heard, ended } = await client.secure(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: ${accept}\r\nAuthorization: Bearer ${client.token}\r\n\r\n`,
    );
    closers.push(() => void socket.destroy());
    // At once: on a busy machine the whole download would come before the next look at it.
    socket.once("data", () => socket.pause());
    await expect.poll(heard).toContain("200 OK");
    let over = false;
    // It may be reset.
    socket.on("error", () => {});
    void ended().then(() => {
      over = true;
    });
    return { name, heard, ended: () => over, resume: () => void socket.resume() };
  }

  /** One of each kind, none of which makes a call from here on. */
  async function openAll(url: string, client: RawClient): Promise<readonly OpenedStream[]> {
    const post = async (path: string, body: object) => (await client.post(path, body)).json.data.stream as string;
    const streams = [
      openUpgrade(url, client, "console", `/api/v1/console/stream/${await post("/api/v1/console/attach", { lab, node: "h1" })}`),
      openUpgrade(url, client, "traffic", `/api/v1/projects/traffic/stream/${await post("/api/v1/projects/traffic/attach", { lab })}`),
      openUpgrade(
        url,
        client,
        "capture",
        `/api/v1/projects/captures/stream/${await post(`/api/v1/projects/captures/${capture}/attach`, {})}`,
      ),
    ];
    const events = await openAnswer(client, "events", "/api/v1/events");
    const source = await openAnswer(client, "event source", "/api/v1/events", "text/event-stream");
    for (const each of [events, source]) each.resume();
    return [...streams, events, source];
  }

  const all = ["console", "traffic", "capture", "events", "event source"];

  const stillOpen = (streams: readonly OpenedStream[]) => streams.filter(({ ended }) => !ended()).map(({ name }) => name);

  test.each([
    ["12 hours without a call", 12],
    ["7 days", 7 * 24],
  ])("all end after %s, without any further call", async (_name, hours) => {
    const client = await served.signIn("admin", "test");
    const streams = await openAll(served.url, client);
    const later = await served.signIn("admin", "test");
    ahead += 11 * hour;
    expect((await later.get("/api/v1/session")).status).toBe(200);
    const others = await openAll(served.url, later);
    await expect.poll(() => stillOpen(streams)).toEqual(all);
    ahead = hours * hour;
    await expect.poll(() => stillOpen(streams)).toEqual([]);
    // They end with the session's lifetime, or were used later.
    await expect.poll(() => stillOpen(others)).toEqual(hours === 12 ? all : []);
  });

  /** The session ends at most half a second after its cause; the rest is for a busy machine. */
  const soon = { timeout: 5_000, interval: 20 };

  test.each<[string, (accounts: Users) => Promise<unknown>]>([
    [
      "its lifetime ends",
      async () => {
        ahead = 12 * hour;
      },
    ],
    ["its account gets another password", (accounts) => accounts.put("eva", "another password", "admin")],
    ["its account gets the same password again", (accounts) => accounts.put("eva", "long enough", "admin")],
    ["its account is removed", (accounts) => accounts.remove("eva")],
    ["its account is removed and made again", (accounts) => accounts.remove("eva").then(() => accounts.put("eva", "long enough", "admin"))],
  ])("each ends soon after %s, without any further call, and streams of others stay", async (name, end) => {
    const accounts = openUsers(join(local.paths.state, "users.json"));
    await accounts.put("eva", "long enough", "admin");
    const client = await served.signIn("eva", "long enough");
    const streams = await openAll(served.url, client);
    const others = name.includes("lifetime") ? [] : await openAll(served.url, await served.signIn("admin", "test"));
    await expect.poll(() => stillOpen(streams)).toEqual(all);
    await end(accounts);
    await expect.poll(() => stillOpen(streams), soon).toEqual([]);
    expect(stillOpen(others)).toEqual(others.map((stream) => stream.name));
  });

  test("a download whose client breaks off leaves no open file and no process", async () => {
    const client = await served.signIn("admin", "test");
    const before = { files: await openFiles(), children: await childrenOf(process.pid) };
    const downloads = await Promise.all(
      Array.from({ length: 4 }, () => openAnswer(client, "download", `/api/v1/projects/captures/${capture}/pcapng`)),
    );
    expect(downloads.map(({ ended }) => ended())).toEqual([false, false, false, false]);
    const { stream } = (await client.post(`/api/v1/projects/captures/${capture}/attach`, {})).json.data;
    const follower = openSocket(served.url, `/api/v1/projects/captures/stream/${stream}`, { Authorization: `Bearer ${client.token}` });
    await expect.poll(() => follower.frames.length).toBeGreaterThan(0);
    // They are being read: otherwise nothing could be left.
    expect((await openFiles()).length).toBeGreaterThan(before.files.length);
    follower.socket.terminate();
    for (const close of closers.splice(0)) await close();
    await expect.poll(openFiles).toEqual(before.files);
    await expect.poll(async () => (await childrenOf(process.pid)).filter((pid) => !before.children.includes(pid))).toEqual([]);
    expect((await client.get(`/api/v1/projects/captures/${capture}`)).json.data.status).toBe("running");
  });

  /** Files of captures that this process, which is the service, has open. */
  async function openFiles(): Promise<readonly string[]> {
    const descriptors = await readdir("/proc/self/fd");
    // One that was closed meanwhile is not open.
    const files = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
    return files.filter((file) => file.startsWith(local.paths.state) && file.includes(capture)).sort();
  }

  async function childrenOf(pid: number): Promise<readonly string[]> {
    const threads = await readdir(`/proc/${pid}/task`);
    const lists = await Promise.all(threads.map((id) => readFile(`/proc/${pid}/task/${id}/children`, "utf8").catch(() => "")));
    return lists.flatMap((list) => list.trim().split(" ")).filter((child) => child !== "");
  }

  test("all end also on a host that has no accounts", async () => {
    const { accounts: _accounts, ...host } = local.host;
    const other = await serveHost({ ...host, close: async () => {} });
    closers.push(async () => other[Symbol.asyncDispose]());
    const client = await other.signIn("admin", "test");
    const streams = await openAll(other.url, client);
    ahead = 12 * hour;
    await expect.poll(() => stillOpen(streams)).toEqual([]);
  });

  test.each([
    [
      "expires",
      async () => {
        ahead = 12 * hour;
      },
    ],
    ["is logged out", async (client: RawClient) => void (await client.post("/api/v1/logout", {}))],
  ])("a download breaks off when its session %s, so that no part is taken for the whole", async (_name, end) => {
    const client = await served.signIn("admin", "test");
    const download = await openAnswer(client, "download", `/api/v1/projects/captures/${capture}/pcapng`);
    const streams = await openAll(served.url, client);
    await end(client);
    // They end together with the download, which is not read meanwhile.
    await expect.poll(() => stillOpen(streams)).toEqual([]);
    download.resume();
    await expect.poll(download.ended, { timeout: 30_000 }).toBe(true);
    expect(download.heard().length).toBeLessThan(20_000_000);
    expect(download.heard()).not.toMatch(/\r\n0\r\n\r\n$/);
  });

  test("a stream that is opened while its session ends is refused or closed", async () => {
    const client = await served.signIn("admin", "test");
    const { stream } = (await client.post("/api/v1/console/attach", { lab, node: "h1" })).json.data;
    const console = openUpgrade(served.url, client, "console", `/api/v1/console/stream/${stream}`);
    expect((await client.post("/api/v1/logout", {})).status).toBe(200);
    await expect.poll(console.ended).toBe(true);
  });
});
