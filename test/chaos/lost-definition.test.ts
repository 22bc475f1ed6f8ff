import { readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LabwrightError } from "../../src/client/index.ts";
import { EmbeddedService } from "./embedded-service.ts";
import { noteLabs, processesOf } from "./machine.ts";

/** A lab's definition is lost or torn while its nodes run: no disk goes, and nothing runs that nobody can end. */

/** A hang, not a busy machine. */
const hangs = { timeout: 300_000 };
const lab = "/lost";
const yaml = "name: lost\nnodes: {h1: {template: linux}}\n";
let service: EmbeddedService;
let id: string;
let definition: string;

beforeEach(async () => {
  service = await EmbeddedService.make();
  await service.start();
  await service.client.deployProject({ yaml });
  await exec("echo precious > /root/work; sync");
  await noteLabs(service.labs, service.stateDir, service.runDir);
  id = [...service.labs].join();
  definition = join(service.stateDir, "labs", id, "lab.json");
});
afterEach(async () => service[Symbol.asyncDispose]());

async function exec(command: string): Promise<string> {
  return (await service.client.execConsole({ lab, node: "h1", command })).output ?? "";
}

async function restart(damage: () => Promise<unknown>): Promise<void> {
  await service.end("SIGTERM");
  await damage();
  await service.start();
}

async function isLogged(words: string): Promise<void> {
  await expect.poll(() => service.log, { timeout: 30_000 }).toContain(words);
}

async function nodes(): Promise<number> {
  return (await processesOf(service.labs)).filter(({ role }) => role === "node").length;
}

async function powers(): Promise<readonly (string | undefined)[] | undefined> {
  return (await service.client.getProjectStatus({ lab })).live?.nodes?.map(({ status }) => status);
}

test("a missing definition puts the lab into quarantine, running and with its disks; restore brings it back", hangs, async () => {
  await restart(() => rm(definition));
  await isLogged(`${definition} is missing: nothing of the lab is removed; labwright quarantine`);
  expect(await nodes()).toBe(1);
  const { labs } = await service.client.listQuarantine();
  expect(labs).toEqual([{ id, reason: "its lab.json is missing", lab, owner: "admin", running: true, restorable: true }]);
  expect(await service.client.restoreQuarantined({ id })).toEqual({ id, lab });
  expect((await service.client.listQuarantine()).labs).toEqual([]);
  expect(await powers()).toEqual(["running"]);
  expect(await exec("cat /root/work")).toContain("precious");
  expect((await service.client.planProject({ yaml, prune: true })).actions).toEqual([]);
  await service.client.destroyProject({ lab });
  expect(await processesOf(service.labs)).toEqual([]);
});

test("delete ends what runs of a lab in quarantine and removes its disks; only an admin decides", hangs, async () => {
  // Also a lab of a release that kept no copies.
  await restart(async () => Promise.all([rm(definition), rm(join(service.stateDir, "labs", id, "lab.last.json"))]));
  const { labs } = await service.client.listQuarantine();
  expect(labs).toEqual([{ id, reason: "its lab.json is missing", running: true, restorable: false }]);
  await expect(service.client.restoreQuarantined({ id })).rejects.toMatchObject({
    code: "bad_request",
    message: expect.stringContaining("repair the file, or delete the lab"),
  });
  await expect(service.client.deleteQuarantined({ id: "../x" })).rejects.toBeInstanceOf(LabwrightError);
  expect(await service.client.deleteQuarantined({ id })).toEqual({ id });
  expect(await processesOf(service.labs)).toEqual([]);
  expect(await stat(join(service.stateDir, "labs", id)).catch(() => "gone")).toBe("gone");
  expect((await service.client.listQuarantine()).labs).toEqual([]);
});

test("a lab that runs without any directory is listed, and can be ended", hangs, async () => {
  await restart(() => rm(join(service.stateDir, "labs", id), { recursive: true, force: true, maxRetries: 20 }));
  await isLogged(`lab ${id} runs, but`);
  const { labs } = await service.client.listQuarantine();
  expect(labs).toEqual([{ id, reason: "it runs, but its directory is missing", running: true, restorable: false }]);
  await service.client.deleteQuarantined({ id });
  expect(await processesOf(service.labs)).toEqual([]);
});

