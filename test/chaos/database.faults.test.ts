import { open, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LabwrightError } from "../../src/client/index.ts";
import { EmbeddedService } from "./embedded-service.ts";
import { noteLabs, processesOf } from "./machine.ts";

/** The service's database is lost or damaged beside labs that run: each start names the file, the problem and the remedy, and labs run on. */

/** A hang, not a busy machine. */
const hangs = { timeout: 300_000 };
let service: EmbeddedService;
let database: string;
beforeEach(async () => {
  service = await EmbeddedService.make();
  database = join(service.stateDir, "labwright.db");
  await service.start();
  await service.client.deployProject({ yaml: "name: kept\nnodes: {h1: {template: linux, ethernet: 1}}\n" });
  await noteLabs(service.labs, service.stateDir, service.runDir);
  expect(await service.end("SIGTERM")).toBe(0);
});
afterEach(async () => service[Symbol.asyncDispose]());

async function nodes(): Promise<number> {
  return (await processesOf(service.labs)).filter(({ role }) => role === "node").length;
}

test("a damaged database ends the start with its path, the fault and what to do; a backup brings all back", hangs, async () => {
  const { size } = await stat(database);
  await rename(database, `${database}.backup`);
  const refused = async (words: RegExp) => {
    await expect(service.start()).rejects.toThrow(words);
    expect(service.log).toContain(database);
    expect(service.log).toMatch(/^labwright serve: /m);
    expect(await nodes()).toBe(1);
  };
  const original = await open(`${database}.backup`);
  const bytes = await original.readFile();
  await original.close();
  await writeFile(database, bytes.subarray(0, size / 2));
  await refused(/is truncated: \d+ of \d+ bytes are left\. Restore it from a backup/);
  await writeFile(database, bytes.fill("?", 0, 4096));
  await refused(/is not a SQLite database.*Restore it from a backup/);
  await rm(database);
  await refused(/is missing, and .* contains a lab: restore the database from a backup; or start once with labwright serve --adopt/);
  await writeFile(database, "");
  await refused(/is empty, and .* contains a lab/);
  await rename(`${database}.backup`, database);
  await service.start();
  const { mode, live } = await service.client.getProjectStatus({ lab: "/kept" });
  expect([mode, live?.nodes?.map(({ status }) => status)]).toEqual(["create", ["running"]]);
});

test("--adopt starts with a new database: labs run on, and an admin sees them and their captures", hangs, async () => {
  await service.start();
  const { capture } = await service.client.startCapture({ lab: "/kept", node: "h1", interface: "eth0" });
  await service.end("SIGTERM");
  await rm(database);
  service.forgetLogin();
  await service.start([], ["--adopt"]);
  const { labs } = await service.client.listLabs();
  expect(labs.map(({ lab, exists }) => [lab, exists])).toEqual([["/kept", true]]);
  expect(await nodes()).toBe(1);
  expect((await service.client.listCaptures()).captures.map((one) => one.capture)).toEqual([capture]);
  await service.end("SIGTERM");
  // Its database is one from now on.
  await service.start();
});

test("a first start without labs needs no flag", hangs, async () => {
  await using other = await EmbeddedService.make();
  await other.start();
  await other.end("SIGTERM");
});

test("a page that breaks while the service runs is reported as damage and logged with the path", hangs, async () => {
  await service.start();
  await truncate(database, 4096);
  const failure = await service.client.listJobs().then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(LabwrightError);
  expect((failure as LabwrightError).message).toMatch(/the service's database failed: it is damaged: stop the service/);
  await expect.poll(() => service.log, { timeout: 30_000 }).toContain(database);
});
