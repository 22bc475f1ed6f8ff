import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type LabwrightClient } from "../../src/client/index.ts";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { eventually, type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import { openSocket, type Served, serve } from "./served.ts";

const yaml = `
name: talk
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0", "ip addr add 10.0.1.2/24 dev eth1"]}
  h3: {template: linux, exec: ["ip addr add 10.0.1.3/24 dev eth0"]}
networks:
  lan: {type: bridge}
links:
  - ["h1:eth0", "h2:eth0"]
  - ["h2:eth1", "lan"]
  - ["h3:eth0", "lan"]
traffic_filters:
  - {name: pings, match: icmp}
  - {name: lan-arp, match: arp, links: ["h3:eth0"]}
`;

interface Line {
  readonly at: string;
  readonly link: string;
  readonly from: string;
  readonly to: string;
  readonly length: number;
  readonly protocols: readonly string[];
  readonly summary: string;
  readonly filter: string | null;
}

describe.skipIf(process.getuid?.() !== 0)("traffic over the wire", () => {
  let local: TestLocalHost;
  let served: Served;
  let admin: LabwrightClient;

  beforeAll(async () => {
    local = await testLocalHost();
    served = await serve({ host: local.host });
    admin = connect({ url: served.url, pin: served.fingerprint, credentials: { username: "admin", password: "test" } });
    await admin.deployProject({ yaml });
    await eventually(
      "first pings",
      90_000,
      // A console that a busy machine has not brought to its prompt yet is asked again, too.
      () =>
        Promise.all([ping("h1", "10.0.0.2"), ping("h2", "10.0.1.3")]).then(
          (both) => both.every(Boolean),
          (error: Error) => error.message,
        ),
      (answered) => answered === true,
    );
  });
  afterAll(async () => {
    admin?.close();
    await local?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  });

  async function ping(node: string, to: string): Promise<boolean> {
    const { output } = await admin.execConsole({ lab: "/talk", node, command: `ping -c1 -W1 ${to}` });
    return output?.includes(" 0% packet loss") === true;
  }

  /** Returns the lines that a viewer gets while `act` is repeated, until `enough`. */
  async function heard(input: object, act: () => Promise<unknown>, enough: (lines: readonly Line[]) => boolean): Promise<readonly Line[]> {
    using stream = await admin.openTraffic({ lab: "/talk", ...input });
    const lines: Line[] = [];
    let done = false;
    const listening = (async () => {
      for await (const line of stream) {
        if ("link" in line) lines.push(line as unknown as Line);
        if (enough(lines)) break;
      }
      done = true;
    })();
    await eventually(
      "the traffic",
      60_000,
      async () => {
        await act();
        return lines;
      },
      () => done || enough(lines),
    );
    stream[Symbol.dispose]();
    await listening.catch(() => undefined);
    return lines;
  }

  const shown = (line: Line) => `${line.from} → ${line.to}: ${line.summary.replace(/ id \d+ seq \d+/, "")}`;

  test("each packet of a link is reported once, in the lab's names, with its direction", async () => {
    const lines = await heard(
      { filters: ["pings"], link: "h2:eth0 -- h1:eth0" },
      () => ping("h1", "10.0.0.2"),
      (all) => all.length >= 2,
    );
    expect(lines.slice(0, 2).map(shown)).toEqual([
      "h1:eth0 → h2:eth0: 10.0.0.1 → 10.0.0.2 ICMP echo request",
      "h2:eth0 → h1:eth0: 10.0.0.2 → 10.0.0.1 ICMP echo reply",
    ]);
    expect(lines[0]).toMatchObject({ link: "h1:eth0 -- h2:eth0", length: 98, protocols: ["eth", "ip", "icmp"], filter: "pings" });
    expect(Math.abs(Date.now() - Date.parse(lines[0]!.at))).toBeLessThan(60_000);
  });

  test("a packet that crosses a network is reported on each link that it takes", async () => {
    const lines = await heard(
      { filters: ["pings"], node: "h3" },
      () => ping("h2", "10.0.1.3"),
      (all) => all.length >= 2,
    );
    expect(lines.slice(0, 2).map(shown)).toEqual([
      "lan → h3:eth0: 10.0.1.2 → 10.0.1.3 ICMP echo request",
      "h3:eth0 → lan: 10.0.1.3 → 10.0.1.2 ICMP echo reply",
    ]);
    const both = await heard(
      { filters: ["pings"] },
      () => ping("h2", "10.0.1.3"),
      (all) => new Set(all.map(({ link }) => link)).size === 2,
    );
    expect(new Set(both.map(({ link }) => link))).toEqual(new Set(["h2:eth1 -- lan", "h3:eth0 -- lan"]));
  });

  test("without filters every packet is reported, named by the filter that matches; a filter counts on its links only", async () => {
    const act = async () => {
      await admin.execConsole({ lab: "/talk", node: "h2", command: "ip neigh flush all" });
      await ping("h2", "10.0.1.3");
    };
    const lines = await heard(
      { node: "h2" },
      act,
      (all) => all.some(({ protocols }) => protocols.includes("arp")) && all.some(({ filter }) => filter === "pings"),
    );
    expect(lines.filter(({ protocols }) => protocols.includes("arp")).map(({ filter }) => filter)).not.toContain("lan-arp");
    const narrowed = await heard({ filters: ["lan-arp"] }, act, (all) => all.length > 0);
    expect(new Set(narrowed.map(({ link, filter }) => `${link} ${filter}`))).toEqual(new Set(["h3:eth0 -- lan lan-arp"]));
  });

  test("rates are those of the links with packets, in each direction, from the counters of the host", async () => {
    using stream = await admin.openTraffic({ lab: "/talk", rates: true });
    let rates: readonly { readonly link: string; readonly from: string; readonly packets: number; readonly bits: number }[] = [];
    const reading = (async () => {
      for await (const line of stream) if ("rates" in line) rates = (line["rates"] as { links: typeof rates }).links;
    })();
    await eventually(
      "the rates of pings",
      60_000,
      async () => {
        await ping("h1", "10.0.0.2");
        return rates;
      },
      (links) => ["h1:eth0", "h2:eth0"].every((end) => links.some(({ link, from }) => link === "h1:eth0 -- h2:eth0" && from === end)),
    );
    for (const { packets, bits } of rates) expect(bits / packets).toBeGreaterThan(8 * 14);
    stream[Symbol.dispose]();
    await reading.catch(() => undefined);
    await expect(admin.attachTraffic({ lab: "/talk", rates: true, filters: ["pings"] })).rejects.toMatchObject({ code: "bad_request" });
  });

  test("what is asked for must be there", async () => {
    const attach = (more: object) => admin.attachTraffic({ lab: "/talk", ...more });
    await expect(attach({ filters: ["nope"] })).rejects.toMatchObject({ code: "bad_request", data: { problems: [{ path: "/filters" }] } });
    await expect(attach({ node: "h9" })).rejects.toMatchObject({ code: "node_not_found" });
    await expect(attach({ link: "h1:eth0 -- h3:eth0" })).rejects.toMatchObject({ code: "link_not_found" });
    await expect(attach({ lab: "/none" })).rejects.toMatchObject({ code: "lab_not_found" });
    await expect(attach({ node: "" })).resolves.toMatchObject({ transport: "host-traffic" });
    const { stream } = await attach({});
    const used = await admin.streamTraffic({ ticket: stream });
    used.destroy();
    await expect(admin.streamTraffic({ ticket: stream })).rejects.toMatchObject({ code: "browser_token_invalid" });
  });

  test("viewers of a link share one process on the host, from the first to the last", async () => {
    const sandbox = await local.sandbox("/talk");
    const taps = async () => {
      const { stdout } = await sandbox.run([
        "sh",
        "-c",
        "grep -lz watch /proc/[0-9]*/cmdline 2> /dev/null | while read f; do tr '\\0' ' ' < $f; echo; done",
      ]);
      return stdout.split("\n").filter((line) => line.includes("labwright-tap watch")).length;
    };
    const input = { lab: "/talk", link: "h1:eth0 -- h2:eth0" };
    using first = await admin.openTraffic(input);
    using second = await admin.openTraffic(input);
    await eventually("one tap", 30_000, taps, (count) => count === 1);
    first[Symbol.dispose]();
    expect(await taps()).toBe(1);
    second[Symbol.dispose]();
    await eventually("no tap", 30_000, taps, (count) => count === 0);
  });

  test("a viewer that cannot follow all packets gets a sample, and their number", async () => {
    using stream = await admin.openTraffic({ lab: "/talk", link: "h1:eth0 -- h2:eth0", filters: ["pings"] });
    const counted = { lines: 0, seen: 0, shown: 0 };
    const listening = (async () => {
      for await (const line of stream) {
        if ("sampled" in line) {
          const { seen, told: shown } = line.sampled as { readonly seen: number; readonly told: number };
          expect(shown).toBeLessThanOrEqual(1_000);
          counted.seen += seen;
          counted.shown += shown;
        } else counted.lines++;
      }
    })();
    await eventually(
      "a first line",
      60_000,
      async () => {
        await ping("h1", "10.0.0.2");
        return counted.lines;
      },
      (lines) => lines > 0,
    );
    const flood = "ping -q -A -c 6000 -W1 10.0.0.2 > /dev/null 2>&1; echo over";
    await admin.execConsole({ lab: "/talk", node: "h1", command: flood, timeout_ms: 60_000 });
    await eventually(
      "all of it counted",
      60_000,
      async () => counted,
      ({ seen, shown }) => seen > shown,
    );
    expect(counted.lines).toBeLessThan(12_000);
    stream[Symbol.dispose]();
    await listening.catch(() => undefined);
  });

  test("labwright traffic shows a line a packet, or an object, until Ctrl-C, and names an unknown filter", async () => {
    const main = testedProgram("cli/main");
    const traffic = (...words: readonly string[]) => {
      const argv = [main, "traffic", "--lab", "/talk", "--url", served.url, "--pin", served.fingerprint, ...words];
      const env = { ...process.env, LABWRIGHT_TOKEN: admin.token, XDG_CONFIG_HOME: tmpdir() };
      const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "pipe"] });
      const said = { out: "", err: "" };
      for (const [stream, name] of [
        [child.stdout, "out"],
        [child.stderr, "err"],
      ] as const)
        stream.on("data", (chunk: Buffer) => {
          said[name] += chunk.toString();
        });
      return { child, said, closed: once(child, "close") as Promise<[number | null]> };
    };
    // The first may be the answer to a ping of before.
    const interrupted = async (lines: readonly RegExp[], ...words: readonly string[]) => {
      const { child, said, closed } = traffic("--node", "h1", "--filter", "pings", ...words);
      await eventually(
        `${lines.length} packets`,
        30_000,
        async () => {
          await ping("h1", "10.0.0.2");
          return said.out;
        },
        (out) => lines.every((line) => line.test(out)),
      );
      child.kill("SIGINT");
      expect([await closed, said.err]).toEqual([[0, null], "Ctrl-C ends the display\n"]);
    };
    await interrupted([
      /^\d\d:\d\d:\d\d {2}h1:eth0 → h2:eth0 {2}10\.0\.0\.1 → 10\.0\.0\.2 ICMP echo request id \d+ seq 1 {2}pings$/m,
      /^\d\d:\d\d:\d\d {2}h2:eth0 → h1:eth0 {2}10\.0\.0\.2 → 10\.0\.0\.1 ICMP echo reply id \d+ seq 1 {2}pings$/m,
    ]);
    await interrupted([/^\{"at":"[^"]+","link":"h1:eth0 -- h2:eth0","from":"h1:eth0",.*,"filter":"pings"\}$/m], "--format", "json");
    const { said, closed } = traffic("--filter", "nope");
    expect([await closed, said.err]).toEqual([[1, null], expect.stringContaining('no traffic filter "nope"; it has lan-arp, pings')]);
  });

  test("a browser gets the same lines in frames; a stream ends with its session", async () => {
    const other = connect({ url: served.url, pin: served.fingerprint, credentials: { username: "admin", password: "test" } });
    const { stream } = await other.attachTraffic({ lab: "/talk", filters: ["pings"] });
    const {
      socket,
      heard: text,
      closed,
    } = openSocket(served.url, `/api/v1/projects/traffic/stream/${stream}`, { Authorization: `Bearer ${other.token}` });
    await expect.poll(async () => (await ping("h1", "10.0.0.2")) && text().includes("ICMP echo reply")).toBe(true);
    expect(JSON.parse(text().split("\n")[0]!)).toMatchObject({ filter: "pings" });
    await other.logout();
    await expect.poll(closed).toBeDefined();
    socket.terminate();
    other.close();
  });
});
