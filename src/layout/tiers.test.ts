import { expect, test } from "vitest";
import { layoutOf, type Place } from "./layout.ts";

type Links = readonly (readonly [string, string])[];

const named = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}${at + 1}`);

/** Spines, each linked to each leaf, and hosts at the leaves. */
function clos(spines: number, leaves: number, hosts: number): { readonly names: readonly string[]; readonly links: Links } {
  const [top, middle, below] = [named("spine", spines), named("leaf", leaves), named("host", hosts)];
  return {
    names: [...below, ...middle, ...top],
    links: [
      ...middle.flatMap((leaf) => top.map((spine) => [leaf, spine] as const)),
      ...below.map((host, at) => [host, middle[at % leaves]!] as const),
    ],
  };
}

const draw = ({ names, links }: { readonly names: readonly string[]; readonly links: Links }, kind?: "tiers") =>
  layoutOf(
    names.map((id) => ({ id, name: id, width: 70 })),
    links,
    kind,
  );
const rowsOf = (places: ReadonlyMap<string, Place>, prefix: string) =>
  new Set([...places].flatMap(([id, { y }]) => (id.startsWith(prefix) ? [y] : [])));

test("spines are in a row above the leaves, and hosts below their leaf", () => {
  const lab = clos(4, 16, 76);
  const places = draw(lab);
  const [spines, leaves] = [rowsOf(places, "spine"), rowsOf(places, "leaf")];
  expect([spines.size, leaves.size]).toEqual([1, 1]);
  expect([...spines][0]).toBeLessThan([...leaves][0]!);
  for (const y of rowsOf(places, "host")) expect(y).toBeGreaterThan([...leaves][0]!);
  for (const [host, leaf] of lab.links.filter(([a]) => a.startsWith("host")))
    expect(Math.abs(places.get(host)!.x - places.get(leaf)!.x)).toBeLessThan(200);
});

test("the drawing of 100 nodes has the shape of a window, and no two nodes are close", () => {
  const places = [...draw(clos(4, 16, 80)).values()];
  const size = (of: (place: Place) => number) => Math.max(...places.map(of)) - Math.min(...places.map(of));
  const shape = size(({ x }) => x) / size(({ y }) => y);
  expect(shape).toBeGreaterThan(1.2);
  expect(shape).toBeLessThan(4);
  const nearest = places.flatMap((a, at) => places.slice(at + 1).map((b) => Math.hypot(a.x - b.x, a.y - b.y)));
  expect(Math.min(...nearest)).toBeGreaterThan(75);
});

test("a fat tree has three tiers, also without hosts, and leaves without hosts are beside the others", () => {
  const [edges, aggregations, cores] = [named("edge", 8), named("aggregation", 8), named("core", 4)];
  const links = edges.flatMap((edge, at) => {
    const pod = Math.floor(at / 2) * 2;
    return [[edge, aggregations[pod]!] as const, [edge, aggregations[pod + 1]!] as const];
  });
  const up = aggregations.flatMap((one, at) => [0, 1].map((port) => [one, cores[(at % 2) * 2 + port]!] as const));
  const places = draw({ names: [...cores, ...edges, ...aggregations], links: [...links, ...up] });
  const rows = ["core", "aggregation", "edge"].map((name) => [...rowsOf(places, name)]);
  expect(rows.map((row) => row.length)).toEqual([1, 1, 1]);
  expect(rows.flat()).toEqual(rows.flat().toSorted((a, b) => a - b));
  const partly = draw(clos(2, 6, 2));
  expect(rowsOf(partly, "leaf").size).toBe(1);
});

test("servers with two uplinks are below their leaves, which stay beside the other leaves", () => {
  const { names, links } = clos(4, 16, 32);
  const servers = named("server", 4);
  const places = draw({
    names: [...names, ...servers],
    links: [
      ...links,
      ...servers.flatMap(
        (one) =>
          [
            [one, "leaf1"],
            [one, "leaf2"],
          ] as const,
      ),
    ],
  });
  const [leaves, below] = [rowsOf(places, "leaf"), rowsOf(places, "server")];
  expect([leaves.size, below.size]).toEqual([1, 1]);
  expect([...below][0]).toBeGreaterThan([...leaves][0]!);
});

test("rows are ordered so that few links cross", () => {
  // Two pods, whose members are mixed in the input.
  const names = ["l1", "s1", "l2", "s2", "l3", "s3", "l4", "s4", "c1"];
  const pod = (spines: readonly string[], leaves: readonly string[]) =>
    leaves.flatMap((leaf) => spines.map((spine) => [leaf, spine] as const));
  const links = [
    ...pod(["s1", "s3"], ["l1", "l3"]),
    ...pod(["s2", "s4"], ["l2", "l4"]),
    ...["s1", "s2", "s3", "s4"].map((s) => [s, "c1"] as const),
  ];
  const places = draw({ names, links });
  const order = ["l1", "l2", "l3", "l4"].toSorted((a, b) => places.get(a)!.x - places.get(b)!.x);
  expect([new Set(order.slice(0, 2)), new Set(order.slice(2))]).toContainEqual(new Set(["l1", "l3"]));
});

test("any graph can be drawn as tiers, with its most connected node on top", () => {
  const ring = named("n", 8);
  const links = [...ring.map((name, at) => [name, ring[(at + 1) % 8]!] as const), ["n1", "n4"] as const];
  const places = draw({ names: ring, links }, "tiers");
  const top = Math.min(...[...places.values()].map(({ y }) => y));
  expect(["n1", "n4"].some((name) => places.get(name)!.y === top)).toBe(true);
  expect(new Set([...places.values()].map(({ y }) => y)).size).toBeGreaterThan(2);
});
