import { expect, test } from "vitest";
import { planLab } from "../../../engine/plan/plan-lab.ts";
import type { Lab } from "../../../intent/lab/lab.ts";
import type { Host, HostSession, NativeIds } from "../../host.ts";
import { deploy, filesIn, fleet, link, login, nodes, path, progress, spreadLab } from "./spread-fleet.fixture.ts";

/** The links of a lab as its nodes have them, with their ids. */
async function linksOf(session: HostSession): Promise<ReadonlyMap<string, string>> {
  const { nodes: there, links } = (await session.observe(path))!;
  const names = new Map(there.map(({ id, name }) => [id, name]));
  return new Map(
    links.map(({ id, endpoints }) => [
      endpoints
        .flatMap((end) => ("nodeId" in end ? [`${names.get(end.nodeId)}:${end.interface}`] : []))
        .sort()
        .join(" "),
      id,
    ]),
  );
}

test("new nodes of a group go to the machine of the group's nodes, and a plan shows the nodes that stay", async () => {
  const { home, other, known, start } = await fleet();
  start(other);
  const session = await login(start(home));
  const grouped = (key: string, group: string) => ({ ...nodes[0]!, key, name: key, labels: { group } });
  const [a, b] = [grouped("a", "east"), grouped("b", "west")];
  const before: Lab = { ...spreadLab, place: { spread: "groups" }, nodes: [a, b] };
  const { ids } = await deploy(session, before);
  const at = async (id: string) => (await session.status(path)).nodes.find((node) => node.id === id)!.machine;
  const west = await at(ids.nodes["b"]!);
  // The other machine has much more room.
  for (const [index, machine] of known.entries()) known[index] = { ...machine, room: machine.name === west ? 40 : 4_000 };
  const observed = await session.observe(path);
  const desired: Lab = { ...before, nodes: [b, grouped("c", "west")], links: [link("c:eth0 -- b:eth0", "b", "c")] };
  const { operations } = planLab({ desired, observed, ids, rules: await session.rules(), prune: true, replace: false });
  const facts = await session.spread!.facts(path, before.place, operations, ids);
  expect(facts).toEqual({ machines: [{ machine: west, nodes: ["b", "c"] }], cuts: [], uneven: [] });
  const made = await session.apply(path, operations, { ...progress, ids });
  expect(await at(made.ids.nodes["c"]!)).toBe(west);
});

test("room that another user has reserved is not used", async () => {
  const reserved = { m1: new Map([["bob", 30]]), m2: new Map([["admin", 30]]) } as Readonly<Record<string, ReadonlyMap<string, number>>>;
  const { home, other, start } = await fleet({ reserved: ({ name }) => reserved[name]! });
  start(other);
  const session = await login(start(home));
  await expect(deploy(session, spreadLab)).rejects.toThrow("m1 has 10 MiB free, m2 has 40 MiB free");
  const { ids } = await deploy(session, { ...spreadLab, nodes: nodes.slice(1) });
  expect(ids.nodes).toEqual({ b: "2.1" });
});

test("room that another user reserves between a plan and its apply is not used, and a refused lab looks at the room again", async () => {
  let taken = 0;
  const { home, other, known, start } = await fleet({ reserved: ({ name }) => new Map([[name === "m2" ? "bob" : "admin", taken]]) });
  start(other);
  const session = await login(start(home));
  const { operations } = planLab({ desired: spreadLab, observed: null, rules: await session.rules(), prune: false, replace: false });
  const planned = await session.spread!.facts(path, { spread: "nodes" }, operations, progress.ids);
  expect(planned?.machines).toHaveLength(2);
  taken = 30;
  await expect(deploy(session, spreadLab)).rejects.toThrow("m1 has 40 MiB free, m2 has 10 MiB free");
  expect(await home.local.labIds!()).toEqual([]);
  known[0] = { ...known[0]!, room: 100 };
  const { ids } = await deploy(session, spreadLab);
  expect(Object.values(ids.nodes).sort()).toEqual(["1", "2"]);
});

