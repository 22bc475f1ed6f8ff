import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cli, run } from "./cli.fixture.ts";

beforeEach(() => {
  cli.state = mkdtempSync(join(tmpdir(), "labwright-mappings-"));
  cli.folder = mkdtempSync(join(cli.state, "work-"));
  writeFileSync(join(cli.folder, "x.clab.yml"), "name: x\ntopology:\n  nodes:\n    r1: {kind: own-kind}\n");
});
afterEach(() => rmSync(cli.state, { recursive: true }));

const table = (template: string) => `containerlab:\n  - {types: own-kind, role: router, template: ${template}}\n`;
const templateOf = async (...flags: readonly string[]) => {
  const { code, stdout } = await run(["import-file", "x.clab.yml", ...flags]);
  expect(code).toBe(0);
  return /template: (\w+)/.exec(stdout)?.[1];
};

test("tables in labwright-mappings win over those that ship, and --mapping wins over them", async () => {
  expect(await templateOf()).toBe("linux");
  mkdirSync(join(cli.folder, "labwright-mappings"));
  expect(await templateOf()).toBe("linux");
  writeFileSync(join(cli.folder, "labwright-mappings", "b.yml"), table("switch"));
  writeFileSync(join(cli.folder, "labwright-mappings", "a.yaml"), table("frr"));
  expect(await templateOf()).toBe("frr");
  writeFileSync(join(cli.folder, "pc.yaml"), table("pc"));
  expect(await templateOf("--mapping", "pc.yaml")).toBe("pc");
});

test.each([
  ["--mapping without a file", "containerlab: []\n", ["--mapping", "none.yaml"], "there is no file or folder none.yaml"],
  ["a wrong table", "containerlab:\n  - {kinds: x}\n", [], 'labwright-mappings/a.yaml:2: unknown key "kinds"'],
])("%s is refused", async (_name, text, flags, message) => {
  mkdirSync(join(cli.folder, "labwright-mappings"));
  writeFileSync(join(cli.folder, "labwright-mappings", "a.yaml"), text);
  const { code, stderr } = await run(["import-file", "x.clab.yml", ...flags]);
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining(message)]);
  expect(code).not.toBe(0);
});
