import { expect, test } from "vitest";
import type { PlanAction, PlanData } from "../../contract/schemas/plan.ts";
import { changeSummary, refusalText } from "./change-summary.ts";

const action = (fields: Partial<PlanAction>): PlanAction =>
  ({
    id: "",
    op: "update",
    kind: "node",
    key: "r1",
    reason: { code: "x", text: "x" },
    disruption: "none",
    affects: [],
    changes: [],
    ...fields,
  }) as PlanAction;

test("names what is added, deleted, restarted and affected", () => {
  const affected = [
    { kind: "node", key: "h1" },
    { kind: "node", key: "r1" },
  ] as const;
  expect(
    changeSummary([
      action({ op: "create", key: "r4" }),
      action({ op: "create", kind: "link", key: "r1:eth1 -- r4:eth1" }),
      action({ disruption: "restart", affected: [...affected] }),
      action({ op: "delete", key: "r9", disruption: "stop" }),
    ]),
  ).toBe("4 changes: adds r4, link r1:eth1 – r4:eth1; deletes r9; restarts r1; affects h1");
});

test("names the nodes that are started, such as one that has failed, and wiped", () => {
  expect(changeSummary([action({ op: "start" })])).toBe("1 change: starts r1; no running node is disturbed");
  expect(changeSummary([action({ op: "wipe" }), action({ op: "start", key: "r2" })])).toBe("2 changes: wipes r1; starts r2");
});

test("is short for large plans and for harmless ones", () => {
  const many = Array.from({ length: 7 }, (_, at) => action({ op: "create", key: `h${at}` }));
  expect(changeSummary(many)).toBe("7 changes: adds h0, h1, h2, h3 and 3 more");
  expect(changeSummary([action({})])).toBe("1 change: changes r1; no running node is disturbed");
  expect(changeSummary([])).toBe("No change of the host");
  expect(changeSummary([], ["shapes"])).toBe("No change of the host: Save keeps the shapes");
});

test("names renamed, moved and changed parts, and a configuration instead of its node", () => {
  const field = (name: string, before: unknown, after: unknown) => ({ changes: [{ field: name, before, after }] });
  const renamed = action({ key: "h1", ...field("name", "h1", "host-1") });
  const moved = action({ key: "r3", ...field("position", { x: 1, y: 2 }, { x: 3, y: 4 }) });
  expect(changeSummary([renamed, moved, action({ kind: "config" })])).toBe(
    "3 changes: renames h1 to host-1; moves r3; changes the configuration of r1; no running node is disturbed",
  );
  expect(changeSummary([moved, action({ op: "create", key: "r4" })])).toBe("2 changes: adds r4; moves r3");
  const removed = action({ op: "delete", kind: "config", key: "r2", disruption: "restart" });
  expect(changeSummary([removed])).toBe("1 change: deletes the configuration of r2; restarts r2");
});

test("a plan that cannot be applied names its first reason", () => {
  const blocked = ["r1 cannot have an interface eth64", "r2 cannot have an interface eth64"].map((text) =>
    action({ reason: { code: "unknown_interface", text } }),
  );
  const refused = (fields: Partial<PlanData>) => refusalText({ applicable: false, ...fields } as PlanData);
  expect(refused({ blocked })).toBe("cannot be applied: r1 cannot have an interface eth64, and 1 more in Details");
  expect(refused({ unsupported: ["node r1: cpu"] })).toBe("cannot be applied: this host does not support node r1: cpu");
  expect(refused({})).toBeUndefined();
  expect(refused({ applicable: true, unsupported: ["node r1: cpu"] })).toBeUndefined();
});