test("the machines of a link between machines have the order of its key", async () => {
  const { home, other, start } = await fleet();
  start(other);
  const session = await login(start(home));
  for (const key of ["a:eth0 -- b:eth0", "b:eth0 -- a:eth0"]) {
    const desired: Lab = { ...spreadLab, links: [link(key, "a", "b")] };
    const { operations } = planLab({ desired, observed: null, rules: await session.rules(), prune: false, replace: false });
    const facts = await session.spread!.facts(path, { spread: "nodes" }, operations, progress.ids);
    const machineOf = (node: string) => facts!.machines.find((one) => one.nodes.includes(node))!.machine;
    const machines = [key[0]!, key.at(-"b:eth0".length)!].map(machineOf);
    expect(facts?.cuts).toEqual([{ link: key, machines, mtu: 1500 }]);
    expect(machines).toHaveLength(new Set(machines).size);
  }
});

test("the status names the machine of each node", async () => {
  const { home, other, start } = await fleet();
  start(other);
  const session = await login(start(home));
  await deploy(session, spreadLab);
  expect((await session.status(path)).nodes.map(({ name, machine }) => `${name} ${machine}`).sort()).toEqual(["a m1", "b m2"]);
});

test("a machine that has just died: a change that concerns it changes nothing, and a plan places new nodes elsewhere", async () => {
  const { home, other, start, kill } = await fleet();
  start(other);
  const session = await login(start(home));
  kill(other);
  await expect(deploy(session, spreadLab)).rejects.toThrow(
    "the machine m2 does not answer, and the change concerns it: nothing was changed",
  );
  expect(await session.observe(path)).toBeNull();
  expect(await filesIn(home, "labs")).toEqual([]);
  const one: Lab = { ...spreadLab, nodes: nodes.slice(1) };
  const { operations } = planLab({ desired: one, observed: null, rules: await session.rules(), prune: false, replace: false });
  const facts = await session.spread!.facts(path, { spread: "nodes" }, operations, progress.ids);
  expect(facts?.machines).toEqual([{ machine: "m1", nodes: ["b"] }]);
  const { ids } = await deploy(session, one);
  expect(ids.nodes).toEqual({ b: "1" });
});

