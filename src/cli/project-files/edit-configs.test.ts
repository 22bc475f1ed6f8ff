import { expect, test } from "vitest";
import { readIntent } from "../../intent/read/read.ts";
import { editConfigs } from "./edit-configs.ts";

const yaml = `name: x
nodes:
  r1: {template: frr, startup-config: {template: r.j2}}
  r2: {template: frr, startup-config: {template: r.j2}}
  # keeps its comment
  r3: {template: frr, startup-config: r3.conf}
  r4: {template: frr}
`;
const files = { "r.j2": "hostname {{ node.name }}\n", "r3.conf": "hostname r3\n" };
const file = { name: "x.yaml", path: "/x/x.yaml", folder: "/x", yaml, files };
const lab = readIntent(yaml, files).lab!;

test("a node whose configuration comes from a template is refused by itself, and the others are written", () => {
  const texts = new Map([
    ["r1", "hostname r1\n"],
    ["r2", "hostname changed\n"],
    ["r3", "hostname r3\n!\n"],
    ["r4", "hostname r4\n"],
  ]);
  const { intent, refused } = editConfigs(file, lab, texts);
  expect([...refused]).toEqual([["r2", expect.stringMatching(/line 4: .*r2 is rendered from the template r\.j2/)]]);
  expect(intent.files["r3.conf"]).toBe("hostname r3\n!\n");
  expect(intent.yaml).toContain("  # keeps its comment\n  r3: {template: frr, startup-config: r3.conf}\n");
  expect(readIntent(intent.yaml, intent.files).lab?.nodes.map(({ startupConfig }) => startupConfig)).toEqual([
    "hostname r1\n",
    "hostname r2\n",
    "hostname r3\n!\n",
    "hostname r4\n",
  ]);
});

test("texts that are as in the lab change nothing", () => {
  expect(editConfigs(file, lab, new Map([["r3", "hostname r3\n"]]))).toMatchObject({ intent: { yaml }, refused: new Map() });
});
