// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables have this syntax

import fc from "fast-check";
import { expect, test } from "vitest";
import { editIntent } from "../../edit/edit.ts";
import type { Lab, LabNode } from "../../lab/lab.ts";
import { expandRange, NameCount } from "../../parse/ranges.ts";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

const fabric = `name: fabric
# our switches
nodes:
  spine{1..2}: {template: frr}
  leaf{1..3}:   # in three racks
    template: frr
    ram: 256
    labels: {rack: "\${item}", name: "\${node}"}
  leaf3: {position: {x: 1, y: 2}}
links:
  - {clos: {spines: "spine{1..2}", leaves: "leaf{1..3}"}, mtu: 9000}   # the fabric
  - ["leaf{1..2}:eth9", "leaf3:eth{8..9}"]
`;

function read(yaml: string): Lab {
  const { lab, diagnostics } = readIntent(yaml);
  expect(diagnostics).toEqual([]);
  const { inherited: _inherited, ...structure } = lab as Lab;
  return structure;
}

const problems = (yaml: string) => readIntent(yaml).diagnostics.map(({ code, line, path }) => ({ code, line, path }));
const keys = (lab: Lab) => lab.links.map(({ key }) => key);
const withNodes = (lab: Lab, change: (node: LabNode) => LabNode) => ({ ...lab, nodes: lab.nodes.map(change) });

/** Returns the changed text, which reads as the wanted lab. */
function edited(yaml: string, wanted: Lab): string {
  const text = editIntent(yaml, {}, wanted).yaml;
  expect(read(text)).toEqual(wanted);
  return text;
}

test("a range of nodes is a node for each name, and an entry of a node's own wins over it", () => {
  const lab = read(fabric);
  expect(lab.nodes.map(({ key }) => key)).toEqual(["leaf1", "leaf2", "leaf3", "spine1", "spine2"]);
  expect(lab.nodes[1]).toMatchObject({ name: "leaf2", ram: 256, labels: { rack: "2", name: "leaf2" } });
  expect(lab.nodes[2]).toMatchObject({ ram: 256, labels: { rack: "3" }, position: { x: 1, y: 2 } });
  expect(lab.links.filter(({ mtu }) => mtu === 9000).length).toBe(6);
  expect(keys(lab)).toContain("leaf2:eth1 -- spine1:eth2");
  expect(keys(lab)).toContain("leaf2:eth9 -- leaf3:eth9");
  // The printed lab has no ranges and is the same lab.
  expect(read(printLab(lab).yaml)).toEqual(lab);
});

test("names of ranges and lists are those of a shell", () => {
  const names = (text: string) => (expandRange(text, new NameCount()) as readonly { readonly name: string }[]).map(({ name }) => name);
  expect(names("r{08..11}")).toEqual(["r08", "r09", "r10", "r11"]);
  expect(names("{a,b}-{1..2,7}")).toEqual(["a-1", "a-2", "a-7", "b-1", "b-2", "b-7"]);
  for (const wrong of ["r{}", "r{1..}", "r{3..1}", "r{1..2", "r1}", "r{{1..2}}", "r{a..c}", "r{1..999999999}", "{1..999}{1..999}"]) {
    expect(expandRange(wrong, new NameCount()), wrong).toHaveProperty("problem");
  }
});

test("a node that is added at the end of a mesh, star or clos changes no interface of the others", () => {
  const lab = (count: number, links: string) =>
    `name: x\ndefaults: {template: frr}\nnodes: {hub: , "r{1..${count}}": , "s{1..${count}}": }\nlinks: [${links}]\n`;
  const groups = [
    (count: number) => `{full-mesh: "r{1..${count}}"}`,
    (count: number) => `{star: {hub: hub, spokes: "r{1..${count}}"}}`,
    (count: number) => `{clos: {spines: "s{1..${count}}", leaves: "r{1..${count}}"}}`,
  ];
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 7 }), fc.constantFrom(...groups), (count, group) => {
      const [before, after] = [keys(read(lab(count, group(count)))), keys(read(lab(count + 1, group(count + 1))))];
      expect(after).toEqual(expect.arrayContaining(before));
      expect(new Set(after).size).toBe(after.length);
    }),
  );
});

test("a group of links names nodes, ranges and groups, and each link takes the next free interfaces", () => {
  const body =
    "name: x\ndefaults: {template: frr}\ngroups: {core: }\nnodes: {r1: {group: core}, r2: {group: core}, r3: , h{1..2}: }\nnetworks: {lan: }\n".replace(
      "h{1..2}:",
      '"h{1..2}":',
    );
  expect(keys(read(`${body}links: [{ring: [core, r3]}]\n`))).toEqual(["r1:eth1 -- r2:eth1", "r1:eth2 -- r3:eth2", "r2:eth2 -- r3:eth1"]);
  expect(keys(read(`${body}links: [{star: {hub: lan, spokes: "h{1..2}"}}, "h{1..2}-r1"]\n`))).toEqual([
    "h1:eth1 -- lan",
    "h1:eth2 -- r1:eth1",
    "h2:eth1 -- lan",
    "h2:eth2 -- r1:eth2",
  ]);
});

