import { expect, test } from "vitest";
import type { Lab } from "../../intent/lab/lab.ts";
import { readIntent } from "../../intent/read/read.ts";
import { nodeChanges } from "../compare/diff-node.ts";
import type { Change } from "../model/plan.ts";
import { maskAction, maskLab, unmaskLab } from "./mask.ts";

const yaml = `name: x
nodes:
  r1: {template: linux, files: {/etc/app: "user: root\\npassword: hunter2\\n", /etc/plain: "nothing here\\n"}}
`;
const { lab } = readIntent(yaml) as { lab: Lab };

test("secrets in files are masked in labs and plans, and known ones are put back into an edited lab", () => {
  const masked = maskLab(lab);
  expect(JSON.stringify(masked)).not.toContain("hunter2");
  expect(masked.nodes[0]?.files?.["/etc/plain"]).toEqual({ text: "nothing here\n" });
  expect(unmaskLab(masked, lab)).toEqual({ lab, lost: [] });
  const changes: readonly Change[] = nodeChanges(lab.nodes[0]!);
  const shown = maskAction({ changes }).changes.filter(({ field }) => field.startsWith("files."));
  expect(shown).toEqual([
    { field: "files./etc/app", before: null, after: expect.not.stringContaining("hunter2"), sensitive: true },
    { field: "files./etc/plain", before: null, after: "nothing here\n" },
  ]);
});
