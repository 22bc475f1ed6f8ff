import { describe, expect, test } from "vitest";
import type { DefinedLink, DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { macAddress } from "../definitions/mac-address.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { type Fabric, type LiveNodes, shapedLinksIn, wantedFabric } from "./fabric.ts";
import { fabricChange } from "./fabric-change.ts";
import { parseLinks, parseRedirects, readFabric } from "./read-fabric.ts";

const templates: Readonly<Record<string, Pick<LocalTemplate, "ethFormat" | "backend">>> = {
  linux: { ethFormat: "eth{0}", backend: "namespace" },
  switch: { ethFormat: "eth{0}", backend: "bridge" },
};
const template = (id: string) => templates[id] as LocalTemplate | undefined;
const nothing: Fabric = { bridges: new Set(), ports: new Map() };
const oneQueue = " numtxqueues 1 numrxqueues 1";

function node(id: number, kind = "linux", ethernet = 2): DefinedNode {
  return { id, name: `n${id}`, template: kind, exec: [], ethernet, env: {}, attributes: {}, labels: {}, power: "running" };
}

function link(id: number, a: DefinedLink["endpoints"][0], b: DefinedLink["endpoints"][1], more: Partial<DefinedLink> = {}): DefinedLink {
  return { id, endpoints: [a, b], ...more };
}

const eth = (of: number, index: number) => ({ node: of, interface: `eth${index}` });

function lab(nodes: readonly DefinedNode[], links: readonly DefinedLink[], networks: readonly number[] = []): LabDefinition {
  return {
    version: 1,
    id: "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
    path: "/t",
    name: "t",
    owner: "admin",
    locked: false,
    next: { node: 100, network: 100, link: 100 },
    nodes,
    networks: networks.map((id) => ({ id, name: `net${id}`, type: "bridge" })),
    links,
    texts: [],
    trafficFilters: [],
  };
}

const live = (...pairs: readonly (readonly [number, number | "bridge"])[]): LiveNodes => new Map(pairs);

/** Returns the fabric that the kernel has after the change. */
function actualOf(wanted: ReturnType<typeof wantedFabric>): Fabric {
  return {
    bridges: wanted.bridges,
    ports: new Map(
      [...wanted.ports].map(([name, { up, mtu, master, redirect }]) => [
        name,
        { up, mtu, ...(master && { master }), ...(redirect && { redirect }) },
      ]),
    ),
  };
}

describe("planning the fabric", () => {
  const pair = lab([node(1), node(2)], [link(1, eth(1, 1), eth(2, 1))]);
  const both = live([1, 11], [2, 12]);

  test("a link of two running nodes is two ports that redirect to each other; a free interface is there without carrier", () => {
    const change = fabricChange(nothing, wantedFabric(pair, both, template), new Set([1, 2]), 4711);
    expect(change.remove).toBe("");
    expect(change.ip.split("\n").filter((line) => !line.includes("i0"))).toEqual([
      `link add name eth1 address ${macAddress(pair.id, 1, 1)}${oneQueue} netns 11 up type veth peer name n1i1${oneQueue} group 4711`,
      `link add name eth1 address ${macAddress(pair.id, 2, 1)}${oneQueue} netns 12 up type veth peer name n2i1${oneQueue} group 4711`,
      "",
    ]);
    expect(change.redirects).toBe("group 4711 up\nn1i1 n2i1\nn2i1 n1i1\n");
    expect(change.up).toBe("link set group 4711 up\n");
    expect(change.ip).toContain(
      `link add name eth0 address ${macAddress(pair.id, 1, 0)}${oneQueue} netns 11 up type veth peer name n1i0${oneQueue}\n`,
    );
    expect(change.tc).toContain(
      "filter replace dev n1i1 ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev n2i1\n",
    );
    expect(change.tc).toContain("redirect dev n1i1\n");
  });

  test("a fabric that is as wanted needs no process", () => {
    const wanted = wantedFabric(pair, both, template);
    expect(fabricChange(actualOf(wanted), wanted, new Set())).toEqual({
      remove: "",
      ip: "",
      tc: "",
      frames: "",
      redirects: "",
      up: "",
      late: "",
      mtu: [],
    });
  });

  test("the ports of a removed node are removed in one deletion, and its neighbour loses carrier", () => {
    const change = fabricChange(actualOf(wantedFabric(pair, both, template)), wantedFabric(pair, live([1, 11]), template), new Set());
    expect(change.remove).toBe("link set dev n2i0 group 66\nlink set dev n2i1 group 66\nlink del group 66\n");
    expect(change.ip).toBe("link set dev n1i1 down\n");
    expect(change.tc).toBe("filter del dev n1i1 ingress\n");
  });

  test("a node that was spawned again gets new ports, and its neighbour's redirect is renewed", () => {
    const wanted = wantedFabric(pair, live([1, 11], [2, 99]), template);
    const change = fabricChange(actualOf(wanted), wanted, new Set([2]));
    expect(change.remove).toContain("link del group 66\n");
    expect(change.ip).toContain(`netns 99 up type veth peer name n2i1${oneQueue} group `);
    expect(change.tc.split("\n").filter((line) => line.includes("dev n1i1 ingress"))).toEqual([
      "filter replace dev n1i1 ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev n2i1",
    ]);
  });

  test("a network is a bridge with the ports of its links", () => {
    const three = lab([node(1), node(2)], [link(1, eth(1, 0), { network: 7 }), link(2, eth(2, 0), { network: 7 })], [7, 8]);
    const change = fabricChange(nothing, wantedFabric(three, both, template), new Set([1, 2]));
    expect(change.ip).toContain("link add name b7 up type bridge stp_state 0 mcast_snooping 0\n");
    expect(change.ip).toContain("link add name b8 up type bridge");
    expect(change.ip).toMatch(/\nlink set dev n1i0 master b7 up\n(.*\n)*link show dev n1i0\n/);
    expect(change.tc).not.toContain("redirect");
    const without = fabricChange(
      actualOf(wantedFabric(three, both, template)),
      wantedFabric(lab(three.nodes, [], [8]), both, template),
      new Set(),
    );
    expect(without.remove).toBe("link set dev b7 group 66\nlink del group 66\n");
    expect(without.ip).toContain("link set dev n1i0 nomaster down\n");
  });

  test("a switch is a bridge with a port pair for each link, and nothing while it is off", () => {
    const switched = lab([node(1), node(5, "switch", 8)], [link(1, eth(1, 0), eth(5, 3))]);
    const on = wantedFabric(switched, live([1, 11], [5, "bridge"]), template);
    const change = fabricChange(nothing, on, new Set([1]), 4711);
    expect(change.ip).toContain("link add name s5 up type bridge");
    expect(change.ip).toContain(`link add name n5x3 master s5${oneQueue} up type veth peer name n5i3${oneQueue} group 4711\n`);
    expect(change.redirects).toMatch(/^group 4711 up\n/);
    expect(change.late).toBe("link show dev n5x3\n");
    expect(change.ip.match(/n5i/g)?.length).toBe(1);
    expect(change.tc).toContain("redirect dev n5i3\n");
    const off = wantedFabric(switched, live([1, 11]), template);
    const gone = fabricChange(actualOf(on), off, new Set());
    expect(gone.remove).toBe("link set dev n5i3 group 66\nlink set dev s5 group 66\nlink del group 66\n");
    expect(gone.ip).toBe("link set dev n1i0 down\n");
  });

  test("the MTU of a link is on all four ends; a change reaches the one inside the node", () => {
    const of = (mtu?: number) => lab([node(1), node(2)], [link(1, eth(1, 1), eth(2, 1), mtu === undefined ? {} : { mtu })]);
    expect(fabricChange(nothing, wantedFabric(of(9000), both, template), new Set([1, 2])).ip).toContain(
      `mtu 9000${oneQueue} netns 11 up type veth peer name n1i1 mtu 9000${oneQueue} group `,
    );
    const change = fabricChange(actualOf(wantedFabric(of(9000), both, template)), wantedFabric(of(), both, template), new Set());
    expect(change.ip).toBe("link set dev n1i1 mtu 1500\nlink set dev n2i1 mtu 1500\n");
    expect(change.mtu).toEqual([
      { pid: 11, name: "eth1", mtu: 1500 },
      { pid: 12, name: "eth1", mtu: 1500 },
    ]);
  });

  test("a shaped link goes through two pairs of the shaper, entered and left by one replaced filter at each end", () => {
    const direct = wantedFabric(pair, both, template);
    const shaped = wantedFabric(pair, both, template, new Set([1, 77]));
    expect(shaped.shaped).toEqual(new Map([[1, 1500]]));
    const enter = fabricChange(actualOf(direct), shaped, new Set(), 4711);
    expect(enter.remove).toBe("");
    expect(enter.ip).toBe(
      `link add name p1a${oneQueue} up type veth peer name q1a${oneQueue} group 4711 gso_max_segs 1\n` +
        `link add name p1b${oneQueue} up type veth peer name q1b${oneQueue} group 4711 gso_max_segs 1\n`,
    );
    // The way out of the shaper is up before anything is sent into it.
    expect(enter.redirects.split("\n")).toEqual(["group 4711 up", "q1a n1i1", "q1b n2i1", "n1i1 q1a", "n2i1 q1b", ""]);
    const redirect = (from: string, to: string) =>
      `filter replace dev ${from} ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev ${to}`;
    expect(enter.tc.split("\n").filter((line) => line.startsWith("filter"))).toEqual([
      redirect("q1a", "n1i1"),
      redirect("q1b", "n2i1"),
      redirect("n1i1", "q1a"),
      redirect("n2i1", "q1b"),
    ]);
    expect(shapedLinksIn(actualOf(shaped))).toEqual([1]);

    const leave = fabricChange(actualOf(shaped), direct, new Set());
    expect(leave).toEqual({
      remove: "",
      ip: "",
      tc: `${redirect("n1i1", "n2i1")}\n${redirect("n2i1", "n1i1")}\n`,
      redirects: "n1i1 n2i1\nn2i1 n1i1\n",
      frames: "",
      up: "",
      late: "",
      mtu: [],
    });
  });

  test("a shaped link to a network enters its bridge by the shaper's pair; a link with a stopped node is not shaped", () => {
    const net = lab([node(1), node(2)], [link(4, eth(1, 0), { network: 7 }, { mtu: 9000 })], [7]);
    const shaped = wantedFabric(net, both, template, new Set([4]));
    expect(shaped.ports.get("n1i0")).toMatchObject({ up: true, redirect: "q4a" });
    expect(shaped.ports.get("n1i0")?.master).toBeUndefined();
    expect(shaped.ports.get("q4a")).toMatchObject({ redirect: "n1i0", mtu: 9000 });
    expect(shaped.ports.get("q4b")).toMatchObject({ up: true, master: "b7", mtu: 9000 });
    const direct = wantedFabric(net, both, template);
    const enter = fabricChange(actualOf(direct), shaped, new Set());
    expect(enter.ip).toContain("link set dev q4b master b7 up\n");
    expect(enter.ip).not.toContain("nomaster");
    expect(enter.late).toBe("link set dev n1i0 nomaster\n");
    const leave = fabricChange(actualOf(shaped), direct, new Set());
    expect([leave.ip, leave.tc, leave.late]).toEqual(["link set dev n1i0 master b7\n", "filter del dev n1i0 ingress\n", ""]);
    const down = wantedFabric(net, live([2, 12]), template, new Set([4]));
    expect([...down.ports.keys()].filter((name) => name.startsWith("q"))).toEqual([]);
    expect(down.shaped.size).toBe(0);
  });

  test("names fit into the kernel's 15 characters for ids of five digits", () => {
    const big = lab([node(99999, "linux", 64)], []);
    for (const name of wantedFabric(big, live([99999, 5]), template).ports.keys()) expect(name.length).toBeLessThanOrEqual(15);
  });
});

describe("reading the fabric", () => {
  test("only ports and bridges of the fabric are read", () => {
    const text = JSON.stringify([
      { ifname: "lo", flags: ["LOOPBACK", "UP"], mtu: 65536 },
      { ifname: "b1", flags: ["UP"], mtu: 1500 },
      { ifname: "u1", flags: ["UP"], mtu: 1500, master: "b1" },
      { ifname: "n1i0", flags: ["BROADCAST", "UP"], mtu: 1400, master: "b1" },
      { ifname: "n1i1", flags: ["BROADCAST"], mtu: 1500 },
      { ifname: "n5x1", flags: ["UP"], mtu: 1500, master: "s5" },
    ]);
    expect(parseLinks(text)).toEqual({
      bridges: new Set(["b1"]),
      ports: new Map([
        ["n1i0", { up: true, mtu: 1400, master: "b1" }],
        ["n1i1", { up: false, mtu: 1500 }],
      ]),
    });
  });

  describe("while ports go", () => {
    const links = JSON.stringify(["n1i0", "n2i0", "n3i0"].map((ifname) => ({ ifname, flags: ["UP"], mtu: 1500 })));
    const to = (device: string) => JSON.stringify([{ kind: "u32", options: { actions: [{ kind: "mirred", to_dev: device }] } }]);
    const sandbox = (stdout: string, stderr: string) => ({
      run: async ([program]: readonly string[]) =>
        program === "ip" ? { code: 0, stdout: links, stderr: "" } : { code: stderr === "" ? 0 : 1, stdout, stderr },
    });

    test("a port that is gone when its redirect is read is left out, and the others keep theirs", async () => {
      const reading = readFabric(sandbox(`${to("n3i0")}\n${to("*")}\n`, 'Cannot find device "n2i0"\nCommand failed -:2\n'));
      expect([...(await reading).ports]).toEqual([
        ["n1i0", { up: true, mtu: 1500, redirect: "n3i0" }],
        ["n3i0", { up: true, mtu: 1500, redirect: "*" }],
      ]);
    });

    test("a list that changed during the read is read again, but not forever", async () => {
      const interrupted = "Dump was interrupted and may be inconsistent.\n";
      const reads: string[] = [];
      const changing = (times: number) => ({
        run: async (argv: readonly string[]) => {
          reads.push(argv[0]!);
          const { run } = sandbox("[]\n[]\n[]\n", "");
          const result = await run(argv);
          return reads.filter((one) => one === argv[0]).length > times
            ? result
            : { ...result, code: argv[0] === "ip" ? 0 : 1, stderr: interrupted };
        },
      });
      expect((await readFabric(changing(2))).ports.size).toBe(3);
      expect(reads).toEqual(["ip", "ip", "ip", "tc", "tc", "tc"]);
      await expect(readFabric(changing(1000))).rejects.toThrow("Dump was interrupted");
    });

    test.each(["", "RTNETLINK answers: Operation not permitted\n", 'Cannot find device "n2i0"\nsomething else\n'])(
      "any other failure is thrown: %j",
      async (stderr) => {
        const { run } = sandbox("[]\n[]\n", stderr);
        const failing = async (argv: readonly string[]) => ({ ...(await run(argv)), code: argv[0] === "ip" ? 0 : 1 });
        await expect(readFabric({ run: failing })).rejects.toThrow(/^tc -j -force -batch -: ./);
      },
    );
  });

  test("each line of tc is one port: its redirect, * if the target is gone, or none", () => {
    const filter = (to: string) =>
      JSON.stringify([{ kind: "u32" }, { kind: "u32", options: { actions: [{ kind: "mirred", to_dev: to }] } }]);
    expect(parseRedirects(`${filter("n2i1")}\n${filter("*")}\n[]\n`)).toEqual(["n2i1", "*", undefined]);
  });
});

test("a MAC address is the same at every start, locally administered, and unique in its lab", () => {
  const all = new Set<string>();
  for (let n = 1; n <= 600; n++) for (let i = 0; i < 8; i++) all.add(macAddress("lab", n, i));
  expect(all.size).toBe(600 * 8);
  expect(macAddress("lab", 3, 1)).toBe(macAddress("lab", 3, 1));
  expect(macAddress("other", 3, 1)).not.toBe(macAddress("lab", 3, 1));
  expect(Number.parseInt(macAddress("lab", 3, 1).slice(0, 2), 16) & 3).toBe(2);
});
