import { expect, test } from "vitest";
import type { PlanAction } from "../../contract/schemas/plan.ts";
import { changeSummary } from "./change-summary.ts";

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

test("is short for large plans and for harmless ones", () => {
  const many = Array.from({ length: 7 }, (_, at) => action({ op: "create", key: `h${at}` }));
  expect(changeSummary(many)).toBe("7 changes: adds h0, h1, h2, h3 and 3 more");
  expect(changeSummary([action({})])).toBe("1 change; no running node is disturbed");
  expect(changeSummary([])).toBe("No change of the host");
  expect(changeSummary([], ["shapes"])).toBe("No change of the host: Save keeps the shapes");
});
