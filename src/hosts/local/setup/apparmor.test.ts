import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { loadProfile, nodeProfile } from "./apparmor.ts";

const top = mkdtempSync(join(tmpdir(), "labwright-apparmor-"));
const places = { enabled: join(top, "enabled"), installed: join(top, "installed"), parser: join(top, "parser") };

/** A fake apparmor_parser that ends with this exit code. */
function parser(code: number): void {
  writeFileSync(places.parser, `#!/bin/sh\necho "$@" > ${top}/called\necho "no permission" >&2\nexit ${code}\n`);
  chmodSync(places.parser, 0o755);
}

beforeEach(() => {
  for (const path of [places.enabled, places.installed, places.parser]) rmSync(path, { force: true });
});
afterAll(() => rmSync(top, { recursive: true }));

test("without AppArmor, or if it is not enabled, nothing is loaded", async () => {
  parser(0);
  expect(await loadProfile(places)).toBeUndefined();
  writeFileSync(places.enabled, "N\n");
  expect(await loadProfile(places)).toBeUndefined();
  expect(existsSync(join(top, "called"))).toBe(false);
});

test("the profile is loaded, and installed for the machine's next start", async () => {
  writeFileSync(places.enabled, "Y\n");
  parser(0);
  expect(await loadProfile(places)).toBe(`loaded ${places.installed}`);
  expect(readFileSync(join(top, "called"), "utf8")).toBe(`--replace ${nodeProfile}\n`);
  expect(readFileSync(places.installed, "utf8")).toBe(readFileSync(nodeProfile, "utf8"));
});

test("a profile that cannot be loaded is reported, is not installed, and does not stop set-up", async () => {
  writeFileSync(places.enabled, "Y\n");
  expect(await loadProfile(places)).toMatch(/^not loaded .*: .*ENOENT/s);
  parser(1);
  expect(await loadProfile(places)).toMatch(/^not loaded .*no permission/s);
  expect(existsSync(places.installed)).toBe(false);
});

const hasParser = existsSync("/usr/sbin/apparmor_parser");
test.runIf(hasParser)("the profile compiles", () => {
  const compiled = execFileSync("/usr/sbin/apparmor_parser", ["-Q", "-K", "-S", nodeProfile], { stdio: ["ignore", "pipe", "ignore"] });
  expect(compiled.length).toBeGreaterThan(1000);
});
