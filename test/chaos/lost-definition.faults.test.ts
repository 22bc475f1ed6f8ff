import { readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LabwrightError } from "../../src/client/index.ts";
import { EmbeddedService } from "./embedded-service.ts";
import { noteLabs, processesOf } from "./machine.ts";

/** A lab's definition is lost or torn while its nodes run: no disk goes, and nothing runs that nobody can end. */

/** A hang, not a busy machine. */
const hangs = { timeout: 300_000 };
const yaml = (name: string) => `name: ${name}\nnodes: {h1: {template: linux}}\n`;
let service: EmbeddedService;

/** A running lab with one node, and a file on the node's disk. */
interface TestLab {
  readonly name: string;
  readonly lab: string;
  readonly id: string;
  readonly directory: string;
  readonly definition: string;
}

const labs = new Map<string, TestLab>();
const at = (name: string) => labs.get(name) as TestLab;

/** The damage of each lab, done while the service does not run. All tests share its two starts. */
const damages: Readonly<Record<string, (lab: TestLab) => Promise<unknown>>> = {
  missing: ({ definition }) => rm(definition),
  // As a lab of a release that kept no copies.
  copyless: ({ definition, directory }) => Promise.all([rm(definition), rm(join(directory, "lab.last.json"))]),
  gone: ({ directory }) => rm(directory, { recursive: true, force: true, maxRetries: 20 }),
  torn: ({ definition }) => truncate(definition, 60),
  refused: ({ definition }) => rm(definition),
  halved: ({ directory }) => rm(directory, { recursive: true, force: true, maxRetries: 20 }),
  one: async () => {},
  two: async () => {},
};

beforeAll(async () => {
  service = await EmbeddedService.make();
  await service.start();
  for (const name of Object.keys(damages)) {
    await service.client.deployProject({ yaml: yaml(name) });
    await exec(name, "echo precious > /root/work; sync");
    const known = new Set(service.labs);
    await noteLabs(service.labs, service.stateDir, service.runDir);
    const id = [...service.labs].filter((one) => !known.has(one)).join();
    const directory = join(service.stateDir, "labs", id);
    labs.set(name, { name, lab: `/${name}`, id, directory, definition: join(directory, "lab.json") });
  }
  await restart(() => Promise.all([...labs.values()].map((lab) => damages[lab.name]?.(lab))));
}, hangs.timeout);
afterAll(async () => service[Symbol.asyncDispose]());

async function exec(name: string, command: string): Promise<string> {
  return (await service.client.execConsole({ lab: `/${name}`, node: "h1", command })).output ?? "";
}

async function restart(damage: () => Promise<unknown>): Promise<void> {
  await service.end("SIGTERM");
  await damage();
  await service.start();
}

async function isLogged(words: string): Promise<void> {
  await expect.poll(() => service.log, { timeout: 30_000 }).toContain(words);
}

const processes = ({ id }: TestLab) => processesOf(new Set([id]));

async function nodes(lab: TestLab): Promise<number> {
  return (await processes(lab)).filter(({ role }) => role === "node").length;
}

async function powers({ lab }: TestLab): Promise<readonly (string | undefined)[] | undefined> {
  return (await service.client.getProjectStatus({ lab })).live?.nodes?.map(({ status }) => status);
}

/** Returns the entry of the lab in the list of the quarantine; undefined if it has none. */
async function quarantined({ id }: TestLab) {
  return (await service.client.listQuarantine()).labs.find((one) => one.id === id);
}

test("a missing definition puts the lab into quarantine, running and with its disks; restore brings it back", hangs, async () => {
  const own = at("missing");
  const { id, lab } = own;
  await isLogged(`${own.definition} is missing: nothing of the lab is removed; labwright quarantine`);
  expect(await nodes(own)).toBe(1);
  const entry = { id, reason: "its lab.json is missing", lab, owner: "admin", running: true, restorable: true };
  expect(await quarantined(own)).toEqual(entry);
  expect(await service.client.restoreQuarantined({ id })).toEqual({ id, lab });
  expect(await quarantined(own)).toBeUndefined();
  expect(await powers(own)).toEqual(["running"]);
  expect(await exec(own.name, "cat /root/work")).toContain("precious");
  expect((await service.client.planProject({ yaml: yaml(own.name), prune: true })).actions).toEqual([]);
  await service.client.destroyProject({ lab });
  expect(await processes(own)).toEqual([]);
});

test("delete ends what runs of a lab in quarantine and removes its disks; only an admin decides", hangs, async () => {
  const own = at("copyless");
  const { id } = own;
  expect(await quarantined(own)).toEqual({ id, reason: "its lab.json is missing", running: true, restorable: false });
  await expect(service.client.restoreQuarantined({ id })).rejects.toMatchObject({
    code: "bad_request",
    message: expect.stringContaining("repair the file, or delete the lab"),
  });
  await expect(service.client.deleteQuarantined({ id: "../x" })).rejects.toBeInstanceOf(LabwrightError);
  expect(await service.client.deleteQuarantined({ id })).toEqual({ id });
  expect(await processes(own)).toEqual([]);
  expect(await stat(own.directory).catch(() => "gone")).toBe("gone");
  expect(await quarantined(own)).toBeUndefined();
});

