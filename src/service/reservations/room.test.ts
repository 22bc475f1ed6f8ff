import { expect, test } from "vitest";
import { firstShortage, type Held, neededAt, type Use, unusedMemory } from "./room.ts";

const lab = (user: string, memory: number, until = Number.POSITIVE_INFINITY): Use => ({ user, memory, nodes: 1, until });
const held = (user: string, memory: number, from: number, until: number): Held => ({ user, memory, nodes: 10, from, until });

test("a user needs the labs or the reservation, whichever is more; a use counts before its end", () => {
  const shared = { labs: [lab("ann", 3), lab("ann", 2, 50), lab("bob", 1)], held: [held("ann", 4, 10, 20), held("bob", 7, 10, 30)] };
  expect([0, 10, 20, 29, 30, 50].map((at) => neededAt(at, shared, "memory"))).toEqual([6, 12, 12, 12, 6, 4]);
  expect(neededAt(10, shared, "nodes")).toBe(20);
});

test("reserved memory is unused as far as the labs of its user do not need it", () => {
  const shared = {
    labs: [lab("ann", 3), lab("bob", 9), lab("eve", 1)],
    held: [held("ann", 4, 10, 20), held("ann", 2, 10, 20), held("bob", 7, 10, 20)],
  };
  expect(unusedMemory(15, shared)).toEqual(new Map([["ann", 3]]));
  expect(unusedMemory(5, shared)).toEqual(new Map());
});

test("the first shortage is now or at the beginning of a reservation, and lasts until enough has ended", () => {
  const shared = { labs: [lab("ann", 4), lab("bob", 3, 15)], held: [held("eve", 4, 10, 20), held("eve", 2, 12, 18)] };
  const within = { from: 0, until: 100, limit: 10 };
  expect(firstShortage(shared, "memory", within)).toEqual({ resource: "memory", from: 10, until: 15, needed: 11, limit: 10 });
  expect(firstShortage(shared, "memory", { ...within, until: 10 })).toBeUndefined();
  expect(firstShortage(shared, "memory", { ...within, limit: 13 })).toBeUndefined();
  expect(firstShortage(shared, "memory", { ...within, limit: 12 })).toMatchObject({ from: 12, until: 15, needed: 13 });
  expect(firstShortage(shared, "memory", { ...within, limit: 3 })).toEqual({
    resource: "memory",
    from: 0,
    until: undefined,
    needed: 7,
    limit: 3,
  });
  expect(firstShortage(shared, "memory", { ...within, limit: 3, counts: (at) => at >= 10 })).toMatchObject({ from: 10 });
});
