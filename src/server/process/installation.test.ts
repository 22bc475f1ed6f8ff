import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installationOf } from "./installation.ts";

test("a state directory has one id, and a damaged one is named with the next step", () => {
  const state = mkdtempSync(join(tmpdir(), "labwright-installation-"));
  try {
    const id = installationOf(state);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(installationOf(state)).toBe(id);
    for (const text of ["", id.slice(0, 20), "x\n"]) {
      writeFileSync(join(state, "installation-id"), text);
      expect(() => installationOf(state)).toThrow(/installation-id is damaged: .*Restore it from a backup/);
    }
  } finally {
    rmSync(state, { recursive: true });
  }
});