test("a lab that runs without any directory is listed, and can be ended", hangs, async () => {
  const own = at("gone");
  const { id } = own;
  await isLogged(`lab ${id} runs, but`);
  expect(await quarantined(own)).toEqual({ id, reason: "it runs, but its directory is missing", running: true, restorable: false });
  await service.client.deleteQuarantined({ id });
  expect(await processes(own)).toEqual([]);
});

test("a torn definition is replaced by the last good one: the nodes are known, and can be stopped and destroyed", hangs, async () => {
  const own = at("torn");
  const { id, lab, definition } = own;
  await isLogged(`the last good definition of lab ${lab} is used`);
  expect(await powers(own)).toEqual(["running"]);
  expect(await quarantined(own)).toBeUndefined();
  expect((await service.client.execProject({ lab, action: "stop", stopmode: 1 })).stopped).toBe(1);
  expect(await nodes(own)).toBe(0);
  expect(JSON.parse(await readFile(definition, "utf8"))).toMatchObject({ id, path: lab });
  await service.client.execProject({ lab, action: "start" });
  // While the service runs, too.
  await truncate(definition, 60);
  expect(await powers(own)).toHaveLength(1);
  await service.client.destroyProject({ lab });
  expect(await processes(own)).toEqual([]);
});

test("a lab in quarantine is not destroyed or deployed a second time; its status reports the quarantine", hangs, async () => {
  const own = at("refused");
  const { id, lab } = own;
  const text = yaml(own.name);
  const { client } = service;
  const refused = { code: "operation_not_allowed", message: expect.stringContaining("labwright quarantine") };
  await expect(client.destroyProject({ lab })).rejects.toMatchObject(refused);
  await expect(client.deployProject({ yaml: text })).rejects.toMatchObject(refused);
  await expect(client.deployProject({ yaml: text, replace: true })).rejects.toMatchObject(refused);
  await expect(client.execProject({ lab, action: "stop" })).rejects.toMatchObject(refused);
  await expect(client.planProject({ yaml: text })).rejects.toMatchObject(refused);
  await expect(client.planProject({ lab, direction: "from_host" })).rejects.toMatchObject(refused);
  await expect(client.inspectProject({ lab })).rejects.toMatchObject(refused);
  await expect(client.inspectProject({ yaml: text })).rejects.toMatchObject(refused);
  await expect(client.listProjectConsoles({ lab })).rejects.toMatchObject(refused);
  await expect(client.listCaptures({ lab })).rejects.toMatchObject(refused);
  expect(await client.getProjectStatus({ lab })).toMatchObject({ exists: false, quarantined: true, mode: "create" });
  expect(await nodes(own)).toBe(1);
  await client.restoreQuarantined({ id });
  const status = await client.getProjectStatus({ lab });
  expect({ right: status.right, quarantined: status.quarantined }).toEqual({ right: "own", quarantined: undefined });
  await client.destroyProject({ lab });
  expect(await processes(own)).toEqual([]);
});

test("a lab in quarantine whose directory is gone is not destroyed by half, either", hangs, async () => {
  const own = at("halved");
  const { id, lab } = own;
  await expect(service.client.destroyProject({ lab })).rejects.toMatchObject({ code: "operation_not_allowed" });
  await service.client.deleteQuarantined({ id });
  expect(await service.client.getProjectStatus({ lab })).toMatchObject({ exists: false });
  await service.client.destroyProject({ lab });
  expect((await service.client.listLabs()).labs.map((one) => one.lab)).not.toContain(lab);
  expect(await quarantined(own)).toBeUndefined();
});

test("a lab whose lab.json claims the path of another lab does not get that lab's record", hangs, async () => {
  const [one, two] = [at("one"), at("two")];
  // Both ways, as the order of the ids is any.
  for (const [claimed, by] of [
    [one, two],
    [two, one],
  ] as const) {
    const text = await readFile(by.definition, "utf8");
    await restart(() => writeFile(by.definition, JSON.stringify({ ...JSON.parse(text), path: claimed.lab })));
    expect(await quarantined(by)).toMatchObject({ id: by.id, reason: `its path belongs to lab ${claimed.id}`, running: true });
    expect(await service.client.getProjectStatus({ lab: claimed.lab })).toMatchObject({ exists: true, right: "own" });
    await expect(service.client.destroyProject({ lab: by.lab })).rejects.toMatchObject({ code: "operation_not_allowed" });
    expect([await nodes(one), await nodes(two)]).toEqual([1, 1]);
    await restart(() => writeFile(by.definition, text));
    expect(await quarantined(by)).toBeUndefined();
  }
});

test("a lab that loses its definition while the service runs ends its console streams", hangs, async () => {
  const own = at("one");
  const console = await service.client.openConsole({ lab: own.lab, node: "h1" });
  console.on("error", () => {}).resume();
  expect(await exec(own.name, "echo there")).toContain("there");
  expect(console.destroyed).toBe(false);
  await rm(own.definition);
  await expect.poll(() => console.destroyed, { timeout: 30_000 }).toBe(true);
  expect(await nodes(own)).toBe(1);
});