test("a torn definition is replaced by the last good one: the nodes are known, and can be stopped and destroyed", hangs, async () => {
  await restart(() => truncate(definition, 60));
  await isLogged("the last good definition of lab /lost is used");
  expect(await powers()).toEqual(["running"]);
  expect((await service.client.listQuarantine()).labs).toEqual([]);
  expect((await service.client.execProject({ lab, action: "stop", stopmode: 1 })).stopped).toBe(1);
  expect(await nodes()).toBe(0);
  expect(JSON.parse(await readFile(definition, "utf8"))).toMatchObject({ id, path: lab });
  await service.client.execProject({ lab, action: "start" });
  // While the service runs, too.
  await truncate(definition, 60);
  expect(await powers()).toHaveLength(1);
  await service.client.destroyProject({ lab });
  expect(await processesOf(service.labs)).toEqual([]);
});

test("a lab that loses its definition while the service runs ends its console streams", hangs, async () => {
  const console = await service.client.openConsole({ lab, node: "h1" });
  console.on("error", () => {}).resume();
  expect(await exec("echo there")).toContain("there");
  expect(console.destroyed).toBe(false);
  await rm(definition);
  await expect.poll(() => console.destroyed, { timeout: 30_000 }).toBe(true);
  expect(await nodes()).toBe(1);
});

test("a lab in quarantine is not destroyed or deployed a second time; its status reports the quarantine", hangs, async () => {
  await restart(() => rm(definition));
  const refused = { code: "operation_not_allowed", message: expect.stringContaining("labwright quarantine") };
  await expect(service.client.destroyProject({ lab })).rejects.toMatchObject(refused);
  await expect(service.client.deployProject({ yaml })).rejects.toMatchObject(refused);
  await expect(service.client.deployProject({ yaml, replace: true })).rejects.toMatchObject(refused);
  await expect(service.client.execProject({ lab, action: "stop" })).rejects.toMatchObject(refused);
  await expect(service.client.planProject({ yaml })).rejects.toMatchObject(refused);
  await expect(service.client.planProject({ lab, direction: "from_host" })).rejects.toMatchObject(refused);
  await expect(service.client.inspectProject({ lab })).rejects.toMatchObject(refused);
  await expect(service.client.inspectProject({ yaml })).rejects.toMatchObject(refused);
  await expect(service.client.listProjectConsoles({ lab })).rejects.toMatchObject(refused);
  await expect(service.client.listCaptures({ lab })).rejects.toMatchObject(refused);
  expect(await service.client.getProjectStatus({ lab })).toMatchObject({ exists: false, quarantined: true, mode: "create" });
  expect(await nodes()).toBe(1);
  await service.client.restoreQuarantined({ id });
  const { right, quarantined } = await service.client.getProjectStatus({ lab });
  expect({ right, quarantined }).toEqual({ right: "own", quarantined: undefined });
  await service.client.destroyProject({ lab });
  expect(await processesOf(service.labs)).toEqual([]);
});

test("a lab in quarantine whose directory is gone is not destroyed by half, either", hangs, async () => {
  await restart(() => rm(join(service.stateDir, "labs", id), { recursive: true, force: true, maxRetries: 20 }));
  await expect(service.client.destroyProject({ lab })).rejects.toMatchObject({ code: "operation_not_allowed" });
  await service.client.deleteQuarantined({ id });
  expect(await service.client.getProjectStatus({ lab })).toMatchObject({ exists: false });
  await service.client.destroyProject({ lab });
  expect((await service.client.listLabs()).labs).toEqual([]);
});

test("a lab whose lab.json claims the path of another lab does not get that lab's record", hangs, async () => {
  const other = "/other";
  await service.client.deployProject({ yaml: yaml.replace("name: lost", "name: other") });
  await noteLabs(service.labs, service.stateDir, service.runDir);
  const otherId = [...service.labs].find((one) => one !== id) ?? "";
  // Both ways, as the order of the ids is any.
  for (const [claimed, of, by] of [
    [lab, id, otherId],
    [other, otherId, id],
  ] as const) {
    const file = join(service.stateDir, "labs", by, "lab.json");
    const text = await readFile(file, "utf8");
    await restart(() => writeFile(file, JSON.stringify({ ...JSON.parse(text), path: claimed })));
    expect((await service.client.listQuarantine()).labs).toMatchObject([
      { id: by, reason: `its path belongs to lab ${of}`, running: true },
    ]);
    expect(await service.client.getProjectStatus({ lab: claimed })).toMatchObject({ exists: true, right: "own" });
    await expect(service.client.destroyProject({ lab: claimed === lab ? other : lab })).rejects.toMatchObject({
      code: "operation_not_allowed",
    });
    expect(await nodes()).toBe(2);
    await restart(() => writeFile(file, text));
    expect((await service.client.listQuarantine()).labs).toEqual([]);
  }
});
