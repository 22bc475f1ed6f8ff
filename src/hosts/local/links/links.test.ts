import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findDefinedLink } from "../definitions/definition.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { type Port, portName } from "./fabric.ts";
import { readFabric } from "./read-fabric.ts";

const chain = (labels = "") =>
  labOf(`name: t
nodes:
  a: {template: linux${labels}}
  b: {template: linux}
  c: {template: linux}
  d: {template: linux}
  e: {template: linux}
networks: {lan: {}}
links:
  - ["a:eth0", "b:eth0"]
  - ["b:eth1", "c:eth0"]
  - ["c:eth1", "lan"]
  - ["d:eth0", "e:eth0"]
`);

describe.skipIf(process.getuid?.() !== 0)("changes of one link of many", () => {
  let local: TestLocalHost;
  beforeAll(async () => {
    local = await testLocalHost();
    await local.deploy("/t", chain());
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
  });

  const id = async (link: number) => (await local.session.observe("/t"))!.links[link]!.id;
  const suspend = async (link: number, suspended: boolean) =>
    local.session.setLinkSuspend("/t", await id(link), { a: suspended, b: suspended });
  const shape = async (link: number, delay: number) => {
    const side = { delay, jitter: 0, loss: 0, bandwidth: 0 };
    return local.session.setLinkQuality("/t", await id(link), { a: side, b: side }, { save: false });
  };
  const clear = async (link: number) => local.session.setLinkQuality("/t", await id(link), {}, { save: false });
  const byHand = async (...argv: readonly string[]) =>
    expect((await (await local.sandbox("/t")).run(["ip", "link", ...argv])).code).toBe(0);
  const nameOf = (node: string, index: number) => portName(Number(local.ids("/t").nodes[node]), index);
  const ports = async () => (await readFabric(await local.sandbox("/t"))).ports;
  const port = async (node: string, index: number) => (await ports()).get(nameOf(node, index));
  /** Waits until all nodes have booted: after that there are no node events. Then resumes link 0, which reads the fabric, so that later changes know it. */
  const whenKnown = async () => {
    const running = (nodes: readonly { readonly status: string }[]) => nodes.every(({ status }) => status === "running");
    await eventually("all run", 60_000, async () => (await local.session.status("/t")).nodes, running);
    await suspend(0, false);
  };

  test("a link that was shaped, cleared, suspended and resumed has the same ports in the kernel as before", async () => {
    await whenKnown();
    const before = await ports();
    expect(before.get(nameOf("a", 0))).toEqual({ up: true, mtu: 1500, redirect: nameOf("b", 0) });
    expect((await shape(0, 20)).effective.a?.delay).toBe(20);
    expect((await port("a", 0))?.redirect).toMatch(/^q\d+a$/);
    await clear(0);
    expect((await port("a", 0))?.redirect).toBe(nameOf("b", 0));
    await suspend(0, true);
    expect((await port("a", 0))?.up).toBe(false);
    await suspend(0, false);
    const isGone = (now: ReadonlyMap<string, Port>) => now.size === before.size;
    expect(await eventually("the shaper's ends go", 30_000, ports, isGone)).toEqual(before);
  });

  test("a link to a network is shaped and goes back into its bridge", async () => {
    await whenKnown();
    const before = await port("c", 1);
    expect(before?.master).toMatch(/^b\d+$/);
    await shape(2, 5);
    expect((await port("c", 1))?.redirect).toMatch(/^q\d+a$/);
    await clear(2);
    expect(await port("c", 1)).toEqual(before);
  });

  test("a change of a link recreates its missing port, and then repairs the rest of the lab too", async () => {
    await whenKnown();
    await byHand("set", "dev", nameOf("c", 0), "down");
    await byHand("del", "dev", nameOf("a", 0));
    await suspend(0, false);
    expect(await port("a", 0)).toEqual({ up: true, mtu: 1500, redirect: nameOf("b", 0) });
    expect((await port("b", 0))?.redirect).toBe(nameOf("a", 0));
    expect((await port("c", 0))?.up).toBe(true);
  });

  test("an edit at a node with a missing port recreates the port, and then repairs the rest of the lab too", async () => {
    await whenKnown();
    await byHand("del", "dev", nameOf("a", 0));
    await byHand("set", "dev", nameOf("d", 0), "down");
    const { links } = labOf("name: t\nnodes: {a: {template: linux}, c: {template: linux}}\nlinks: [['a:eth1', 'c:eth2']]");
    await local.deploy("/t", { ...chain(), links: [...chain().links, ...links] });
    expect(await port("a", 0)).toEqual({ up: true, mtu: 1500, redirect: nameOf("b", 0) });
    expect(await port("a", 1)).toEqual({ up: true, mtu: 1500, redirect: nameOf("c", 2) });
    expect((await port("d", 0))?.up).toBe(true);
    await local.deploy("/t", chain());
  });

  test("a change by hand elsewhere is repaired by the next deploy of the lab", async () => {
    await whenKnown();
    await byHand("set", "dev", nameOf("c", 0), "down");
    await suspend(0, true);
    await local.deploy("/t", chain(", labels: {changed: yes}"));
    expect((await port("c", 0))?.up).toBe(true);
  });

  test("an edit adds, changes and removes a link in the kernel, and changes nothing else of the lab", async () => {
    await whenKnown();
    const before = await ports();
    await byHand("set", "dev", nameOf("d", 0), "mtu", "1400");
    const extended = (more: string) => ({ ...chain(), links: [...chain().links, ...labOf(`${more}`).links] });
    const more = (mtu: number) =>
      extended(
        `name: t\nnodes: {a: {template: linux}, c: {template: linux}}\nlinks: [{endpoints: ["a:eth1", "c:eth2"], mtu: ${mtu}}, ["a:eth2", "lan"]]\nnetworks: {lan: {}}`,
      );
    await local.deploy("/t", more(1500));
    const [a1, c2] = [nameOf("a", 1), nameOf("c", 2)];
    expect(await port("a", 1)).toEqual({ up: true, mtu: 1500, redirect: c2 });
    expect(await port("c", 2)).toEqual({ up: true, mtu: 1500, redirect: a1 });
    expect(await port("a", 2)).toEqual({ up: true, mtu: 1500, master: (await port("c", 1))?.master });
    expect((await port("d", 0))?.mtu).toBe(1400);
    await local.exec("/t", "a", "ip", "addr", "add", "10.7.0.1/24", "dev", "eth1");
    await local.exec("/t", "c", "ip", "addr", "add", "10.7.0.2/24", "dev", "eth2");
    expect((await local.exec("/t", "a", "ping", "-c", "1", "-W", "5", "10.7.0.2")).code).toBe(0);
    await local.deploy("/t", more(1300));
    expect([(await port("a", 1))?.mtu, (await port("c", 2))?.mtu]).toEqual([1300, 1300]);
    expect((await local.exec("/t", "a", "cat", "/sys/class/net/eth1/mtu")).stdout).toBe("1300\n");
    await local.deploy("/t", chain());
    await byHand("set", "dev", nameOf("d", 0), "mtu", "1500");
    // The interfaces stay, because the lab declares no number of them.
    const free = { up: false, mtu: 1500 };
    const stay = [a1, c2, nameOf("a", 2)].map((name) => [name, free] as const);
    expect(await ports()).toEqual(new Map([...before, ...stay]));
  });

  test("after a node died, its neighbours lose carrier with the change of any link", async () => {
    await whenKnown();
    await (await local.sandbox("/t")).stop([Number(local.ids("/t").nodes["c"])], "kill", 0);
    const died = (nodes: readonly { readonly name: string; readonly status: string }[]) =>
      nodes.some(({ name, status }) => name === "c" && status !== "running");
    await eventually("the death is known", 30_000, async () => (await local.session.status("/t")).nodes, died);
    expect((await port("b", 1))?.up).toBe(true);
    await eventually(
      "b has no carrier to c",
      30_000,
      async () => {
        await suspend(0, false);
        return port("b", 1);
      },
      (now) => now?.up === false,
    );
  });
});

test("a link is found by its ends in either order; if there are two between them, none is found", () => {
  const end = (node: number) => ({ node, interface: "eth0" });
  const [one, other] = [
    { id: 4, endpoints: [end(1), end(2)], mtu: 9000 } as const,
    { id: 5, endpoints: [end(3), { network: 1 }] } as const,
  ];
  const ends = [
    { nodeId: "1", interface: "eth0" },
    { nodeId: "2", interface: "eth0" },
  ] as const;
  const found = { id: "4", endpoints: ends, mtu: 9000 };
  expect(findDefinedLink({ links: [one, other] }, ends)).toEqual(found);
  expect(findDefinedLink({ links: [one, other] }, [ends[1], ends[0]])).toEqual(found);
  expect(findDefinedLink({ links: [one, other] }, [{ networkId: "1" }, { nodeId: "3", interface: "eth0" }])?.id).toBe("5");
  expect(findDefinedLink({ links: [one, other] }, [ends[0], { nodeId: "3", interface: "eth0" }])).toBeUndefined();
  expect(findDefinedLink({ links: [one, { ...one, id: 6 }] }, ends)).toBeUndefined();
});