test("nodes of a machine that has left the fleet are gone: the next change makes them elsewhere", async () => {
  const { home, other, known, start, kill } = await fleet();
  start(other);
  const session = await login(start(home));
  await deploy(session, spreadLab);
  kill(other);
  known.pop();
  known[0] = { ...known[0]!, room: 100 };
  expect((await session.observe(path))!.nodes.map(({ name }) => name)).toEqual(["a"]);
  expect((await session.status(path)).nodes.map(({ name, status }) => `${name} ${status}`)).toEqual(["a running"]);
  const { ids } = await deploy(session, spreadLab);
  expect(Object.values(ids.nodes).sort()).toEqual(["1", "2"]);
  expect((await session.observe(path))!.nodes.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("disks of a spread lab are not exported, because a copy would have those of one machine only", async () => {
  const { home, other, start } = await fleet();
  const exported: string[] = [];
  const exportLab = async (lab: string) => exported.push(lab);
  const withDisks: Host = {
    ...home.local,
    login: async (...account) => ({ ...(await home.local.login(...account)), disks: { transfers: { exportLab } } as never }),
  };
  start(other);
  const session = await login(start(home, { host: withDisks }));
  await deploy(session, spreadLab);
  const { exportLab: copy } = session.disks!.transfers;
  await expect(copy(path, "admin")).rejects.toMatchObject({
    code: "operation_not_allowed",
    message: expect.stringContaining("labwright cp"),
  });
  await copy("/plain", "admin");
  expect(exported).toEqual(["/plain"]);
});

test("a change that wires an interface to another machine gives each link a tunnel of its own", async () => {
  const { machines, start } = await fleet({ count: 3 });
  for (const machine of machines.slice(1)) start(machine);
  const session = await login(start(machines[0]!));
  const wire = (...ends: readonly (readonly [string, string, string, string])[]): Lab => ({
    ...spreadLab,
    nodes: ["a", "b", "c"].map((key) => ({ ...nodes[0]!, key, name: key, ethernet: 4 })),
    links: ends.map(([a, x, b, y]) => ({
      key: [`${a}:${x}`, `${b}:${y}`].sort().join(" -- "),
      endpoints: [
        { node: a, interface: x },
        { node: b, interface: y },
      ],
    })),
  });
  let ids = progress.ids as NativeIds;
  const change = async (desired: Lab) => {
    const [observed, rules] = [await session.observe(path), await session.rules()];
    const { operations } = planLab({ desired, observed, rules, ids, prune: true, replace: false });
    ({ ids } = await session.apply(path, operations, { ...progress, ids }));
    return linksOf(session);
  };
  const wirings: readonly Lab[] = [
    wire(["a", "eth0", "b", "eth0"]),
    wire(["a", "eth0", "c", "eth0"], ["b", "eth0", "c", "eth1"]),
    wire(["a", "eth0", "b", "eth0"], ["a", "eth1", "c", "eth1"]),
    wire(["a", "eth1", "b", "eth0"], ["a", "eth0", "c", "eth1"], ["b", "eth1", "c", "eth0"]),
    wire(["b", "eth1", "a", "eth1"], ["c", "eth1", "b", "eth0"], ["c", "eth0", "a", "eth0"]),
  ];
  for (const desired of [...wirings, ...wirings.toReversed()]) {
    const links = await change(desired);
    const wanted = desired.links.map(({ endpoints }) =>
      endpoints
        .map((end) => ("node" in end ? `${end.node}:${end.interface}` : ""))
        .sort()
        .join(" "),
    );
    expect([...links.keys()].sort()).toEqual(wanted.sort());
    expect(new Set(links.values()).size).toBe(links.size);
    expect([...links.values()].join()).toMatch(/^(x\d+,?)+$/);
  }

  // A client's state that names one tunnel for two links.
  const [key = ""] = Object.keys(ids.links);
  ids = { ...ids, links: { ...ids.links, "a:eth2 -- c:eth2": ids.links[key]! } };
  const links = await change(wire(["a", "eth0", "b", "eth0"], ["a", "eth2", "c", "eth2"]));
  expect(new Set(links.values()).size).toBe(2);
});

test("a plan names a switch whose links have different MTUs, because some are between machines", async () => {
  const { home, other, known, start } = await fleet();
  start(other);
  for (const [at, one] of known.entries()) known[at] = { ...one, room: 64, underlay: { ...one.underlay!, mtu: 1_450 } };
  const session = await login(start(home));
  const uneven = async (mtu?: number) => {
    const hosts = ["a", "b"].map((key) => ({ ...nodes[0]!, key, name: key, ethernet: 1 }));
    const desired: Lab = {
      ...spreadLab,
      nodes: [...hosts, { ...nodes[0]!, key: "sw", name: "sw", template: "switch", ethernet: 2 }],
      links: hosts.map(({ key }, at) => ({
        key: `${key}:eth0 -- sw:eth${at}`,
        endpoints: [
          { node: key, interface: "eth0" },
          { node: "sw", interface: `eth${at}` },
        ],
        ...(mtu !== undefined && { mtu }),
      })),
    };
    const { operations } = planLab({ desired, observed: null, rules: await session.rules(), prune: false, replace: false });
    return (await session.spread!.facts(path, { spread: "nodes" }, operations, progress.ids))?.uneven;
  };
  expect(await uneven()).toEqual([{ node: "sw", mtu: 1_450 }]);
  expect(await uneven(1_450)).toEqual([]);
});

test("the home machine of a new lab has nodes of it, if they fit there", async () => {
  for (const [room, machines] of [
    [35, ["m1", "m3"]],
    [20, ["m2", "m3"]],
  ] as const) {
    const { home, machines: all, known, start } = await fleet({ count: 3 });
    for (const machine of all.slice(1)) start(machine);
    for (const [at, one] of known.entries()) known[at] = { ...one, room: at === 0 ? room : 64 };
    const session = await login(start(home));
    const { operations } = planLab({ desired: spreadLab, observed: null, rules: await session.rules(), prune: false, replace: false });
    const facts = await session.spread!.facts(path, { spread: "nodes" }, operations, progress.ids);
    expect(facts!.machines.map(({ machine }) => machine)).toEqual(machines);
    await deploy(session, spreadLab);
    expect(new Set((await session.status(path)).nodes.map(({ machine }) => machine))).toEqual(new Set(machines));
  }
});
