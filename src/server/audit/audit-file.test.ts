import { mkdir, mkdtemp, readFile, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openAuditFile } from "./audit-file.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "labwright-audit-"));
});
afterEach(() => rm(directory, { recursive: true }));

const never = () => expect.unreachable();

test("adds lines to a file of its owner, and goes on in a new file after a rename", async () => {
  const path = join(directory, "audit.log");
  const log = openAuditFile(path, never);
  log.record({ operation: "login", user: "a\nb" });
  await rename(path, `${path}.1`);
  log.record({ operation: "logout" });
  log.reopen();
  log.record({ operation: "deployProject" });
  log.close();
  const again = openAuditFile(path, never);
  again.record({ operation: "stop" });
  again.close();
  expect(await readFile(`${path}.1`, "utf8")).toBe('{"operation":"login","user":"a\\nb"}\n{"operation":"logout"}\n');
  expect(await readFile(path, "utf8")).toBe('{"operation":"deployProject"}\n{"operation":"stop"}\n');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("a file that cannot be opened is an error; then the old one stays in use", async () => {
  expect(() => openAuditFile(join(directory, "none", "audit.log"), never)).toThrow("ENOENT");
  await mkdir(join(directory, "in"));
  const log = openAuditFile(join(directory, "in", "audit.log"), never);
  await rename(join(directory, "in"), join(directory, "moved"));
  expect(() => log.reopen()).toThrow("ENOENT");
  log.record({ operation: "login" });
  log.close();
  expect(await readFile(join(directory, "moved", "audit.log"), "utf8")).toBe('{"operation":"login"}\n');
});

test("a full disk is reported once a minute, and stops nothing", () => {
  const failures: unknown[] = [];
  const log = openAuditFile("/dev/full", (error, lost) => failures.push([error.message.split(":")[0], lost]));
  for (let count = 0; count < 3; count += 1) log.record({ operation: "login" });
  log.close();
  expect(failures).toEqual([["ENOSPC", 1]]);
});
