import { expect, test } from "vitest";
import { fieldPlaces } from "./field-places.ts";

const yaml = `name: places
topology:
  defaults: {template: t, kind: k, attributes: {a: 1, b: 2, c: 3, d: 4, e: 5}}
  kinds:
    k: {attributes: {b: 6}}
    other: {attributes: {e: 7}}
  groups:
    g1: {attributes: {c: 8, d: 9}}
    g2: {attributes: {d: 10}}
  nodes:
    n1: {groups: [g1, g2], attributes: {own/er: 11}}
    n2:
`;

test.each([
  ["n1", "own/er", "/topology/nodes/n1/attributes/own~1er", 11],
  ["n1", "a", "/topology/defaults/attributes/a", 3],
  ["n1", "b", "/topology/kinds/k/attributes/b", 5],
  ["n1", "c", "/topology/groups/g1/attributes/c", 8],
  ["n1", "d", "/topology/groups/g2/attributes/d", 9],
  ["n1", "e", "/topology/defaults/attributes/e", 3],
  ["n2", "b", "/topology/kinds/k/attributes/b", 5],
  ["n2", "d", "/topology/defaults/attributes/d", 3],
])("the attribute of %s called %s has its value from the place that sets it last", (node, attribute, path, line) => {
  expect(fieldPlaces(yaml, {}, [{ kind: "node", key: node, field: `attributes.${attribute}` }])).toMatchObject([{ path, line }]);
});

const attribute = (key: string, name: string) => ({ kind: "node", key, field: `attributes.${name}` });

test("a field has the place of its value, else of its resource, else of the text", () => {
  const [there, ...absent] = fieldPlaces(yaml, {}, [attribute("n1", "own/er"), attribute("n1", "z"), attribute("n9", "a")]);
  expect(there).toEqual({ path: "/topology/nodes/n1/attributes/own~1er", line: 11, column: 49, end_line: 11, end_column: 51 });
  expect(absent).toMatchObject([
    { path: "/topology/nodes/n1", line: 11, column: 5 },
    { path: "", line: 1, column: 1 },
  ]);
  expect(fieldPlaces("name: [", {}, [attribute("n1", "a")])).toMatchObject([{ path: "", line: 1 }]);
});

const body = [
  "description: d",
  "kinds: {router: {template: frr, env: {A.B: c}}}",
  "nodes:",
  "  r1:",
  "    template: rooter",
  "  r2: {kind: router}",
  "  r3: {kind: ceos}",
  "  br: {kind: bridge}",
  "networks: {lan: {type: nat, icon: x.png}}",
  "links:",
  '  - ["r1:e0", "r2:e0"]',
  '  - {endpoints: ["lan", "r2:e1"], mtu: 9000, quality: {a: {delay: 1}, b: {loss: 2}}}',
  '  - {endpoints: ["r1:e2", "r2:e2"], quality: {delay: 3}, suspended: true}',
];

test.each([
  ["node", "r1", "template", "/nodes/r1/template", 6, 15],
  ["config", "r1", undefined, "/nodes/r1", 5, 3],
  ["node", "r2", "template", "/kinds/router/template", 3, 28],
  ["node", "r3", "template", "/nodes/r3/kind", 8, 14],
  ["node", "r2", "env.A.B", "/kinds/router/env/A.B", 3, 44],
  ["network", "lan", "icon", "/networks/lan/icon", 10, 35],
  ["network", "br", "icon", "/nodes/br", 9, 3],
  ["link", "r1:e0 -- r2:e0", "mtu", "/links/0", 12, 5],
  ["link", "lan -- r2:e1", "mtu", "/links/1/mtu", 13, 40],
  ["link", "lan -- r2:e1", "quality.a.loss", "/links/1/quality/b/loss", 13, 81],
  ["link", "r1:e2 -- r2:e2", "quality.b.delay", "/links/2/quality/delay", 14, 54],
  ["link", "r1:e2 -- r2:e2", "suspended.a", "/links/2/suspended", 14, 69],
  ["lab", "x", "description", "/description", 2, 14],
])("the %s %s has its %s at its own place, in both layouts of the file", (kind, key, field, path, line, column) => {
  const wanted = [{ kind, key, ...(field !== undefined && { field }) }];
  expect(fieldPlaces(["name: x", ...body].join("\n"), {}, wanted)).toMatchObject([{ path, line, column }]);
  const [first = "", ...rest] = body;
  const wrapped = ["name: x", first, "topology:", ...rest.map((text) => `  ${text}`)].join("\n");
  const inside = kind === "lab" ? { path, line, column } : { path: `/topology${path}`, line: line + 1, column: column + 2 };
  expect(fieldPlaces(wrapped, {}, wanted)).toMatchObject([inside]);
});
