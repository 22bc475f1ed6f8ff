import { describe, expect, test } from "vitest";
import type { GraphNode } from "../topology/graph/graph.ts";
import { copied, draw, mergedText, readableLab } from "./draw.ts";
import { freePlace, hostNames, keptPlaces, linkOf } from "./gestures.ts";
import type { DrawnEdit } from "./lab-edits.ts";

const yaml = `# my lab
name: drawn
nodes:
  r1: {template: frr, position: {x: 0, y: 0}} # core
  sw1:
    template: linux
    startup-config: {text: "hostname sw1"} # kept
links:
  - ["r1:eth1", "sw1:eth1"] # up
traffic_filters:
  - {name: all, match: ip}
  - {name: core, match: tcp, nodes: [r1]}
`;

const drawnText = (edits: readonly DrawnEdit[], text = yaml) => draw({ yaml: text, files: {} }, edits).yaml;
const labIn = (text: string) => readableLab({ yaml: text, files: {} });

describe("an edit that is drawn", () => {
  test("adds a node with the next free name and keeps all comments", () => {
    const text = drawnText([{ kind: "add-node", template: "frr", at: { x: 10, y: 20 } }]);
    expect(text).toMatch(/r2:\s+\{?template: frr[\s\S]*x: 10,?\s+y: 20/);
    for (const line of ["# my lab", "# core", "# kept", "# up"]) expect(text).toContain(line);
  });

  test("links nodes by the first free interface of each, as the host or other links name them", () => {
    const known = new Map([["r1", ["eth0", "eth1", "eth2"]]]);
    const link = drawnText([linkOf(labIn(yaml), known, "r1", "sw1")]);
    expect(link).toContain('["r1:eth0", "sw1:eth2"]');
    const cisco = yaml.replaceAll("r1:eth1", "r1:Gi0/0");
    expect(drawnText([linkOf(labIn(cisco), new Map(), "r1", "sw1")], cisco)).toContain('"r1:Gi0/1"');
  });

  test("removes a node with its links and the filters that name only it", () => {
    const text = drawnText([{ kind: "remove", parts: new Set(["r1"]), links: new Set() }]);
    expect(text).not.toMatch(/r1|core/);
    expect(text).toContain("name: all");
    expect(text).toContain("# kept");
  });

  test("renames a new node with its links, and of a node on the host only the shown name", () => {
    const renamed = drawnText([{ kind: "rename", key: "r1", to: "edge", keepsKey: false }]);
    expect(renamed).toMatch(/edge:\s+\{?template: frr/);
    expect(renamed).toContain('"edge:eth1"');
    const named = drawnText([{ kind: "rename", key: "r1", to: "edge", keepsKey: true }]);
    expect(named).toMatch(/r1: \{.*name: edge/);
    expect(named).toContain('"r1:eth1"');
  });

  test("gives a link another interface, and changes, moves and removes texts; comments stay", () => {
    const [link] = labIn(yaml).links;
    const text = drawnText([
      { kind: "set-interfaces", link: link!.key, interfaces: new Map([["r1", "eth9"]]) },
      { kind: "add-text", text: "first", at: { x: 1, y: 2 } },
      { kind: "add-text", text: "second", at: { x: 3, y: 4 } },
      { kind: "set-text", index: 0, text: "the core" },
      { kind: "move-texts", places: new Map([[0, { x: 50, y: 60 }]]) },
      { kind: "remove-texts", indexes: new Set([1]) },
    ]);
    expect(text).toContain("r1:eth9");
    expect(text).toMatch(/the core[\s\S]*x: 50,?\s*y: 60/);
    expect(text).not.toMatch(/second|first/);
    expect(text).toContain("# kept");
  });

  test("pastes parts with their links under free names", () => {
    const text = drawnText([{ kind: "paste", copied: labIn(yaml), by: { x: 5, y: 5 } }]);
    expect(text).toMatch(/r2:\s+\{?template: frr[\s\S]*x: 5,?\s+y: 5/);
    expect(text).toMatch(/"r2:eth1", "sw2:eth1"|"sw2:eth1", "r2:eth1"/);
  });

  test("of shapes adds, moves, changes, copies and deletes them, and keeps comments", () => {
    const box = { type: "rectangle", x: 0, y: 0, width: 50, height: 40 } as const;
    const added = drawnText([{ kind: "add-shapes", shapes: [box] }]);
    expect(added).toContain("\nshapes:\n  - {type: rectangle, x: 0, y: 0, width: 50, height: 40}\n");
    const noted = added.replace("height: 40}", "height: 40} # the office");
    const moved = drawnText([{ kind: "set-shapes", changes: [[box, { ...box, x: 9, fill: "#ff0000" }]] }], noted);
    expect(moved).toContain('{type: rectangle, x: 9, y: 0, width: 50, height: 40, fill: "#ff0000"} # the office');
    const parts = copied(labIn(moved), new Set(), new Set(), labIn(moved).shapes ?? []);
    const pasted = drawnText([{ kind: "paste", copied: parts, by: { x: 1, y: 2 } }], moved);
    expect(labIn(pasted).shapes?.map(({ x, y }) => [x, y])).toEqual([
      [9, 0],
      [10, 2],
    ]);
    const left = drawnText([{ kind: "set-shapes", changes: [[labIn(moved).shapes![0]!, undefined]] }], pasted);
    expect(labIn(left).shapes?.map(({ x }) => x)).toEqual([10]);
    // An edit that began before the last one changes nothing else.
    expect(drawnText([{ kind: "set-shapes", changes: [[box, undefined]] }], left)).toBe(left);
  });

  test("pastes texts and shapes beside nodes", () => {
    const text = `${yaml}texts:\n  - {text: hi, x: 1, y: 1}\nshapes:\n  - {type: line, x: 0, y: 0, x2: 5, y2: 5}\n`;
    const all = copied(labIn(text), new Set(["r1"]), new Set([0]), labIn(text).shapes ?? []);
    const lab = labIn(drawnText([{ kind: "paste", copied: all, by: { x: 100, y: 0 } }], text));
    expect(lab.texts.map(({ x }) => x)).toEqual([1, 101]);
    expect(lab.shapes?.[1]).toEqual({ type: "line", x: 100, y: 0, x2: 105, y2: 5 });
  });

  test.each<[string, DrawnEdit, RegExp]>([
    ["a name in use", { kind: "rename", key: "r1", to: "sw1", keepsKey: false }, /sw1 exists already/],
    ["a bad name", { kind: "rename", key: "r1", to: "a b", keepsKey: true }, /1 to 64 letters/],
    ["a link to a part of the host", { kind: "link", from: "r1", to: "gone", interfaces: () => ["eth7"] }, /gone is only on the host/],
    ["a node without a free interface", { kind: "link", from: "r1", to: "sw1", interfaces: () => ["eth1"] }, /no free interface/],
  ])("is refused with its reason: %s", (_name, edit, message) => {
    expect(() => drawnText([edit])).toThrow(message);
  });

  test("is refused for a text with an error, with its line", () => {
    expect(() => drawnText([], "name: x\nnodes: 5\n")).toThrow(/error in line 2/);
  });

  test("keeps computed positions, so that one declared position does not change the others", () => {
    const graph = {
      nodes: [{ id: "1", key: "sw1", label: "sw1", kind: "node", type: "pc", icon: "pc", at: { x: 7, y: 9 }, autoPlaced: true }],
      links: [],
      texts: [],
      shapes: [],
    } as const;
    expect(drawnText([keptPlaces(graph)])).toMatch(/position:\s*\{?\s*x: 7,?\s*y: 9/);
  });
});

test("in a lab with addressing and routing, nodes that are linked, renamed or copied get addresses of their own and no text of others", () => {
  const text = `name: drawn
addressing: true # pools
routing: {ospf: true}
nodes:
  r1: {template: frr} # core
  h1: {template: linux}
links:
  - r1-h1
`;
  const linked = drawnText(
    [
      { kind: "add-node", template: "frr", at: { x: 1, y: 2 } },
      { kind: "link", from: "r2", to: "r1", interfaces: () => ["eth1", "eth2"] },
    ],
    text,
  );
  expect(linked).toContain('- ["r2:eth1", "r1:eth2"]');
  const renamed = drawnText([{ kind: "rename", key: "h1", to: "pc1", keepsKey: false }], linked);
  const parts = copied(labIn(renamed), new Set(["r1", "pc1"]));
  const pasted = drawnText([{ kind: "paste", copied: parts, by: { x: 10, y: 10 } }], renamed);
  expect(pasted).not.toMatch(/exec|startup-config/);
  const commands = labIn(pasted).nodes.filter(({ template }) => template === "linux");
  expect(commands.map(({ key, exec }) => [key, exec.length])).toEqual([
    ["pc1", 2],
    ["pc2", 2],
  ]);
  expect(commands[0]?.exec).not.toEqual(commands[1]?.exec);
});

describe("the name of a part", () => {
  const taken = new Set(["r2", "sw2"]);

  test("that is added or pasted is none that a part of the host has", () => {
    expect(drawnText([{ kind: "add-node", template: "frr", at: { x: 0, y: 0 }, taken }])).toMatch(/^ {2}r3:/m);
    const parts = copied(labIn(yaml), new Set(["sw1"]));
    expect(drawnText([{ kind: "paste", copied: parts, by: { x: 1, y: 1 }, taken }])).toMatch(/^ {2}sw3:/m);
  });

  test("that is renamed is none of another part, also if only the shown name changes", () => {
    const rename = (to: string, keepsKey: boolean) => () => drawnText([{ kind: "rename", key: "r1", to, keepsKey, taken }]);
    for (const keepsKey of [true, false]) {
      for (const to of ["sw1", "r2"]) expect(rename(to, keepsKey)).toThrow(`${to} exists already`);
      expect(rename("a b", keepsKey)).toThrow("a name has 1 to 64 letters");
      expect(rename("r1", keepsKey)()).toBe(yaml);
    }
  });

  test("on the host is in the set of taken names, but not that of the renamed part itself", () => {
    const part = (id: string, label: string, key: string | null) => ({ id, label, key }) as GraphNode;
    const nodes = [part("1", "edge", "r1"), part("2", "r9", null), part("new:node:h1", "h1", "h1")];
    expect([...hostNames({ nodes })]).toEqual(["edge", "r1", "r9"]);
    expect([...hostNames({ nodes }, "1")]).toEqual(["r9"]);
  });

  test("and its place are free: a part of the text that is not drawn yet is not covered", () => {
    const at = freePlace({ nodes: [] }, { x: 0, y: 0 }, labIn(yaml));
    expect(Math.hypot(at.x, at.y)).toBeGreaterThan(60);
  });
});

describe("two edits of one text", () => {
  const base = { yaml, files: {} };
  const mine = draw(base, [{ kind: "add-node", template: "linux", at: { x: 10, y: 20 } }]);
  const merge = (theirs: string, own = mine) => mergedText(base, own, { yaml: theirs, files: {} })?.yaml;

  test("of different parts are merged into the newer text, with its comments", () => {
    const theirs = yaml.replace("nodes:\n", "nodes:\n  r3: {template: frr} # theirs\n").replace("# up", "# down");
    const text = merge(theirs)!;
    for (const kept of ["r3: {template: frr} # theirs", "# down", "# core", "h1"]) expect(text).toContain(kept);
    expect(labIn(text).nodes.map(({ key }) => key)).toEqual(["h1", "r1", "r3", "sw1"].sort());
    const deleted = drawnText([{ kind: "remove", parts: new Set(["sw1"]), links: new Set() }]);
    expect(labIn(merge(deleted)!).nodes.map(({ key }) => key)).toEqual(["h1", "r1"]);
  });

  test("of one part, of one interface, or of a part that the other deletes are not merged", () => {
    const change = (from: string, to: string) => ({ yaml: yaml.replace(from, to), files: {} });
    expect(merge(yaml.replace("x: 0", "x: 5"), change("x: 0", "x: 7"))).toBeUndefined();
    const linked = change("links:\n", 'links:\n  - ["r1:eth5", "sw1:eth5"]\n');
    expect(merge(yaml.replace("links:\n", 'links:\n  - ["r1:eth5", "sw1:eth6"]\n'), linked)).toBeUndefined();
    expect(merge(drawnText([{ kind: "remove", parts: new Set(["sw1"]), links: new Set() }]), linked)).toBeUndefined();
  });

  test("are not merged if a change would be lost: a comment, or a test of the lab", () => {
    const theirs = yaml.replace("x: 0", "x: 5");
    expect(merge(theirs, { yaml: yaml.replace("# my lab", "# our lab"), files: {} })).toBeUndefined();
    const tested = `${yaml}tests:\n  - {name: up, from: r1, ping: sw1}\n`;
    expect(labIn(tested).tests).toHaveLength(1);
    expect(merge(theirs, { yaml: tested, files: {} })).toBeUndefined();
  });
});
