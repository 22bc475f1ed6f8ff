import { expect, test } from "vitest";
import { type LabwrightClient, LabwrightError } from "../../client/index.ts";
import type { Context } from "../command/context.ts";
import type { Project } from "../command/project.ts";
import type { LiveNode, Status } from "../show/show-status.ts";
import { refuseUnknown, reportingFailures, reportTroubles } from "./node-troubles.ts";

/** Returns what reportTroubles writes about these nodes. */
async function reported(nodes: readonly Partial<LiveNode>[], waitedMs?: number): Promise<string> {
  const lines: string[] = [];
  const client: Partial<LabwrightClient> = { getCapabilities: async () => ({ features: {} }) as never };
  const terminal = { complain: (line: string) => lines.push(line), paint: (_style: string, text: string) => text };
  const context = { client: async () => client, terminal } as unknown as Context;
  const project = { selector: { lab: "/campus" } } as unknown as Project;
  const status = { live: { available: true, nodes: nodes.map((node, i) => ({ id: String(i), node: node.name, ...node })) } };
  await reportTroubles(context, project, status as unknown as Status, waitedMs === undefined ? {} : { waitedMs });
  return lines.join("\n");
}

test("nodes that ended with their killed lab are reported with the command that brings them back", async () => {
  const lost = (name: string) => ({ name, status: "failed", lost: "lab_killed" }) as const;
  const text = await reported([lost("r1"), lost("r2")]);
  expect(text).toContain("2 of 2 nodes failed: r1, r2");
  expect(text).toContain("hint: r1, r2 ended with all of the lab, unasked: labwright resume --lab /campus starts them again");
  expect(text).not.toContain("fix the cause");
  expect(await reported([lost("r1"), { name: "r2", status: "failed", exit_code: 3 }])).toMatch(/labwright resume[\s\S]*fix the cause/);
});

test("a node that is not ready in time is reported with the reason", async () => {
  const text = await reported([{ name: "pe", status: "running", ready: false, not_ready: "its kernel boots" }], 120_000);
  expect(text).toContain("pe (running, not ready: its kernel boots)");
});

test("nodes with an unknown state are reported with their machine that does not answer, or with the lab that may have their number", async () => {
  const unknown = { status: "unknown" } as const;
  const away = await reported(
    [
      { name: "r1", machine: "beta", ...unknown },
      { name: "r2", machine: "beta", ...unknown },
    ],
    1_000,
  );
  expect(away).toContain("whether r1, r2 run is unknown\n  hint: beta does not answer: labwright machines list");
  expect(away).not.toContain("number");
  const shared = await reported([{ name: "r1", clash: { number: 3, certain: false }, ...unknown }], 1_000);
  expect(shared).toContain(
    "whether r1 runs is unknown\n  hint: labwright status --lab /campus names the lab that may run under the same number",
  );
});

test("a command for all running nodes is refused while it is unknown whether some run", () => {
  const project = { selector: { lab: "/campus" } } as unknown as Project;
  const status = (nodes: readonly Partial<LiveNode>[]) =>
    ({ live: { available: true, nodes: nodes.map((node, i) => ({ id: String(i), node: node.name, ...node })) } }) as unknown as Status;
  refuseUnknown(project, status([{ name: "r1", status: "running" }]), "restarted");
  expect(() =>
    refuseUnknown(
      project,
      status([
        { name: "r1", status: "running" },
        { name: "r2", status: "unknown", machine: "beta" },
      ]),
      "restarted",
    ),
  ).toThrow("whether r2 runs is unknown: nothing was restarted. Name the nodes, to leave these out");
});

test("a change in which nodes were not started reports the failed nodes that they depend on, before its own error", async () => {
  const lines: string[] = [];
  const status = { live: { available: true, nodes: [{ id: "1", node: "h2", name: "h2", status: "failed", exit_code: 3 }] } };
  const client = {
    getCapabilities: async () => ({ features: { consoleLog: true } }),
    getProjectStatus: async () => status,
    readConsoleLog: async () => ({ output: "starting\nno such interface\n" }),
  };
  const terminal = { complain: (line: string) => lines.push(line), paint: (_style: string, text: string) => text };
  const context = { client: async () => client, terminal } as unknown as Context;
  const project = { selector: { lab: "/campus" } } as unknown as Project;
  const failure = (op: string) =>
    new LabwrightError("h3 was not started: h2, which it depends on, is failed", {
      status: 502,
      code: "host_error",
      data: { failed: [{ id: "5", op, kind: "node", key: "h3" }] },
    });
  const start = failure("start");
  await expect(reportingFailures(context, project)(start)).rejects.toBe(start);
  expect(lines.join("\n")).toMatch(
    /1 of 1 node failed: h2 \(exit code 3\)\n {2}h2, last lines .*labwright logs --lab \/campus h2[\s\S]*no such interface/,
  );
  lines.length = 0;
  await expect(reportingFailures(context, project)(failure("delete"))).rejects.toThrow("h3 was not started");
  expect(lines).toEqual([]);
});
