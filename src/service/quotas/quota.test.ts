import fc from "fast-check";
import { expect, it } from "vitest";
import type { QuotaRow } from "../store/store.ts";
import { countsFor, excessOf, excessText, quotasOf, sizeOf, usageOf } from "./quota.ts";

const lab = (path: string, owner: string, nodes = 2, memory = 512) => ({ path, owner, size: { nodes, memory } });
const labs = [lab("/a", "ann"), lab("/b", "ann", 3, 1_024), lab("/c", "bob", 5, 2_048), lab("/d", "admin", 50, 50_000)];
const annsQuota: QuotaRow = { kind: "user", name: "ann", labs: 3, nodes: 7 };
const byDefault: QuotaRow = { kind: "default", name: "", labs: 1 };
const group: QuotaRow = { kind: "group", name: "students", members: ["ann", "bob"], memory: 4_096 };
const wanted = (path: string, owner: string, nodes: number, memory = 0) => ({ path, owner, isAdmin: false, size: { nodes, memory } });

it("a user has the own quota or the default, and those of the groups; an admin has no default", () => {
  const all = [byDefault, group, annsQuota];
  expect(quotasOf(all, "ann", false)).toEqual([annsQuota, group]);
  expect(quotasOf(all, "eve", false)).toEqual([byDefault]);
  expect(quotasOf(all, "admin", true)).toEqual([]);
});

it("a change that exceeds a limit is found with what is used and what would be used", () => {
  expect(excessOf([annsQuota], labs, wanted("/e", "ann", 2))).toBeUndefined();
  const excess = excessOf([annsQuota], labs, wanted("/e", "ann", 3));
  expect(excess).toMatchObject({ resource: "nodes", used: 5, wanted: 8, limit: 7 });
  expect(excessText(excess!)).toBe("the quota of user ann allows 7 nodes: 5 used, 8 after this change");
  expect(excessOf([annsQuota], [...labs, lab("/e", "ann")], wanted("/f", "ann", 0))).toMatchObject({
    resource: "labs",
    used: 3,
    wanted: 4,
    limit: 3,
  });
});

it("the members of a group use its quota together", () => {
  expect(excessOf([group], labs, wanted("/e", "bob", 1, 512))).toBeUndefined();
  expect(excessOf([group], labs, wanted("/e", "bob", 1, 513))).toMatchObject({ resource: "memory", used: 3_584, wanted: 4_097 });
  expect(excessOf([group], labs, wanted("/e", "eve", 1, 1e9))).toBeUndefined();
});

it("a lab that exceeds a lowered limit may shrink and stay, and not grow", () => {
  const low: QuotaRow = { kind: "user", name: "ann", labs: 0, nodes: 1, memory: 1 };
  expect(excessOf([low], labs, wanted("/b", "ann", 3, 1_024))).toBeUndefined();
  expect(excessOf([low], labs, wanted("/b", "ann", 2, 10))).toBeUndefined();
  expect(excessOf([low], labs, wanted("/b", "ann", 4, 10))).toMatchObject({ resource: "nodes" });
});

it("a record of an older release counts as its host had it", () => {
  const applied = { nodes: [{ ram: 256 }, {}] } as unknown as NonNullable<Parameters<typeof sizeOf>[0]["applied"]>;
  expect(sizeOf({ applied })).toEqual({ nodes: 2, memory: 256 });
  expect(sizeOf({})).toEqual({ nodes: 0, memory: 0 });
});

it("admitted changes never exceed a quota together", () => {
  const change = fc.record({
    path: fc.constantFrom("/a", "/b", "/c", "/d"),
    owner: fc.constantFrom("ann", "bob"),
    nodes: fc.nat(6),
    memory: fc.nat(900),
  });
  const quotas: readonly QuotaRow[] = [
    { ...annsQuota, nodes: 9 },
    { ...group, memory: 2_000, nodes: 12 },
  ];
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const records = new Map<string, ReturnType<typeof lab>>();
      for (const { path, owner: by, nodes, memory } of changes) {
        const owner = records.get(path)?.owner ?? by;
        if (excessOf(quotas, [...records.values()], wanted(path, owner, nodes, memory)) === undefined)
          records.set(path, lab(path, owner, nodes, memory));
      }
      for (const quota of quotas) {
        const used = usageOf([...records.values()], countsFor(quota, quota.name));
        expect(used.nodes).toBeLessThanOrEqual(quota.nodes ?? Number.POSITIVE_INFINITY);
        expect(used.memory).toBeLessThanOrEqual(quota.memory ?? Number.POSITIVE_INFINITY);
        expect(used.labs).toBeLessThanOrEqual(quota.labs ?? Number.POSITIVE_INFINITY);
      }
    }),
  );
});
