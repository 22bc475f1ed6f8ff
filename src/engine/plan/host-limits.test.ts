import { describe, expect, it } from "vitest";
import type { Lab, LabNetwork, LabNode } from "../../intent/lab/lab.ts";
import { readLab } from "../compare/read-lab.ts";
import type { ObservedLab } from "../model/observed.ts";
import type { HostRules } from "../model/plan.ts";
import { type PlanInput, planLab } from "./plan-lab.ts";

const rules: HostRules = {
  templates: [
    {
      id: "linux",
      type: "linux",
      attributes: {},
      startupConfig: false,
      fields: {},
      links: "live",
      ethFormat: "eth{0}",
      maxInterfaces: 8,
    },
  ],
  networkTypes: ["bridge", "nat"],
  features: {},
  unsupportedFields: [],
  maxNodes: 3,
  networkName: { pattern: "^[^&]*$", why: "it has no ampersands" },
};

const node = (key: string, template = "linux"): LabNode => ({ key, name: key, template, exec: [], env: {}, attributes: {}, labels: {} });
const lab = (keys: readonly string[], networks: readonly LabNetwork[] = []): Lab => ({
  name: "campus",
  nodes: keys.map((key) => node(key)),
  networks,
  links: [],
  texts: [],
  trafficFilters: [],
});
const host = ({ nodes, networks }: Lab): ObservedLab => ({
  path: "/campus",
  id: "lab-1",
  name: "campus",
  locked: false,
  lock: 0,
  nodes: nodes.map(({ key, name, template }, i) => ({
    id: `n-${key}`,
    name,
    template,
    type: template,
    exec: [],
    ethernet: 0,
    position: { x: i, y: i },
    env: {},
    attributes: {},
    labels: {},
    power: "stopped",
    consoleType: "telnet",
    interfaces: [],
  })),
  networks: networks.map(({ key, name, type }) => ({ id: `w-${key}`, name, type, position: { x: 9, y: 9 } })),
  links: [],
  texts: [],
  trafficFilters: [],
});
const refusals = (desired: Lab, observed: ObservedLab | null, more: Partial<PlanInput> = {}) =>
  planLab({ desired, observed, rules, prune: false, replace: false, ...more }).blocked.map(({ key, reason }) => [key, reason.code]);

describe("on a host whose labs have at most three nodes", () => {
  const tooMany = [["campus", "too_many_nodes"]];

  it("a fourth node is refused, even if the others are only on the host", () => {
    expect(refusals(lab(["a", "b", "c"]), null)).toEqual([]);
    expect(refusals(lab(["a", "b", "c", "d"]), null)).toEqual(tooMany);
    expect(refusals(lab(["a", "b", "c", "d"]), host(lab(["a"])))).toEqual(tooMany);
    expect(refusals(lab(["d"]), host(lab(["a", "b", "c"])))).toEqual(tooMany);
  });

  it("a node may replace another, and a lab may replace another", () => {
    expect(refusals(lab(["d"]), host(lab(["a", "b", "c"])), { prune: true })).toEqual([]);
    expect(refusals(lab(["b", "c", "d"]), host(lab(["a", "b", "c"])), { prune: true })).toEqual([]);
    expect(refusals(lab(["x", "y", "z"]), host(lab(["a", "b", "c"])), { replace: true })).toEqual([]);
    expect(refusals(lab(["w", "x", "y", "z"]), host(lab(["a", "b", "c"])), { replace: true })).toEqual(tooMany);
  });

  it("a lab that already has more can be changed", () => {
    const full = lab(["a", "b", "c", "d"]);
    expect(refusals(full, host(full))).toEqual([]);
  });
});

describe("on a host that cannot store some network names", () => {
  const wan = (name: string, type = "bridge"): LabNetwork => ({ key: "wan", name, type });

  it("a new network or a new name is refused, and a network that already has such a name is left alone", () => {
    expect(refusals(lab([], [wan("a&b")]), null)).toEqual([["wan", "bad_name"]]);
    expect(refusals(lab([], [wan("a&b")]), host(lab([], [wan("ab")])))).toEqual([["wan", "bad_name"]]);
    expect(refusals(lab([], [wan("a&b", "nat")]), host(lab([], [wan("a&b")])))).toEqual([["wan", "bad_name"]]);
    expect(refusals(lab([], [wan("a&b")]), host(lab([], [wan("a&b")])))).toEqual([]);
  });
});

describe("positions that the host chose", () => {
  const desired = lab(["a", "b"], [{ key: "lan", name: "lan", type: "bridge" }]);
  const observed = host(desired);
  const hostPlaces = { nodes: new Map([["n-a", { x: 0, y: 0 }]]), networks: new Map([["w-lan", { x: 9, y: 9 }]]) };
  const positions = ({ nodes, networks }: Lab) => [...nodes, ...networks].map(({ position }) => position);

  it("are added to an intent without positions only after somebody changes them", () => {
    expect(positions(readLab({ observed, base: desired, rules, hostPlaces }))).toEqual([undefined, { x: 1, y: 1 }, undefined]);
    const moved = { ...observed, nodes: observed.nodes.map((one) => ({ ...one, position: { x: 5, y: 5 } })) };
    expect(positions(readLab({ observed: moved, base: desired, rules, hostPlaces }))).toEqual([{ x: 5, y: 5 }, { x: 5, y: 5 }, undefined]);
  });

  it("are written to an intent that is made from the host alone", () => {
    expect(positions(readLab({ observed, rules, hostPlaces }))).toEqual([
      { x: 0, y: 0 },
      { x: 1, y: 1 },
      { x: 9, y: 9 },
    ]);
  });
});
