import type { TSchema } from "typebox";
import { Check, Errors } from "typebox/value";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChangeOperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import { dataSchemas } from "../../src/contract/schemas/table.ts";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

const lab = "/wire";
const yaml =
  'name: wire\nnodes: {h1: {template: linux, start: false}, h2: {template: linux, start: false}}\nlinks: [["h1:eth0", "h2:eth0"]]\n';
const endpoints = ["h1:eth0", "h2:eth0"];

/** Of each change: a request, and another one of the same operation. */
const requests: Readonly<Record<ChangeOperationId, readonly [object, object]>> = {
  importProject: [
    { lab, manifest: "version: 1\nmode: import\nlab: /copy\n" },
    { lab, manifest: "version: 1\nmode: import\nlab: /other\n" },
  ],
  deployProject: [
    { yaml, lab: "/new" },
    { yaml, lab: "/other" },
  ],
  reconcileProject: [{ yaml: yaml.replace("h1: {", "h3: {template: linux}, h1: {") }, { yaml }],
  destroyProject: [{ lab }, { lab, wipe: false }],
  execProject: [
    { lab, action: "start", node: "h1" },
    { lab, action: "start" },
  ],
  applyLinkQuality: [
    { lab, endpoints, a: { bandwidth: 1000 } },
    { lab, endpoints, a: { bandwidth: 2000 } },
  ],
  setLinkSuspend: [
    { lab, endpoints, suspended: true },
    { lab, endpoints, suspended: false },
  ],
  saveConfigs: [{ lab }, { lab, node: "h1" }],
  testProject: [{ lab }, { lab, tests: ["a"] }],
  resumeLab: [{ lab }, { lab, yaml }],
  renumberLab: [{ lab }, { lab, yaml }],
  takeSnapshot: [
    { lab, snapshot: "a" },
    { lab, snapshot: "b" },
  ],
  restoreSnapshot: [
    { lab, snapshot: "a" },
    { lab, snapshot: "b" },
  ],
  removeSnapshot: [
    { lab, snapshot: "a" },
    { lab, snapshot: "b" },
  ],
};

test("every operation that is a change is tried here", () => {
  const changes = Object.entries<OperationRow>(operations).filter(([, { change }]) => change);
  expect(changes.map(([id]) => id).sort()).toEqual(Object.keys(requests).sort());
});

describe.skipIf(process.getuid?.() !== 0)("on the embedded host, every change", () => {
  let local: TestLocalHost;
  let served: Served;
  let client: RawClient;

  beforeAll(async () => {
    local = await testLocalHost();
    served = await serve({ host: local.host });
    client = await served.signIn("admin", "test");
  });
  afterAll(async () => {
    await local?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  });

  async function ended(
    job: string,
  ): Promise<{ readonly status: string; readonly operation: string; readonly result?: unknown; readonly left_out?: readonly string[] }> {
    const read = async () => (await client.get(`/api/v1/jobs/${job}`)).json.data;
    await expect.poll(async () => (await read()).status, { timeout: 60_000 }).not.toBe("running");
    return read();
  }

  // Labs of the embedded host share no numbers and have no snapshots: those are tried on EVE-NG, in eve-clash.extended.test.ts and snapshots.test.ts.
  test.each((Object.keys(requests) as ChangeOperationId[]).filter((id) => !/renumberLab|Snapshot$/.test(id)))(
    "%s answers its job at once when that is preferred, and is done once for one Idempotency-Key",
    async (id) => {
      const deployed = await client.post(operations.deployProject.path, { yaml, replace: true });
      expect(deployed.json).toMatchObject({ ok: true });
      const [one, other] = requests[id];
      const key = { "Idempotency-Key": `once ${id}` };
      const path = operations[id].path;

      const begun = await client.post(path, one, { headers: { ...key, Prefer: "respond-async" } });
      expect(begun.json).toEqual({ ok: true, data: { job: expect.any(String) } });
      const { job } = begun.json.data;
      const state = await ended(job);
      expect(state).toMatchObject({ status: "done", operation: id });
      const schema: TSchema = dataSchemas[id];
      expect(Check(schema, state.result) ? [] : [...Errors(schema, state.result)]).toEqual([]);

      const before = (await client.get(operations.listJobs.path)).json.data.jobs;
      const again = await client.post(path, one, { headers: key });
      // Jobs keep no intent; the answer to the same request has it.
      const left: readonly string[] = state.left_out ?? [];
      expect(left).toEqual(id === "importProject" ? ["yaml", "files"] : id === "saveConfigs" ? ["files"] : []);
      const seen = Object.entries(again.json.data).filter(([name]) => !left.includes(name));
      expect([again.json.ok, Object.fromEntries(seen)]).toEqual([true, state.result]);
      for (const name of left) expect(again.json.data).toHaveProperty(name);
      const asJob = await client.post(path, one, { headers: { ...key, Prefer: "respond-async" } });
      expect(asJob.json.data).toEqual({ job });
      const refused = await client.post(path, other, { headers: key });
      expect([refused.status, refused.json.code]).toEqual([400, "bad_request"]);
      expect((await client.get(operations.listJobs.path)).json.data.jobs).toEqual(before);
    },
  );
});
