import { expect, test } from "vitest";
import { quotaRows } from "./quota-rows.ts";

test("quotas are shown with what is used of them: the default first, then groups, then users", () => {
  const rows = quotaRows([
    { kind: "user", name: "zoe", labs: 3, memory_mib: 512, used: { labs: 3, nodes: 9, memory_mib: 144 } },
    { kind: "group", name: "blue", nodes: 40, members: ["ann", "bob"], used: { labs: 1, nodes: 10, memory_mib: 160 } },
    { kind: "default", labs: 2, captures: 0 },
  ]);
  expect(rows).toEqual([
    { key: "default ", of: "each user without a quota", labs: "2", nodes: "–", memory: "–", captures: "0", isFull: false },
    { key: "group blue", of: "group blue (ann, bob)", labs: "–", nodes: "10 of 40", memory: "–", captures: "–", isFull: false },
    { key: "user zoe", of: "user zoe", labs: "3 of 3", nodes: "–", memory: "144 of 512 MiB", captures: "–", isFull: true },
  ]);
});
