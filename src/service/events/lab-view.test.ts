import { expect, test } from "vitest";
import type { LiveLink, LiveNode } from "../../hosts/host.ts";
import { changesBetween, emptyView, type LabView, viewOf } from "./lab-view.ts";

const node = (id: string, more: Partial<LiveNode> = {}): LiveNode => ({ id, name: `n${id}`, status: "running", ...more });
const quality = { delay: 10, jitter: 0, loss: 0, bandwidth: 0 };
const view = (nodes: readonly LiveNode[], links: readonly LiveLink[] = []): LabView => viewOf({ nodes, links });

test("a new measured value is not a change", () => {
  const before = view([node("1", { uptime_ms: 1, cpu_percent: 2, memory_bytes: 3, disk_bytes: 4 })]);
  expect(changesBetween(before, view([node("1", { uptime_ms: 9, cpu_percent: 9, memory_bytes: 9, disk_bytes: 9 })]))).toEqual([]);
});

test.each<[string, Partial<LiveNode>]>([
  ["status", { status: "failed" }],
  ["readiness", { ready: false }],
  ["exit code", { exit_code: 1 }],
  ["end by force", { forced: true }],
  ["full disk", { disk_full: true }],
  ["name", { name: "other" }],
])("a node's %s is a change", (_name, more) => {
  const [was, is] = [node("1"), node("1", more)];
  expect(changesBetween(view([was]), view([is]))).toEqual([{ of: "node", before: was, now: is }]);
});

test("nodes that come and go, and links that are shaped, shaped otherwise and plain again, come in a fixed order", () => {
  const [a, b] = [node("1"), node("2")];
  const link = (id: string, delay: number): LiveLink => ({ id, a: { ...quality, delay } });
  const before = view([a], [link("1", 5), link("2", 5), link("3", 5)]);
  const now = view([b], [link("3", 5), link("2", 7), link("4", 1)]);
  expect(changesBetween(before, now)).toEqual([
    { of: "node", before: a },
    { of: "node", now: b },
    { of: "link", id: "1" },
    { of: "link", id: "2", now: link("2", 7) },
    { of: "link", id: "4", now: link("4", 1) },
  ]);
});

test("an unreadable lab keeps its nodes, a deleted lab loses them", () => {
  const before = view([node("1")]);
  expect(changesBetween(before, { ...before, live: "unavailable" })).toEqual([{ of: "live", live: "unavailable" }]);
  expect(changesBetween(before, { ...emptyView, live: "absent" })).toEqual([
    { of: "live", live: "absent" },
    { of: "node", before: node("1") },
  ]);
});
