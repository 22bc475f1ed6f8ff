import { execFileSync } from "node:child_process";
import { truncateSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
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

test("an entry that a crash has torn does not take the next one with it", async () => {
  const path = join(directory, "audit.log");
  await writeFile(path, '{"operation":"login"}\n{"operat');
  const log = openAuditFile(path, never);
  log.record({ operation: "logout" });
  log.close();
  expect(await readFile(path, "utf8")).toBe('{"operation":"login"}\n{"operat\n{"operation":"logout"}\n');
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

test("a full disk stops nothing; losses are reported once a minute and at the end, with their number", () => {
  const reports: unknown[] = [];
  const log = openAuditFile("/dev/full", (text, { lost }) => reports.push([text, lost]));
  for (let count = 0; count < 4; count += 1) log.record({ operation: "login" });
  log.close();
  expect(reports).toEqual([
    [expect.stringContaining("ENOSPC"), 1],
    ["the audit log could not be written", 3],
  ]);
});

test.skipIf(process.getuid?.() !== 0)("after a disk was full, entries begin on lines of their own, and the loss is reported", async () => {
  const mount = join(directory, "small");
  await mkdir(mount);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=4096", "none", mount]);
  try {
    const path = join(mount, "audit.log");
    const reports: unknown[] = [];
    const log = openAuditFile(path, (_text, { lost }) => reports.push(lost));
    for (let count = 0; count < 20; count += 1) log.record({ count, text: "x".repeat(300) });
    const whole = (await readFile(path, "utf8")).split("\n").slice(0, -1);
    truncateSync(path, 1000);
    log.record({ count: "last" });
    log.close();
    const lines = (await readFile(path, "utf8")).split("\n");
    expect(lines.at(-2)).toBe('{"count":"last"}');
    expect(reports).toEqual([1, 20 - whole.length - 1]);
  } finally {
    execFileSync("umount", [mount]);
  }
});

test("pipes and folders are refused", async () => {
  execFileSync("mkfifo", [join(directory, "pipe")]);
  expect(() => openAuditFile(join(directory, "pipe"), never)).toThrow("ENXIO");
  expect(() => openAuditFile(directory, never)).toThrow("EISDIR");
});
