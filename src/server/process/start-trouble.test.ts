import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openUsers } from "../../hosts/local/accounts/users.ts";
import { startTrouble, usersTrouble } from "./start-trouble.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "labwright-trouble-"));
});
afterEach(async () => rm(directory, { recursive: true }));

test("a file system without blocks is not reported as full", async () => {
  expect(await startTrouble(new Error("the actual reason"), "/proc")).toBe("the actual reason");
});

test.each([
  ["a directory", (file: string) => mkdir(file), "EISDIR"],
  ["empty", (file: string) => writeFile(file, ""), "Unexpected end of JSON input"],
])("a users.json that is %s is reported with its path, the reason and what to do", async (_what, make, reason) => {
  const file = join(directory, "users.json");
  await make(file);
  const error = await openUsers(file)
    .ensureFirstAdmin()
    .catch((thrown: unknown) => thrown);
  const text = await startTrouble(usersTrouble(file, error), directory);
  expect(text).toContain(`${file} cannot be read: `);
  expect(text).toContain(reason);
  expect(text).toContain("restore it from a backup; or move it away");
});
