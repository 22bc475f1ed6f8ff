import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { ObservedLab, ObservedNode } from "../../engine/model/observed.ts";
import type { Operation, Step } from "../../engine/model/plan.ts";
import type { LabLink } from "../../intent/lab/lab.ts";
import { decode, encode, framesOf, writeFrame } from "./codec.ts";
import { halfName, mergeParts, type PartView } from "./merge.ts";
import { networkWord, nodeWord, ownIds, type SplitFacts, splitSteps } from "./split-steps.ts";

const [home, away] = [1, 2];
const vni = 9_000_001;
const node = (id: string, name: string) => ({ id, name, power: "running" }) as ObservedNode;
const lab = (id: string, parts: Pick<ObservedLab, "nodes" | "networks" | "links">): ObservedLab => ({
  path: `/${id}`,
  id,
  name: "lab",
  locked: false,
  lock: 0,
  texts: [],
  trafficFilters: [],
  ...parts,
});
const half = (side: 0 | 1, remote: string) => ({
  id: "1",
  name: halfName(vni, side, undefined),
  type: "vxlan",
  vxlan: { remote, vni, cut: { mtu: 1450 } },
});
/** r1 at the home machine, r2 and r3 at the other one; r1 -- r2 is between the machines. */
const ours = lab("ours", {
  nodes: [node("1", "r1")],
  networks: [half(0, "192.0.2.2")],
  links: [{ id: "1", endpoints: [{ nodeId: "1", interface: "eth0" }, { networkId: "1" }], quality: { a: { delay: 5 } }, mtu: 1450 }],
});
const theirs = lab("theirs", {
  nodes: [node("1", "r2"), node("2", "r3")],
  networks: [half(1, "192.0.2.1")],
  links: [
    { id: "1", endpoints: [{ nodeId: "1", interface: "eth0" }, { networkId: "1" }], suspended: { a: true, b: false }, mtu: 1450 },
    {
      id: "2",
      endpoints: [
        { nodeId: "1", interface: "eth1" },
        { nodeId: "2", interface: "eth0" },
      ],
    },
  ],
});
const view: PartView = { number: away, name: "beta", lab: theirs, isAway: false };
const merged = mergeParts({ number: home, lab: ours }, [view]);
const ids = { nodes: { r1: "1", r2: "2.1", r3: "2.2" }, networks: {}, links: { cut: `x${vni}`, inside: "2.2" } };

test("parts are one lab: the halves of a link are one link, and the hidden networks are not shown", () => {
  expect(merged.lab).toMatchObject({ id: "ours", path: "/ours", networks: [] });
  expect(merged.lab.nodes.map(({ id, name }) => `${id} ${name}`)).toEqual(["1 r1", "2.1 r2", "2.2 r3"]);
  expect(merged.lab.links).toEqual([
    {
      id: "2.2",
      endpoints: [
        { nodeId: "2.1", interface: "eth1" },
        { nodeId: "2.2", interface: "eth0" },
      ],
    },
    {
      id: `x${vni}`,
      endpoints: [
        { nodeId: "1", interface: "eth0" },
        { nodeId: "2.1", interface: "eth0" },
      ],
      quality: { a: { delay: 5 } },
      suspended: { a: false, b: true },
    },
  ]);
});

test("a half without the other one is not a link: the plan makes the link again", () => {
  const alone = mergeParts({ number: home, lab: ours }, [{ ...view, lab: null }]);
  expect(alone.lab.links).toEqual([]);
  expect(alone.lab.nodes.map(({ name }) => name)).toEqual(["r1"]);
});

test("a network that a user has given the name of a half is a network like any other", () => {
  const named = { id: "7", name: halfName(vni, 0, undefined), type: "bridge" };
  const link = { id: "7", endpoints: [{ nodeId: "1", interface: "eth7" }, { networkId: "7" }] } as const;
  const whole = mergeParts({ number: home, lab: { ...ours, networks: [...ours.networks, named], links: [...ours.links, link] } }, [view]);
  expect(whole.lab.networks).toEqual([named]);
  expect(whole.lab.links).toEqual([link, ...merged.lab.links]);
  expect(whole.cuts).toEqual(merged.cuts);
});

const facts: SplitFacts = {
  home,
  places: new Map([
    [nodeWord("r1"), home],
    [nodeWord("r2"), away],
    [nodeWord("r3"), away],
    [networkWord("lan"), home],
  ]),
  merged,
  ids,
  underlays: new Map([
    [home, { address: "192.0.2.1", mtu: 1450 }],
    [away, { address: "192.0.2.2", mtu: 8950 }],
  ]),
  nameOf: (machine) => (machine === home ? "alpha" : "beta"),
  vnis: new Map([["cut", vni]]),
};
const operation = (step: Step) => ({ id: step.do, step }) as Operation;
const stepsAt = (machine: number, ...steps: readonly Step[]) =>
  (splitSteps(steps.map(operation), facts).get(machine) ?? []).map(({ step }) => step);
const link = (endpoints: LabLink["endpoints"], more: Partial<LabLink> = {}): Step => ({
  do: "create-link",
  link: { key: "cut", endpoints, ...more },
});

test("a link between machines becomes a link to a hidden network on each, with the quality of its own side and the smaller MTU", () => {
  const ends: LabLink["endpoints"] = [
    { node: "r1", interface: "eth0" },
    { node: "r2", interface: "eth0" },
  ];
  const step = link(ends, { quality: { a: { delay: 5 }, b: { loss: 1 } } });
  const name = halfName(vni, 1, undefined);
  expect(stepsAt(away, step)).toEqual([
    {
      do: "create-network",
      network: { key: name, name, type: "vxlan", vxlan: { remote: "192.0.2.1", vni, cut: { mtu: 1450 } } },
    },
    { do: "create-link", link: { key: "cut", endpoints: [ends[1], { network: name }], mtu: 1450, quality: { a: { loss: 1 } } } },
  ]);
  expect(stepsAt(home, step)).toHaveLength(2);
});

