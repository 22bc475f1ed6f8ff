import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Job, LabwrightError } from "../../src/client/index.ts";
import { EmbeddedService, password } from "./embedded-service.ts";
import { eventually } from "./eventually.ts";
import { type SmallDisk, smallDisk } from "./small-disk.ts";

/**
 * The state directory's file system is full: logging in, stopping, wiping, destroying and removing captures work all the same. Every other change says so, loses
 * nothing, and goes through when there is space again.
 */

/** A hang, not a busy machine. */
const hangs = { timeout: 300_000 };
let service: EmbeddedService;
let disk: SmallDisk;
beforeEach(async () => {
  service = await EmbeddedService.make();
  await mkdir(service.stateDir);
  disk = await smallDisk(service.stateDir, 16);
  await service.start(disk.within);
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
  await disk[Symbol.asyncDispose]();
});

const yaml = (hosts: number) => `name: full
nodes:
${Array.from({ length: hosts }, (_, i) => `  h${i + 1}: {template: linux}`).join("\n")}
links:
  - ["h1:eth0", "h2:eth0"]
`;
const lab = "/full";

/** Returns the failure of a call; its message must contain the problem and the remedy. */
async function refused(call: Promise<unknown>): Promise<LabwrightError> {
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!(error instanceof LabwrightError)) throw new Error(`it was not refused, but ${JSON.stringify(error)}`);
  expect(["internal", "host_error"]).toContain(error.code);
  expect(error.message).toMatch(/file system is full: free space on it and try again/);
  return error;
}

async function powers(): Promise<readonly string[]> {
  const { live } = await service.client.getProjectStatus({ lab });
  return (live?.nodes ?? []).map(({ name, status }) => `${name} ${status}`);
}

async function allRun(hosts: number): Promise<void> {
  let seen: readonly string[] = [];
  await eventually(
    "all run",
    async () => {
      seen = await powers();
      return seen.length === hosts && seen.every((one) => one.endsWith("running"));
    },
    () => `${seen}\n${service.log}`,
  );
}

test("a deploy is refused, leaves nothing, and goes through when there is space again", hangs, async () => {
  const { client } = service;
  await disk.fill();
  await refused(client.deployProject({ yaml: yaml(2) }));
  expect((await client.listLabs()).labs).toEqual([]);
  await disk.free();
  await client.deployProject({ yaml: yaml(2) });
  await allRun(2);
  expect((await client.planProject({ yaml: yaml(2), prune: true })).actions).toEqual([]);
});

test(
  "every change of a running lab fails with the full disk, whichever write has no room; nodes run on, and the same call succeeds afterwards",
  hangs,
  async () => {
    const { client } = service;
    await client.deployProject({ yaml: yaml(2) });
    await allRun(2);
    const wider = yaml(4).replace('  - ["h1:eth0"', '  - ["h3:eth0", "h4:eth0"]\n  - ["h1:eth0"');
    const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
      ["suspend", () => client.setLinkSuspend({ lab, endpoints: ["h1:eth0", "h2:eth0"], suspended: true })],
      ["quality", () => client.applyLinkQuality({ lab, endpoints: ["h1:eth0", "h2:eth0"], a: { delay: 3 }, save: true })],
      ["reconcile", () => client.reconcileProject({ yaml: wider })],
    ];
    for (const [what, change] of changes) {
      // With no room at all, and with so little that the first writes fit.
      for (const spare of [0, 8 << 10, 24 << 10, 64 << 10]) {
        await disk.fill(spare);
        const failure = await change().then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure !== undefined) await refused(Promise.reject(failure));
        else if (spare === 0) throw new Error(`${what} found room`);
        const { operation, live } = await client.getProjectStatus({ lab });
        expect([what, operation, live?.available]).toEqual([what, undefined, true]);
        expect(await powers(), what).toContain("h1 running");
        await disk.free();
        if (failure === undefined) break;
      }
      await change();
    }
    await client.reconcileProject({ yaml: wider });
    await client.execProject({ lab, action: "start" });
    await allRun(4);
    const { plan_identity = "" } = await client.planProject({ yaml: wider, prune: true });
    await client.reconcileProject({ yaml: wider, prune: true, confirm: true, plan_identity });
    expect((await client.planProject({ yaml: wider, prune: true })).actions).toEqual([]);
    expect((await client.listLabs()).labs.map((one) => one.lab)).toEqual([lab]);
    const drafts = (await readdir(disk.path(service.stateDir), { recursive: true })).filter((name) => name.endsWith(".tmp"));
    expect(drafts).toEqual([]);
  },
);

test("a node that fills the disk keeps nobody from looking, and from changing only until it has room again", hangs, async () => {
  const { client } = service;
  await client.deployProject({ yaml: yaml(2) });
  await allRun(2);
  const { output } = await client.execConsole({ lab, node: "h1", command: "dd if=/dev/zero of=/root/big bs=64k 2>&1", timeout_ms: 20_000 });
  expect(output).toContain("No space left on device");
  await disk.fill();
  await refused(client.reconcileProject({ yaml: yaml(3) }));
  await allRun(2);
  await disk.free();
  await client.execConsole({ lab, node: "h1", command: "rm /root/big" });
  await client.reconcileProject({ yaml: yaml(3) });
  await client.execProject({ lab, action: "start" });
  await allRun(3);
});

