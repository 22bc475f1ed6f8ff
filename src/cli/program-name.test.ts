import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandSpeller, programName } from "./program-name.ts";

test("the program name is the way it was started, unless the shell finds labwright itself", () => {
  const folder = mkdtempSync(join(tmpdir(), "labwright-name-"));
  const npm = join(folder, "node_modules/.bin");
  mkdirSync(npm, { recursive: true });
  // Folders that npm adds to the path are not in the user's path.
  writeFileSync(join(npm, "labwright"), "", { mode: 0o755 });
  try {
    const PATH = `${npm}:${folder}`;
    expect(programName({ PATH })).toBe("labwright");
    expect(programName({ PATH, npm_lifecycle_event: "labwright" })).toBe("npm run labwright --");
    expect(programName({ PATH, npm_lifecycle_event: "npx" })).toBe("npx labwright");
    expect(programName({ PATH, npm_lifecycle_event: "test" })).toBe("labwright");
    writeFileSync(join(folder, "labwright"), "", { mode: 0o755 });
    expect(programName({ PATH, npm_lifecycle_event: "labwright" })).toBe("labwright");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("only commands are replaced, not paths, files and other words", () => {
  const spell = commandSpeller(["up", "apply", "systemd-unit"], "npm run labwright --");
  expect(spell("labwright up starts one; see labwright apply --help")).toBe(
    "npm run labwright -- up starts one; see npm run labwright -- apply --help",
  );
  for (const text of ["/var/lib/labwright up", "labwright upper", "labwright needs Node", "the labwright up-to-date"])
    expect(spell(text)).toBe(text);
  expect(commandSpeller(["up"], "labwright")("labwright up")).toBe("labwright up");
});
