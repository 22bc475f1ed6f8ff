import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Operation } from "../../engine/model/plan.ts";
import type { HostSession } from "../../hosts/host.ts";
import { readIntent } from "../../intent/read/read.ts";
import { ReadyConditions } from "./ready-conditions.ts";
import { applyInOrder } from "./start-order.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const { lab } = readIntent(`name: x
nodes:
  r1: {template: linux}
  r2: {template: linux}
  h1: {template: linux, depends-on: {r1: ready}}
  h2: {template: linux, depends-on: {r2: ready}}
links: [["r1:eth0", "h1:eth0"], ["r2:eth0", "h2:eth0"], ["r1:eth1", "r2:eth1"]]
`);
const start = (key: string) => ({ id: key, op: "start", kind: "node", key, step: { do: "start" } }) as unknown as Operation;

test("nodes whose dependencies are never ready are not started: the error names the links without carrier", async () => {
  const ids = { nodes: { r1: "1", r2: "2", h1: "3", h2: "4" }, networks: {}, links: {} };
  const rows = ["1", "2"].map((id) => ({ id, status: "running", ready: false, not_ready: "no route to 10.9.0.0/16" }));
  const host = { status: async () => ({ nodes: rows, links: [] }) } as unknown as HostSession;
  const order = { boots: lab!.boots!, links: lab!.links, conditions: new ReadyConditions({ now: () => 0 } as never), host, path: "/x" };
  const waits = vi.fn();
  const applied: string[] = [];
  const change = { signal: new AbortController().signal, waits };
  const done = applyInOrder(["r1", "r2", "h1", "h2"].map(start), order, ids, change, async (some) => {
    applied.push(...some.map(({ key }) => key));
    return { ids };
  });
  const failure = expect(done).rejects.toThrow(
    "h1 was not started: r1, which it depends on, is not ready after 120 s: no route to 10.9.0.0/16; " +
      "h2 was not started: r2, which it depends on, is not ready after 120 s: no route to 10.9.0.0/16. " +
      "Links to nodes that are not started have no carrier: h1:eth0 -- r1:eth0, h2:eth0 -- r2:eth0. A condition of ready that needs one of them cannot pass",
  );
  await vi.advanceTimersByTimeAsync(130_000);
  await failure;
  expect(applied).toEqual(["r1", "r2"]);
  expect(waits.mock.calls[0]).toEqual(["h1 waits for r1: no route to 10.9.0.0/16; 1 more start waits"]);
  expect(waits.mock.lastCall).toEqual([undefined]);
});