test("mistakes are reported once, at their line, and a huge range costs nothing", () => {
  const bomb = (key: string) => `name: x\nnodes:\n  a: {template: frr}\n  ${key}: {template: frr}\n`;
  expect(problems(bomb("x{1..999999999}"))).toEqual([{ code: "too_large", line: 4, path: "/nodes/x{1..999999999}" }]);
  const many = Array.from({ length: 9 }, (_, index) => `  n${index}-{1..4000}: {template: frr}`).join("\n");
  expect(problems(`name: x\nnodes:\n${many}\n`)[0]).toMatchObject({ code: "too_large", line: 5 });
  expect(problems(`name: x\ndefaults: {template: frr}\nnodes:\n  r{1..4000}:\nlinks:\n  - full-mesh: r{1..4000}\n`)).toMatchObject([
    { code: "too_large", line: 6 },
  ]);
  expect(problems(bomb("x{1..2"))).toEqual([{ code: "invalid_name", line: 4, path: "/nodes/x{1..2" }]);
  expect(problems(fabric.replace("  leaf3:", "  leaf4:").replace("ram: 256", "ram: much")).slice(0, 1)).toEqual([
    { code: "wrong_type", line: 7, path: "/nodes/leaf{1..3}/ram" },
  ]);
  expect(problems(fabric.replace("${item}", "${number}"))).toMatchObject([{ code: "unknown_variable", line: 8 }]);
  expect(problems(fabric.replace("leaf{1..2}:eth9", "leaf{1..3}:eth9"))).toMatchObject([{ code: "invalid_value", line: 12 }]);
  expect(problems(fabric.replace("spine{1..2}: ", "leaf{3..4}: ")).map(({ code }) => code)).toContain("duplicate_key");
  expect(problems(fabric.replace('spines: "spine{1..2}"', "spines: spin"))).toMatchObject([{ code: "unknown_node", line: 11 }]);
});

test("an edit of one node becomes an entry of its own, and an edit of all is written at the range", () => {
  const lab = read(fabric.replace("  leaf3: {position: {x: 1, y: 2}}\n", ""));
  const text = fabric.replace("  leaf3: {position: {x: 1, y: 2}}\n", "");
  const one = edited(
    text,
    withNodes(lab, (node) => (node.key === "leaf2" ? { ...node, position: { x: 5, y: 6 } } : node)),
  );
  expect(one).toContain("  leaf{1..3}:   # in three racks\n    template: frr\n    ram: 256\n");
  expect(one).toMatch(/\n {2}leaf2:\n? *\{? *position/);
  const all = edited(
    text,
    withNodes(lab, (node) => (node.key.startsWith("leaf") ? { ...node, ram: 512 } : node)),
  );
  expect(all).toBe(text.replace("ram: 256", "ram: 512"));
  const none = edited(
    text,
    withNodes(lab, ({ mtu: _, ...node }: LabNode & { mtu?: number }) => node),
  );
  expect(none).toBe(text);
});

test("a change of all links of an item is written at the item, and a change of some is refused with the line", () => {
  const lab = read(fabric);
  const mtu = (wanted: number, chosen: (key: string) => boolean) => ({
    ...lab,
    links: lab.links.map((link) => (chosen(link.key) ? { ...link, mtu: wanted } : link)),
  });
  expect(
    edited(
      fabric,
      mtu(1500, (key) => key.includes("spine")),
    ),
  ).toBe(fabric.replace("mtu: 9000", "mtu: 1500"));
  expect(() =>
    editIntent(
      fabric,
      {},
      mtu(1500, (key) => key === "leaf1:eth1 -- spine1:eth1"),
    ),
  ).toThrow(/line 11: link leaf1:eth1 -- spine1:eth1 comes from an item that stands for 6 links: write its links one by one/);
  const without = (key: string) => ({
    ...lab,
    nodes: lab.nodes.filter((node) => node.key !== key),
    links: lab.links.filter((link) => !link.key.includes(key)),
  });
  expect(() => editIntent(fabric, {}, without("spine1"))).toThrow(/line 4: node spine1 comes from spine\{1\.\.2\}/);
  const bare = { ...lab, links: [] };
  const stripped = edited(fabric, bare);
  expect(edited(stripped, { ...bare, nodes: bare.nodes.filter(({ key }) => !key.startsWith("spine")) })).not.toContain("spine{");
});

test("all ranges and groups of a lab stand for a bounded number of names, which is reported once", () => {
  const total = { code: "too_large", message: "the ranges and groups of the lab stand for more than 200000 names together" };
  const errors = (yaml: string) => readIntent(yaml).diagnostics.filter(({ code }) => code === "too_large");
  const nodes = "name: x\ngroups: {all: {template: pc}}\nnodes:\n  r{1..4000}: {group: all}\nlinks:\n";
  // 4,000 names of the nodes, and 49 times as many of the links: each item has a mistake, so that no links are made.
  const items = (count: number, spokes: string) => `  - star: {hub: r1, spokes: ${spokes}}\n`.repeat(count);
  expect(errors(nodes + items(49, "'r{1..4000}'"))).toEqual([]);
  expect(errors(nodes + items(300, "'r{1..4000}'"))).toMatchObject([{ ...total, line: 55 }]);
  expect(errors(nodes + items(300, "all"))).toMatchObject([{ ...total, line: 55 }]);
  const many = Array.from({ length: 300 }, (_, index) => `  r${index}-{1..4000}: {template: pc}\n`).join("");
  expect(errors(`name: x\nnodes:\n${many}`)).toMatchObject([
    { line: 5, message: "the ranges of nodes stand for more than a lab can have" },
    total,
  ]);
});
