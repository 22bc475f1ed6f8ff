import fc from "fast-check";
import { expect, test } from "vitest";
import { type SpreadLab, type SpreadMachine, type SpreadPart, spreadParts } from "./partition.ts";

const machine = (number: number, room = 10_000): SpreadMachine => ({ number, name: `m${number}`, room });
const three = [machine(1), machine(2), machine(3)];
const nodes = (count: number, memory = 32): readonly SpreadPart[] =>
  Array.from({ length: count }, (_, at) => ({ key: `r${at + 1}`, memory }));
const ring = (count: number) => Array.from({ length: count }, (_, at) => [`r${at + 1}`, `r${((at + 1) % count) + 1}`] as const);

function placed(lab: SpreadLab): ReadonlyMap<string, number> {
  const found = spreadParts(lab);
  if ("refused" in found) throw new Error(found.refused);
  return found.places;
}

const cut = ({ links }: SpreadLab, places: ReadonlyMap<string, number>) => links.filter(([a, b]) => places.get(a) !== places.get(b));

function loads({ parts }: SpreadLab, places: ReadonlyMap<string, number>): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  for (const { key, memory } of parts) sums.set(places.get(key)!, (sums.get(places.get(key)!) ?? 0) + memory);
  return sums;
}

test("a ring over three machines is cut at three links, with four nodes at each machine", () => {
  const lab = { parts: nodes(12), links: ring(12), machines: three };
  const places = placed(lab);
  expect(cut(lab, places)).toHaveLength(3);
  expect([...loads(lab, places).values()]).toEqual([128, 128, 128]);
});

test("a grid of a thousand nodes is cut at few links, and the result does not depend on the order of the nodes", () => {
  const [rows, columns] = [25, 40];
  const key = (row: number, column: number) => `r${row}c${column}`;
  const parts: SpreadPart[] = [];
  const links: (readonly [string, string])[] = [];
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      parts.push({ key: key(row, column), memory: 32 });
      if (row > 0) links.push([key(row - 1, column), key(row, column)]);
      if (column > 0) links.push([key(row, column - 1), key(row, column)]);
    }
  const lab = { parts, links, machines: three.map((one) => ({ ...one, room: 20_000 })) };
  const places = placed(lab);
  // Two straight cuts are 50 links.
  expect(cut(lab, places).length).toBeLessThanOrEqual(75);
  for (const load of loads(lab, places).values()) expect(load).toBeLessThanOrEqual((32_000 / 3) * 1.11);
  expect(placed({ ...lab, parts: parts.toReversed() })).toEqual(places);
});

test("memory follows the free room of the machines, and no machine gets more than it has", () => {
  const lab = { parts: nodes(40, 100), links: ring(40), machines: [machine(1, 3_000), machine(2, 1_000), machine(3, 500)] };
  const sums = loads(lab, placed(lab));
  expect(sums.get(1)).toBeGreaterThan(sums.get(2)!);
  expect(sums.get(2)).toBeLessThanOrEqual(1_000);
  expect(sums.get(3)).toBeLessThanOrEqual(500);
});

test("a lab that does not fit is refused with the room of each machine", () => {
  const found = spreadParts({ parts: nodes(10, 600), links: [], machines: [machine(1, 1_000), machine(2, 2_000)] });
  expect(found).toEqual({ refused: "its new nodes need 6000 MiB and do not fit: m1 has 1000 MiB free, m2 has 2000 MiB free" });
  expect(spreadParts({ parts: nodes(1), links: [], machines: [] })).toEqual({ refused: "no machine of the fleet takes parts of it" });
});

test("nodes stay at their machines when a lab grows, and a new node goes to its neighbours", () => {
  const before = { parts: nodes(12), links: ring(12), machines: three };
  const places = placed(before);
  const parts = [...before.parts.map((part) => ({ ...part, at: places.get(part.key)! })), { key: "new", memory: 32 }];
  const after = placed({ parts, links: [...before.links, ["new", "r1"], ["new", "r2"]], machines: three });
  for (const [key, number] of places) expect(after.get(key)).toBe(number);
  expect([places.get("r1"), places.get("r2")]).toContain(after.get("new"));
});

test("a machine that takes nothing new keeps what it has", () => {
  const parts: readonly SpreadPart[] = [{ key: "old", memory: 32, at: 9 }, ...nodes(3)];
  const places = placed({ parts, links: [["old", "r1"]], machines: [machine(1)] });
  expect(places.get("old")).toBe(9);
  expect(places.get("r1")).toBe(1);
});

test("nodes of a group are at one machine", () => {
  const parts = nodes(12).map((part, at) => ({ ...part, group: `rack${at % 3}` }));
  const places = placed({ parts, links: ring(12), machines: three });
  const racks = [0, 1, 2].map((rack) => [
    ...new Set(parts.filter(({ group }) => group === `rack${rack}`).map(({ key }) => places.get(key))),
  ]);
  expect(racks.map((numbers) => numbers.length)).toEqual([1, 1, 1]);
  expect(new Set(racks.flat()).size).toBe(3);
});

test("every part has a machine, no machine gets more than its room, and what is there stays", () => {
  const labs = fc.record({
    memories: fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 1, maxLength: 30 }),
    ends: fc.array(fc.tuple(fc.nat(29), fc.nat(29)), { maxLength: 60 }),
    at: fc.array(fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }), { maxLength: 10 }),
    rooms: fc.array(fc.integer({ min: 0, max: 4_000 }), { minLength: 1, maxLength: 4 }),
  });
  fc.assert(
    fc.property(labs, ({ memories, ends, at: given, rooms }) => {
      const parts = memories.map((memory, index): SpreadPart => {
        const at = given[index];
        return { key: `n${index}`, memory, ...(at !== undefined && { at }) };
      });
      const links = ends.filter(([a, b]) => a < parts.length && b < parts.length).map(([a, b]) => [`n${a}`, `n${b}`] as const);
      const found = spreadParts({ parts, links, machines: rooms.map((room, index) => machine(index + 1, room)) });
      if ("refused" in found) return;
      expect(found.places.size).toBe(parts.length);
      const sums = new Map<number, number>();
      for (const { key, memory, at } of parts) {
        const number = found.places.get(key)!;
        if (at !== undefined) expect(number).toBe(at);
        else sums.set(number, (sums.get(number) ?? 0) + memory);
      }
      for (const [number, sum] of sums) expect(sum).toBeLessThanOrEqual(rooms[number - 1] ?? 0);
    }),
  );
});
