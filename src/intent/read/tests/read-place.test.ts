import { expect, test } from "vitest";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

const lab = (lines: string) => `name: x\n${lines}\nnodes: {a: {template: linux}}\n`;

test("a lab is spread over machines, which may need labels", () => {
  expect(readIntent(lab("place: spread")).lab?.place).toEqual({ spread: "nodes" });
  const { lab: read } = readIntent(lab("place: {spread: groups, labels: {rack: 7}}"));
  expect(read?.place).toEqual({ spread: "groups", labels: { rack: "7" } });
  expect(readIntent(printLab(read!).yaml).lab?.place).toEqual(read?.place);
});

test.each([
  ["place: everywhere", "a place is spread, or a map with a machine, labels, or spread"],
  ["place: {spread: racks}", "spread is nodes or groups, not racks"],
  ["place: {spread: nodes, machine: beta}", "a lab on a named machine is not spread"],
  ["place: spread\nmanagement: true", "a lab that is spread over machines has no management network"],
])("%j is refused with its place and a next step", (lines, message) => {
  const { lab: read, diagnostics } = readIntent(lab(lines));
  expect(read).toBeUndefined();
  expect(diagnostics).toMatchObject([
    { severity: "error", code: "invalid_value", line: 2, message: expect.stringContaining(message), hint: expect.stringMatching(/\w/) },
  ]);
});
