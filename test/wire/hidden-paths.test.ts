import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

let local: TestLocalHost;
let served: Served;
let admin: RawClient;

beforeAll(async () => {
  local = await testLocalHost();
  served = await serve({ host: local.host });
  admin = await served.signIn("admin", "test");
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await local?.[Symbol.asyncDispose]();
});

test("a failure of a file of the machine is reported to callers without its path, and logged with it", async () => {
  const labs = join(local.paths.state, "labs");
  await rename(labs, `${labs}.away`);
  await writeFile(labs, "in the way");
  try {
    const yaml = "name: blocked\nnodes: {h1: {template: linux, start: false}}\n";
    const refused = await admin.post("/api/v1/projects/deploy", { yaml });
    expect(refused.json).toMatchObject({ ok: false, code: "host_error", error: expect.stringContaining("ENOTDIR") });
    const jobs = await admin.get("/api/v1/jobs");
    expect(jobs.text).toContain("ENOTDIR");
    for (const { text } of [refused, jobs]) expect(text).not.toContain(local.paths.state);
    expect(served.log.join("")).toContain(labs);
  } finally {
    await rm(labs);
    await rename(`${labs}.away`, labs);
  }
});