test("a half that an interrupted change has left makes room for the link as it is made now", () => {
  // r2 was placed on machine 2, which died, and is made on machine 3 or beside r1 now.
  const alone = mergeParts({ number: home, lab: ours }, []);
  const ends: LabLink["endpoints"] = [
    { node: "r1", interface: "eth0" },
    { node: "r2", interface: "eth0" },
  ];
  const after = (at: number, vnis: SplitFacts["vnis"]) => {
    const known = { nodes: { r1: "1" }, networks: {}, links: {} };
    const places = new Map([...facts.places, [nodeWord("r2"), at]]);
    const underlays = new Map([...facts.underlays, [3, { address: "192.0.2.3", mtu: 1450 }]]);
    const there = { ...facts, merged: alone, ids: known, places, underlays, vnis };
    const steps = splitSteps([operation(link(ends))], there)
      .get(home)!
      .map(({ step }) => step);
    return { steps, ids: ownIds(known, home, there) };
  };
  const name = halfName(vni, 0, undefined);
  const removal: readonly Step[] = [
    { do: "delete-link", link: name },
    { do: "delete-network", network: name },
  ];
  const beside = after(home, new Map());
  expect(beside.steps).toEqual([...removal, link(ends)]);
  expect(beside.ids).toMatchObject({ links: { [name]: "1" }, networks: { [name]: "1" } });
  // The same tunnel leads to another machine.
  expect(after(3, new Map([["cut", vni]])).steps).toMatchObject([
    ...removal,
    { do: "create-network", network: { name, vxlan: { remote: "192.0.2.3" } } },
    { do: "create-link" },
  ]);
  expect(after(3, new Map([["cut", vni + 1]])).steps.slice(0, 2)).toEqual(removal);
});

test("a link between machines whose declared MTU changes gets another half in the place of the old one", () => {
  const ends: LabLink["endpoints"] = [
    { node: "r1", interface: "eth0" },
    { node: "r2", interface: "eth0" },
  ];
  expect(stepsAt(away, link(ends, { mtu: 1400 })).map((step) => step.do)).toEqual([
    "delete-link",
    "delete-network",
    "create-network",
    "create-link",
  ]);
});

test("steps of nodes go to their machines, and a deleted link between machines to both", () => {
  expect(stepsAt(away, { do: "start", node: "r1" }, { do: "start", node: "r3" })).toEqual([{ do: "start", node: "r3" }]);
  expect(stepsAt(home, { do: "delete-link", link: "cut" })).toEqual([
    { do: "delete-link", link: "cut" },
    { do: "delete-network", network: halfName(vni, 0, undefined) },
  ]);
  expect(stepsAt(away, { do: "delete-link", link: "inside" })).toEqual([{ do: "delete-link", link: "inside" }]);
});

test("a node and a network on different machines are refused with both names", () => {
  expect(() => stepsAt(home, link([{ node: "r2", interface: "eth2" }, { network: "lan" }]))).toThrow(/machines beta and alpha/);
});

test("each machine gets the ids that it knows", () => {
  expect(ownIds(ids, away, facts)).toEqual({
    nodes: { r2: "1", r3: "2" },
    networks: { [halfName(vni, 1, undefined)]: "1" },
    links: { inside: "2", cut: "1" },
  });
});

test("maps and failures pass between machines, and frames arrive whole whatever their pieces are", async () => {
  const failure = new Failure("node_not_found", "no node", { data: { nodes: ["r9"] } });
  const passed = decode(encode({ by: new Map([["r1", failure]]) })) as { readonly by: ReadonlyMap<string, Failure> };
  expect(passed.by.get("r1")).toBeInstanceOf(Failure);
  expect(passed.by.get("r1")).toMatchObject({ code: "node_not_found", message: "no node", data: { nodes: ["r9"] } });
  const whole = new PassThrough();
  for (const text of ["one", "", "three"]) writeFrame(whole, text.length, text);
  whole.end();
  const bytes = Buffer.concat(await whole.toArray());
  const pieces = new PassThrough();
  for (const byte of bytes) pieces.write(Buffer.from([byte]));
  pieces.end();
  const frames: string[] = [];
  for await (const { kind, data } of framesOf(pieces)) frames.push(`${kind} ${data.toString("utf8")}`);
  expect(frames).toEqual(["3 one", "0 ", "5 three"]);
});

test("maps and failures are kept, and data of users is never taken for one", () => {
  const value = {
    map: new Map<string, unknown>([["a", new Map([[1, { x: [1, null] }]])]]),
    labels: { "~map": "x", more: { "~failure": { code: "internal", message: "m" } } },
    both: [{ "~entries": [["~map", []]], "~map": new Map([["k", { "~map": 1 }]]) }],
    proto: JSON.parse('{"__proto__": {"~map": 1}}') as unknown,
  };
  expect(decode(encode(value))).toEqual(value);
  const failure = decode(encode(new Failure("host_error", "broken", { data: { host: "why" } })));
  expect(failure).toBeInstanceOf(Failure);
  expect(failure).toMatchObject({ code: "host_error", message: "broken", data: { host: "why" } });
  expect(decode(encode(undefined))).toBeNull();
});
