import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { HostSession } from "../../hosts/host.ts";
import { readIntent } from "../../intent/read/read.ts";
import { ReadyConditions } from "./ready-conditions.ts";

test("a node that runs no programs is ready without inherited conditions, but not without its own", async () => {
  const { lab } = readIntent(`name: x
defaults: {ready: {command: "true"}}
nodes:
  s1: {template: switch}
  s2: {template: switch, ready: {command: "true"}}
`);
  const start = () => Promise.reject(new Failure("unsupported", "it runs no program", { data: { feature: "nodeExec" } }));
  const host = { processes: { start } } as unknown as Pick<HostSession, "processes">;
  const rows = lab!.boots!.map((boot) => ({ row: { id: boot.node, uptime_ms: 1000 }, boot }));
  const missing = await new ReadyConditions({ now: () => 0 } as never).missing(host, "/x", rows, 10_000);
  expect([...missing]).toEqual([["s2", "it runs no program"]]);
});
