import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Lab } from "../../../intent/lab/lab.ts";
import type { LinkSides } from "../../host.ts";
import { retryUntilQuiet } from "../testing/retry-until-quiet.fixture.ts";
import { eventually, exampleLab, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { type ShapingMeans, shapingMeans } from "./quality-means.ts";
import { LabNetem } from "./quality-netem.ts";
import { LabShaper } from "./quality-shaper.ts";

/** Hosts a and b on one link. */
function pair(more = ""): Lab {
  const host = (name: string, n: number) => `  ${name}: {template: linux, exec: ["ip addr add 10.0.0.${n}/24 dev eth0"]}\n`;
  return labOf(`name: t\nnodes:\n${host("a", 1)}${host("b", 2)}links:\n  - {endpoints: ["a:eth0", "b:eth0"]${more}}\n`);
}

const whole = (some: object) => ({ delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...some });

// Other work on the machine may disturb a measurement: a test fails only if it fails three times.
describe.skipIf(process.getuid?.() !== 0)("link quality on this kernel", { retry: 2 }, () => {
  let local: TestLocalHost;
  let means: ShapingMeans;
  beforeAll(async () => {
    local = await testLocalHost();
    means = await shapingMeans(local.paths.shaper);
    await local.deploy("/t", pair());
    await reaches("/t", "a", "10.0.0.2");
    // Serves one client after the other until the lab ends.
    void local.exec("/t", "b", "sh", "-c", "iperf3 -s -D >/dev/null 2>&1");
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
  });

  const reaches = (path: string, from: string, address: string, ms = 30_000) =>
    eventually(
      `${from} reaches ${address}`,
      ms,
      () => local.exec(path, from, "ping", "-c", "1", "-W", "1", address),
      ({ code }) => code === 0,
    );
  const linkId = async (path: string) => (await local.session.observe(path))!.links[0]!.id;
  const shape = async (sides: LinkSides<object>, path = "/t") =>
    local.session.setLinkQuality(path, await linkId(path), sides, { save: false });

  /** Returns the round trip times in ms, sorted. */
  async function roundTrips(count: number, everyMs: number, path = "/t", address = "10.0.0.2"): Promise<readonly number[]> {
    const { stdout } = await local.exec(path, "a", "ping", "-c", String(count), "-i", String(everyMs / 1000), "-W", "2", address);
    return [...stdout.matchAll(/time=([\d.]+)/g)].map(([, ms]) => Number(ms)).sort((x, y) => x - y);
  }

  /** Waits until the shortest of some round trips is this time, to a millisecond: other work on the machine can only add to it. */
  const roundTripIs = (ms: number, path = "/t", address = "10.0.0.2") =>
    eventually(
      `round trip ${ms} ms`,
      30_000,
      async () => (await roundTrips(21, 10, path, address))[0],
      (quickest) => quickest !== undefined && Math.abs(quickest - ms) < 1,
    );

  /** Runs four pings at once, because a single ping sends only about 450 packets per second. */
  async function pings(path: string, count: number, everyMs: number) {
    const one = `ping -q -c ${count / 4} -i ${everyMs / 1000} -W 2 10.0.0.2`;
    const { stdout } = await local.exec(path, "a", "sh", "-c", `${one} & ${one} & ${one} & ${one} & wait`);
    const all = { sent: 0, received: 0, duplicates: 0 };
    for (const [, sent, received, duplicates] of stdout.matchAll(/(\d+) packets transmitted, (\d+) received(?:, \+(\d+) duplicates)?/g)) {
      all.sent += Number(sent);
      all.received += Number(received);
      all.duplicates += Number(duplicates ?? 0);
    }
    return all;
  }

  /** Returns the counters of the lab's only link. */
  async function counters(path: string) {
    const { id, links } = (await local.session.observe(path))!;
    const sandbox = await local.sandbox(path);
    const shaper = means === "netem" ? new LabNetem(sandbox) : new LabShaper(local.paths.shaper, id, sandbox);
    return (await shaper.read())!.get(Number(links[0]!.id))!.counters;
  }

  /** Returns the payload that iperf3 received, in bits per second. */
  async function iperf(path: string, ...options: readonly string[]): Promise<number> {
    const argv = ["iperf3", "-c", "10.0.0.2", "-J", ...options];
    const answer = await eventually(
      "iperf3 answers",
      30_000,
      async () => JSON.parse((await local.exec(path, "a", ...argv)).stdout || "{}"),
      ({ error, end }) => error === undefined && end !== undefined,
    );
    return (answer.end.sum_received ?? answer.end.sum).bits_per_second;
  }

  test("delay is exact to a millisecond in each direction, declared or live", { timeout: 300_000 }, async () => {
    expect(await shape({ a: { delay: 50 } })).toEqual({ stored: {}, effective: { a: whole({ delay: 50 }) } });
    await roundTripIs(50);
    await shape({ a: { delay: 50 }, b: { delay: 20.5 } });
    await roundTripIs(70.5);
    await local.deploy("/t", pair(", quality: {b: {delay: 30}}"));
    expect((await local.session.status("/t")).links).toEqual([{ id: await linkId("/t"), b: whole({ delay: 30 }) }]);
    await roundTripIs(30);
    await local.deploy("/t", pair());
    expect((await local.session.status("/t")).links).toEqual([]);
    await roundTripIs(0);
  });

  test("jitter is spread evenly around the delay, and frames keep their order", { timeout: 300_000 }, async (context) => {
    await shape({ a: { delay: 20, jitter: 10 } });
    const trips = await retryUntilQuiet(
      context,
      "jitter",
      // Far enough apart that no packet waits for the one before it.
      () => roundTrips(60, 25),
      (all) => {
        // The largest few may come from other work on the machine.
        const [least = 0, most = 0] = [all[0], all.at(-4)];
        const mean = all.slice(0, -3).reduce((sum, one) => sum + one, 0) / (all.length - 3);
        return most < 31 && Math.abs(mean - 20) < 3 && most - least > 12;
      },
    );
    expect(trips[0]).toBeGreaterThan(9.9);
    const { stdout } = await local.exec("/t", "a", "ping", "-c", "200", "-i", "0.002", "-W", "2", "10.0.0.2");
    const order = [...stdout.matchAll(/icmp_seq=(\d+)/g)].map(([, n]) => Number(n));
    expect(order).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  });

  test("loss is exact to 0.3 % over 10,000 packets, in both directions", { timeout: 300_000 }, async () => {
    // A lab of its own: the shaper drops the same frames of a newly shaped link in every run.
    await local.deploy("/loss", pair(", quality: {loss: 2}"));
    await reaches("/loss", "a", "10.0.0.2");
    const before = await counters("/loss");
    const { sent, received } = await pings("/loss", 10_000, 0.5);
    const after = await counters("/loss");
    const lost = { a: after.a.lost - before.a.lost, b: after.b.lost - before.b.lost };
    expect(sent).toBe(10_000);
    for (const side of ["a", "b"] as const) {
      expect(Math.abs((100 * lost[side]) / (after[side].received - before[side].received) - 2)).toBeLessThan(0.3);
      expect(after[side]).toMatchObject({ overflow: 0, missed: 0, refused: 0 });
    }
    // The shaper dropped all frames that ping misses, and perhaps a few ARP frames.
    expect(Math.abs(sent - received - lost.a - lost.b)).toBeLessThanOrEqual(3);
    await local.session.setLinkQuality("/loss", await linkId("/loss"), { a: { loss: 100 } }, { save: false });
    expect(await roundTrips(3, 10, "/loss")).toEqual([]);
    await local.deploy("/loss", null);
  });

  test("bandwidth is exact to 5 %, for TCP and UDP, also with delay", { timeout: 300_000 }, async (context) => {
    const exact = (payload: number, frame: number) => (rate: number) => Math.abs((rate * frame) / payload / 10e6 - 1) < 0.05;
    await shape({ a: { bandwidth: 10_000 } });
    // Counted as frames on the wire: Ethernet, IP, TCP with timestamps or UDP.
    await retryUntilQuiet(context, "bandwidth of TCP", () => iperf("/t", "-t", "2.5", "-O", "1"), exact(1448, 1514));
    await shape({ a: { delay: 50, bandwidth: 10_000 } });
    await roundTripIs(50);
    await retryUntilQuiet(context, "bandwidth of UDP", () => iperf("/t", "-u", "-l", "1400", "-b", "15M", "-t", "2"), exact(1400, 1442));
  });

  test("a thousand packets a second go through 100 ms without loss, also while the quality changes, begins and ends", async () => {
    await shape({ a: { delay: 100 }, b: { delay: 100 } });
    expect(await pings("/t", 1000, 2)).toEqual({ sent: 1000, received: 1000, duplicates: 0 });
    const going = pings("/t", 3000, 2);
    for (const sides of [{ a: { delay: 20 } }, {}, { a: { delay: 40 }, b: { jitter: 3 } }, { a: {} }, { b: { bandwidth: 100_000 } }, {}]) {
      await delay(250);
      await shape(sides);
    }
    expect(await going).toEqual({ sent: 3000, received: 3000, duplicates: 0 });
  });

  test("a link with a delay of a nanosecond adds no measurable delay, and passes all data of TCP", {
    timeout: 300_000,
  }, async () => {
    await shape({ a: { delay: 1e-6 }, b: { delay: 1e-6 } });
    await roundTripIs(0);
    // bench/link.ts measures the speed.
    expect(await iperf("/t", "-n", "4M")).toBeGreaterThan(0);
    await shape({});
  });

  test("a saved quality stays in force when nodes restart or are wiped, when the service restarts, and when the shaper is killed", {
    timeout: 300_000,
  }, async () => {
    const id = await linkId("/t");
    const stored = { a: { delay: 30 } };
    const there = { id, a: whole({ delay: 30 }) };
    const isSlow = () =>
      eventually(
        "30 ms again",
        30_000,
        () => roundTrips(3, 10),
        (trips) => trips.length === 3 && trips[0]! >= 30 && trips[0]! < 33,
      );
    expect((await local.session.setLinkQuality("/t", id, stored, { save: true })).stored).toEqual(stored);
    await power("stop", "b");
    expect((await local.session.status("/t")).links).toEqual([]);
    await power("start", "b");
    await isSlow();
    expect((await local.session.status("/t")).links).toEqual([there]);

    await local.session.setLinkQuality("/t", id, { b: { delay: 31 } }, { save: false });
    await local.reopen();
    expect((await local.session.status("/t")).links).toEqual([{ id, b: whole({ delay: 31 }) }]);
    // A live change ends with the node; a saved quality does not depend on the node's disk.
    for (const what of ["stop", "wipe", "start"] as const) await power(what, "b");
    await isSlow();
    expect((await local.session.status("/t")).links).toEqual([there]);
    expect(await local.session.setLinkQuality("/t", id, stored, { save: true })).toEqual({ stored, effective: { a: there.a } });

    if (means === "shaper") await outlivesShaper(id, there, isSlow);
    await local.session.setLinkQuality("/t", id, {}, { save: true });
  });

  function end(pid: number): void {
    expect(pid).toBeGreaterThan(0);
    process.kill(pid, "SIGKILL");
  }

  async function outlivesShaper(id: string, there: object, isSlow: () => Promise<unknown>): Promise<void> {
    const severed = { id, a: whole({ loss: 100 }), b: whole({ loss: 100 }) };
    const before = await shaperPid();
    end(before);
    const seen = new Set<string>();
    await eventually(
      "another shaper",
      30_000,
      async () => {
        seen.add(JSON.stringify((await local.session.status("/t")).links));
        return shaperPid();
      },
      (pid) => pid !== before && pid > 0,
    );
    for (const one of seen) expect([JSON.stringify([severed]), JSON.stringify([there])]).toContain(one);
    await isSlow();

    // The process that watches the shaper is killed, and then the shaper.
    const watching = await shaperPid("/t", "watch");
    end(watching);
    await eventually(
      "another watch",
      30_000,
      () => shaperPid("/t", "watch"),
      (pid) => pid > 0 && pid !== watching,
    );
    const second = await shaperPid();
    end(second);
    await eventually(
      "a third shaper",
      30_000,
      () => shaperPid(),
      (pid) => pid > 0 && pid !== second,
    );
    await isSlow();

    // The shaper is killed while no service runs.
    await local.host.close();
    end(await shaperPid());
    await local.reopen();
    await isSlow();
    expect((await local.session.status("/t")).links).toEqual([there]);
  }

  async function power(what: "start" | "stop" | "wipe", node: string): Promise<void> {
    const step = what === "stop" ? ({ do: "stop", node, mode: 1 } as const) : ({ do: what, node } as const);
    const reason = { code: "requested", text: "" } as const;
    const operation = {
      id: what,
      of: what,
      op: what,
      kind: "node",
      key: node,
      reason,
      disruption: "none",
      affects: [],
      changes: [],
      prune: false,
      step,
    } as const;
    const { nodes } = (await local.session.observe("/t"))!;
    const ids = { nodes: Object.fromEntries(nodes.map(({ name, id }) => [name, id])), networks: {}, links: {} };
    await local.session.apply("/t", [operation], { ids, step: () => undefined });
  }

  /** Returns the pid outside the lab of the shaper, which an `ask` has started, or of the process that watches it; 0 if there is none, or none yet. */
  async function shaperPid(path = "/t", role: "ask" | "watch" = "ask"): Promise<number> {
    const { id } = (await local.session.observe(path))!;
    for (const pid of await readdir("/proc")) {
      if (!/^\d+$/.test(pid)) continue;
      const words = await readFile(`/proc/${pid}/cmdline`, "utf8").then(
        (text) => text.split("\0"),
        () => [],
      );
      if (words[0] === local.paths.shaper && words[1] === `lab=${id}` && words[2] === role) return Number(pid);
    }
    return 0;
  }

  test("a link to a network is shaped in both directions, and frames of every size pass", {
    timeout: 300_000,
  }, async () => {
    const net = (more: string) =>
      labOf(`name: n
nodes:
  a: {template: linux, exec: ["ip addr add 10.0.1.1/24 dev eth0"]}
  b: {template: linux, exec: ["ip addr add 10.0.1.2/24 dev eth0"]}
networks:
  lan: {type: bridge}
links:
  - {endpoints: ["a:eth0", "lan"]${more}}
  - ["b:eth0", "lan"]
`);
    await local.deploy("/net", net(""));
    await reaches("/net", "a", "10.0.1.2");
    await local.deploy("/net", net(", quality: {a: {delay: 15}, b: {delay: 20}}"));
    await roundTripIs(35, "/net", "10.0.1.2");
    const large = await local.exec("/net", "a", "ping", "-c", "2", "-i", "0.1", "-s", "20000", "10.0.1.2");
    expect(large.stdout).toContain("2 received");
    await local.deploy("/net", net(""));
    await roundTripIs(0, "/net", "10.0.1.2");
    await local.deploy("/net", null);
  });

  test("an MTU changes live on a shaped link", async () => {
    await local.deploy("/t", pair(", quality: {a: {delay: 5}}, mtu: 9000"));
    const jumbo = await eventually(
      "jumbo frames",
      30_000,
      () => local.exec("/t", "a", "ping", "-c", "1", "-W", "1", "-M", "do", "-s", "8900", "10.0.0.2"),
      ({ code }) => code === 0,
    );
    expect(jumbo.stdout).toContain("1 received");
    await local.deploy("/t", pair());
  });

  test("a suspended side has no carrier, and gets it back when it is resumed", async () => {
    const carrier = async (node: string) => {
      const { stdout } = await local.exec("/t", node, "cat", "/sys/class/net/eth0/carrier");
      return stdout.trim() === "1";
    };
    const both = (a: boolean, b: boolean) =>
      eventually(
        `carrier ${a} ${b}`,
        30_000,
        async () => [await carrier("a"), await carrier("b")],
        ([x, y]) => x === a && y === b,
      );
    const id = await linkId("/t");
    await local.session.setLinkSuspend("/t", id, { a: true });
    await both(false, true);
    await local.session.setLinkSuspend("/t", id, { b: true });
    await both(false, false);
    await local.reopen();
    await both(false, false);
    await power("stop", "b");
    await power("start", "b");
    await both(false, false);
    await local.session.setLinkSuspend("/t", id, { a: false, b: false });
    await both(true, true);
    await reaches("/t", "a", "10.0.0.2");
  });

  test("OSPF goes around a suspended link and comes back to it", { timeout: 300_000 }, async () => {
    await local.deploy("/ospf", await exampleLab("ospf-triangle"));
    const link = (await local.session.observe("/ospf"))!.links.find(({ endpoints }) =>
      endpoints.every((end) => "nodeId" in end && ["eth1"].includes(end.interface)),
    )!;
    const via = async (hop: string) =>
      eventually(
        `192.168.2.0/24 via ${hop}`,
        50_000,
        async () => (await local.exec("/ospf", "r1", "ip", "route", "show", "192.168.2.0/24")).stdout,
        (text) => text.includes(`via ${hop}`),
      );
    await via("10.0.12.2");
    await local.session.setLinkSuspend("/ospf", link.id, { a: true, b: true });
    await via("10.0.13.2");
    await local.session.setLinkSuspend("/ospf", link.id, { a: false, b: false });
    await via("10.0.12.2");
    await local.deploy("/ospf", null);
  });

  test("a shaper process ends with its lab, and read() returns null for a lab without one", async (context) => {
    if (means !== "shaper") return context.skip("this kernel has netem, which needs no process");
    await local.deploy("/end", pair(", quality: {a: {delay: 5}}"));
    const pid = await shaperPid("/end");
    expect(pid).toBeGreaterThan(0);
    const shaper = new LabShaper(local.paths.shaper, "nobody", await local.sandbox("/end"));
    expect(await shaper.read()).toBeNull();
    shaper.close();
    await local.deploy("/end", null);
    await expect(readFile(`/proc/${pid}/cmdline`, "utf8")).rejects.toThrow("ENOENT");
  });
});