test("a job whose end found no room has ended all the same, and says so after a restart too", hangs, async () => {
  const { client } = service;
  await client.deployProject({ yaml: yaml(2) });
  await allRun(2);
  let job: Job | undefined;
  // Graceful stops take a moment: the disk is filled while they run.
  const { job: id } = await client.startJob("execProject", { lab, action: "stop", stopmode: 0 });
  await disk.fill();
  await eventually(
    "the job ends",
    async () => {
      job = await client.getJob({ id });
      return job.status !== "running";
    },
    () => JSON.stringify(job),
  );
  await disk.free();
  await eventually(
    "the lab can be changed",
    async () => (await client.execProject({ lab, action: "stop", stopmode: 1 })).failed === 0,
    () => service.log,
  );
  await service.end("SIGKILL");
  await service.start(disk.within);
  await eventually(
    "the job has ended",
    async () => (await service.client.getJob({ id })).status !== "running",
    () => service.log,
  );
  expect((await powers()).every((one) => one.endsWith("stopped"))).toBe(true);
});

test(
  "without any room one can log in, stop, wipe, remove captures and destroy, again and again, while a node takes every byte that is freed",
  hangs,
  async () => {
    const { client } = service;
    await client.deployProject({ yaml: yaml(3) });
    await allRun(3);
    const { capture } = await client.startCapture({ lab, node: "h1", interface: "eth0" });
    const takeAll = "(while true; do cat /dev/zero >> /root/big; done) > /dev/null 2>&1 &";
    await client.execConsole({ lab, node: "h3", command: takeAll });
    await disk.fill();
    for (let round = 0; round < 40; round++) {
      const { token } = await client.login({ username: "admin", password });
      expect(token).toEqual(expect.any(String));
      const stopped = await client.execProject({ lab, action: "stop", node: "h1", stopmode: 1 });
      expect([stopped.stopped + stopped.already_stopped, stopped.failed]).toEqual([1, 0]);
    }
    await client.removeCapture({ id: capture });
    expect((await client.listCaptures({ lab })).captures).toEqual([]);
    expect((await client.execProject({ lab, action: "wipe", node: "h2" })).wiped).toBe(1);
    // A restart in the middle: killed, it leaves its log; ended, it does not.
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      await service.end(signal);
      await service.start(disk.within);
    }
    await service.client.login({ username: "admin", password });
    await service.client.destroyProject({ lab });
    expect((await service.client.listLabs()).labs).toEqual([]);
    await disk.free();
    // The reserve comes back.
    await expect.poll(async () => (await readdir(disk.path(join(service.stateDir, "spare")))).length, { timeout: 60_000 }).toBe(8);
    await expect.poll(async () => readdir(disk.path(service.stateDir)), { timeout: 60_000 }).toContain("ballast");
  },
);

test("changes that are refused for want of room do not use up the reserve of those that make room", hangs, async () => {
  const { client } = service;
  await client.deployProject({ yaml: yaml(2) });
  await allRun(2);
  await disk.fill();
  const large = yaml(2).replace("name: full", `name: full\ndescription: ${"x".repeat(20_000)}`);
  for (let round = 0; round < 60; round++) await refused(client.reconcileProject({ yaml: large }));
  await client.login({ username: "admin", password });
  await client.destroyProject({ lab });
});

test("a large lab is destroyed without any room too, after large changes that found none", hangs, async () => {
  const { client } = service;
  const large = (bytes: number) => `name: large
nodes:
${Array.from({ length: 10 }, (_, i) => `  h${i}: {template: linux, start: ${i < 3}, startup-config: "# ${String(i).repeat(bytes)}\\n"}`).join("\n")}
`;
  await client.deployProject({ yaml: yaml(2) });
  await client.deployProject({ yaml: large(40_000) });
  await disk.fill();
  for (let round = 0; round < 8; round++) {
    await refused(client.reconcileProject({ yaml: large(39_000 + round) }));
    await refused(client.deployProject({ yaml: large(30_000).replace("name: large", "name: other") }));
  }
  await service.end("SIGKILL");
  await service.start(disk.within);
  const stopped = await service.client.execProject({ lab: "/large", action: "stop", node: "h1", stopmode: 1 });
  expect(stopped).toMatchObject({ stopped: 1, failed: 0 });
  expect(await service.client.execProject({ lab: "/large", action: "wipe", stopmode: 1 })).toMatchObject({ wiped: 10, failed: 0 });
  await service.client.destroyProject({ lab: "/large" });
  await service.client.destroyProject({ lab });
  expect((await service.client.listLabs()).labs).toEqual([]);
});

test("a service that starts without room and without a reserve says so in one line, and starts when there is some", hangs, async () => {
  await service.end("SIGTERM");
  await rm(disk.path(join(service.stateDir, "ballast")), { force: true });
  await disk.fill();
  await expect(service.start(disk.within)).rejects.toThrow(
    new RegExp(`labwright serve: .*${join(service.stateDir)}.* is full: free space on it`),
  );
  await disk.free();
  await service.start(disk.within);
});
