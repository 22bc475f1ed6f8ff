import { describe, expect, test } from "vitest";
import { layoutOf, type Place } from "./layout.ts";

type Links = readonly (readonly [string, string])[];

const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
const ring = (count: number): Links => names(count).map((name, at) => [name, `n${(at + 1) % count}`]);
const tree = (count: number): Links =>
  names(count)
    .slice(1)
    .map((name, at) => [`n${Math.floor(at / 3)}`, name]);
const grid = (side: number): Links =>
  names(side * side).flatMap((name, at): [string, string][] => [
    ...(at % side < side - 1 ? [[name, `n${at + 1}`] as [string, string]] : []),
    ...(at < side * (side - 1) ? [[name, `n${at + side}`] as [string, string]] : []),
  ]);
const ringOfRoutersWithHosts = (count: number): Links => [
  ...ring(count),
  ...names(count).map((name, at) => [name, `n${count + at}`] as const),
];
const draw = (count: number, links: Links) =>
  layoutOf(
    names(count).map((id) => ({ id })),
    links,
  );

/** Counts the pairs of links that cross, except pairs with a common end. */
function crossings(places: ReadonlyMap<string, Place>, links: Links): number {
  const side = (a: Place, b: Place, c: Place) => Math.sign((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x));
  let count = 0;
  links.forEach(([a, b], at) => {
    for (const [c, d] of links.slice(at + 1)) {
      if (a === c || a === d || b === c || b === d) continue;
      const [p, q, r, s] = [a, b, c, d].map((id) => places.get(id)!) as [Place, Place, Place, Place];
      if (side(p, q, r) !== side(p, q, s) && side(r, s, p) !== side(r, s, q)) count++;
    }
  });
  return count;
}

function nearest(places: ReadonlyMap<string, Place>): number {
  const all = [...places.values()];
  let min = Number.POSITIVE_INFINITY;
  all.forEach((a, at) => {
    for (const b of all.slice(at + 1)) min = Math.min(min, Math.hypot(a.x - b.x, a.y - b.y));
  });
  return min;
}

describe("without positions", () => {
  test.each<[string, number, Links]>([
    ["a ring of 5", 5, ring(5)],
    ["a ring of 50", 50, ring(50)],
    ["a ring of 500", 500, ring(500)],
    ["a line", 20, ring(20).slice(0, -1)],
    ["a tree of 40", 40, tree(40)],
    ["a tree of 500", 500, tree(500)],
    [
      "a star of 60",
      61,
      names(61)
        .slice(1)
        .map((name) => ["n0", name] as const),
    ],
    ["a mesh of 6 × 6", 36, grid(6)],
    ["a mesh of 22 × 22", 484, grid(22)],
    ["a ring of 12 routers with a host each", 24, ringOfRoutersWithHosts(12)],
    ["a ring of 250 routers with a host each", 500, ringOfRoutersWithHosts(250)],
    ["three rings", 30, [...ring(10), ...ring(10).map(([a, b]) => [`n1${a.slice(1)}`, `n1${b.slice(1)}`] as const)]],
  ])("%s has no links that cross and no members that overlap", (_name, count, links) => {
    const places = draw(count, links);
    expect(places.size).toBe(count);
    expect(crossings(places, links)).toBe(0);
    expect(nearest(places)).toBeGreaterThan(75);
  });

  test("the same graph is drawn the same each time", () => {
    expect([...draw(100, grid(10))]).toEqual([...draw(100, grid(10))]);
  });

  test("the links of a ring have nearly the same length", () => {
    const places = draw(24, ring(24));
    const lengths = ring(24).map(([a, b]) => Math.hypot(places.get(a)!.x - places.get(b)!.x, places.get(a)!.y - places.get(b)!.y));
    expect(Math.max(...lengths) / Math.min(...lengths)).toBeLessThan(1.5);
  });

  test("members without links do not overlap", () => {
    expect(nearest(draw(40, []))).toBeGreaterThan(75);
  });

  test("2,000 members have a position each", () => {
    const places = draw(2000, grid(44));
    expect([...places.values()].every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))).toBe(true);
  });
});

describe("with positions", () => {
  test("declared positions are not changed", () => {
    const places = layoutOf(
      [
        { id: "a", position: { x: 1.5, y: -3 } },
        { id: "b", position: { x: 1.5, y: -3 } },
      ],
      [["a", "b"]],
    );
    expect([...places.values()]).toEqual([
      { x: 1.5, y: -3 },
      { x: 1.5, y: -3 },
    ]);
  });

  test("a member without a position is placed near its neighbour, without an overlap", () => {
    const members = [{ id: "a", position: { x: 0, y: 0 } }, { id: "b", position: { x: 1000, y: 0 } }, { id: "c" }, { id: "alone" }];
    const places = layoutOf(members, [["b", "c"]]);
    const c = places.get("c")!;
    expect(Math.hypot(c.x - 1000, c.y)).toBeGreaterThan(75);
    expect(Math.hypot(c.x - 1000, c.y)).toBeLessThan(300);
    expect(nearest(places)).toBeGreaterThan(75);
  });
});
