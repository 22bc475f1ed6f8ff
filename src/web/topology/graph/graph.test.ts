import { expect, test } from "vitest";
import type { InspectionData } from "../../../contract/schemas/observe.ts";
import type { PlanAction } from "../../../contract/schemas/plan.ts";
import { readIntent } from "../../../intent/read/read.ts";
import { graphOf } from "./graph.ts";

const node = (id: string, name: string, x?: number) => ({
  id,
  node: name,
  name,
  template: "frr",
  type: "router",
  status: "running" as const,
  console: { type: "telnet" },
  interfaces: [],
  cpu: 0,
  ram: 0,
  ...(x === undefined ? { position: { x: 900, y: 900 }, placed: true } : { position: { x, y: 0 } }),
});
const link = (id: string, a: string, b: string) => ({ id, key: `${a} -- ${b}`, endpoints: [a, b], kind: "p2p" as const, suspended: false });
const lab: InspectionData = {
  lab: "/p",
  name: "p",
  mode: "create",
  locked: false,
  lock: 0,
  cached: false,
  taken_at: "2026-01-01T00:00:00Z",
  nodes: [node("1", "r1", 0), node("2", "r2", 300)],
  networks: [{ id: "1", key: "lan", name: "lan", type: "bridge", position: { x: 0, y: 200 } }],
  links: [link("3", "r1:eth0", "r2:eth0"), link("4", "r2:eth1", "r1:eth1"), link("5", "r1:eth2", "lan")],
  texts: [],
};
const action = (fields: Pick<PlanAction, "op" | "kind" | "key"> & Partial<PlanAction>): PlanAction => ({
  id: `${fields.kind}:${fields.key}`,
  reason: { code: "changed_in_file", text: "" },
  disruption: "none",
  affects: [],
  changes: [],
  prune: false,
  ...fields,
});

test("nodes, networks and links are drawn at the positions of the host", () => {
  const { nodes, links } = graphOf(lab);
  expect(nodes.map(({ id, kind, at, autoPlaced }) => [id, kind, at.x, at.y, autoPlaced])).toEqual([
    ["1", "node", 0, 0, false],
    ["2", "node", 300, 0, false],
    ["net:1", "network", 0, 200, false],
  ]);
  expect(links.map(({ from, to, fromInterface, toInterface, lane, lanes }) => [from, fromInterface, to, toInterface, lane, lanes])).toEqual(
    [
      ["1", "eth0", "2", "eth0", 0, 2],
      ["2", "eth1", "1", "eth1", 1, 2],
      ["1", "eth2", "net:1", "", 0, 1],
    ],
  );
});

test("a node that the text moves is drawn at its new position, and a node without a position is placed by the layout", () => {
  const unplaced = { ...lab, nodes: [node("1", "r1", 0), node("2", "r2")] };
  const text = "name: x\nnodes:\n  r1: {template: frr, position: {x: 7, y: 8}}\n  r2: {template: frr}\n";
  const { nodes } = graphOf(unplaced, { lab: readIntent(text).lab });
  expect(nodes.find(({ id }) => id === "1")).toMatchObject({ at: { x: 7, y: 8 }, autoPlaced: false });
  expect(nodes.find(({ id }) => id === "2")!.autoPlaced).toBe(true);
});

test("a tier has its nodes in natural order, also in a text that has not been applied", () => {
  const leaves = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
  const named = leaves.map((leaf) => `leaf${leaf}`);
  const nodes = [...named, "spine1", "spine2"].map((name) => `  ${name}: {template: frr}\n`).join("");
  const links = leaves
    .map((leaf) => `  - ["leaf${leaf}:eth0", "spine1:eth${leaf}"]\n  - ["leaf${leaf}:eth1", "spine2:eth${leaf}"]\n`)
    .join("");
  const empty = { ...lab, nodes: [], networks: [], links: [] };
  const drawn = graphOf(empty, { lab: readIntent(`name: x\nnodes:\n${nodes}links:\n${links}`).lab }).nodes;
  const tier = drawn.filter(({ label }) => label.startsWith("leaf")).sort((a, b) => a.at.x - b.at.x);
  expect(tier.map(({ label }) => label)).toEqual(named);
});

test("a plan marks parts that are created, changed, deleted, down or affected", () => {
  const { nodes, links } = graphOf(lab, {
    actions: [
      action({ op: "create", kind: "node", key: "r3", changes: [{ field: "template", before: null, after: "linux" }] }),
      action({
        op: "create",
        kind: "link",
        key: "r2:eth2 -- r3:eth0",
        disruption: "link",
        affects: ["r2"],
        affected: [{ kind: "node", key: "r2" }],
      }),
      action({
        op: "update",
        kind: "node",
        key: "r1",
        disruption: "restart",
        affects: ["r2", "r1:eth0 -- r2:eth0"],
        affected: [
          { kind: "node", key: "r2" },
          { kind: "link", key: "r1:eth0 -- r2:eth0" },
        ],
      }),
      action({ op: "update", kind: "network", key: "lan" }),
      action({ op: "delete", kind: "link", key: "r1:eth2 -- lan", disruption: "link" }),
    ],
  });
  expect(Object.fromEntries(nodes.map(({ label, mark }) => [label, mark]))).toEqual({
    r1: "down",
    r2: "affected",
    lan: "changed",
    r3: "created",
  });
  expect(Object.fromEntries(links.map(({ key, mark }) => [key, mark]))).toEqual({
    "r1:eth0 -- r2:eth0": "affected",
    "r2:eth1 -- r1:eth1": undefined,
    "r1:eth2 -- lan": "deleted",
    "r2:eth2 -- r3:eth0": "created",
  });
});

test("a node whose configuration is deleted or created is marked as changed or down, not as deleted or created", () => {
  const { nodes } = graphOf(lab, {
    actions: [
      action({ op: "delete", kind: "config", key: "r1", disruption: "restart" }),
      action({ op: "create", kind: "config", key: "r2", disruption: "none" }),
    ],
  });
  expect(nodes.slice(0, 2).map(({ label, mark }) => [label, mark])).toEqual([
    ["r1", "down"],
    ["r2", "changed"],
  ]);
});

test("a part of the host that the text does not have is marked as deleted only if applying the text deletes it", () => {
  const text = "name: x\nnodes:\n  r1: {template: frr, position: {x: 7, y: 8}}\n";
  const marks = (prunes: boolean) => {
    const { nodes, links } = graphOf(lab, { lab: readIntent(text).lab, prunes });
    return [...nodes, ...links].map(({ mark }) => mark);
  };
  expect(new Set(marks(false))).toEqual(new Set([undefined]));
  expect(marks(true)).toEqual([undefined, "deleted", "deleted", "deleted", "deleted", "deleted"]);
});

test("a node that the text and the host have under one name is drawn once, with its links", () => {
  const onHost = { ...lab, nodes: [node("1", "r1", 0), { ...node("2", "r2", 300), node: null }] };
  const drawn = (second: string) =>
    graphOf(onHost, { lab: readIntent(`name: x\nnodes:\n  r1: {template: frr}\n  ${second}\n`).lab, prunes: true });
  for (const second of ["r2: {template: frr}", "core: {template: frr, name: r2}"]) {
    const { nodes, links } = drawn(second);
    expect(nodes.filter(({ kind }) => kind === "node").map(({ id, label, mark }) => [id, label, mark])).toEqual([
      ["1", "r1", undefined],
      ["2", "r2", undefined],
    ]);
    expect(links.filter(({ to }) => to === "2" || to === "1")).toHaveLength(2);
  }
  expect(drawn("r9: {template: frr}").nodes.map(({ id }) => id)).toContain("new:node:r9");
});
