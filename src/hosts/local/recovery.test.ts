import { existsSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lives } from "./holder/identity.ts";
import { holderProcesses } from "./holder/processes.ts";
import { localHost } from "./host.ts";
import { eventually, labOf, noIds, type TestLocalHost, testLocalHost } from "./testing/test-local-host.fixture.ts";

let local: TestLocalHost;
beforeEach(async () => {
  local = await testLocalHost();
});
afterEach(() => local[Symbol.asyncDispose]());

const two = labOf("name: t\nnodes: {a: {template: linux}, b: {template: linux}}\nlinks: [['a:eth0', 'b:eth0']]");

async function powers(path = "/t"): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries((await local.session.status(path)).nodes.map(({ name, status }) => [name, status]));
}

async function deployed(): Promise<{ readonly dir: string; readonly pid: number }> {
  const { applied } = await local.deploy("/t", two);
  await eventually(
    "both run",
    30_000,
    () => powers(),
    (all) => Object.values(all).every((one) => one === "running"),
  );
  return { dir: join(local.paths.run, applied.labId ?? ""), pid: (await local.sandbox("/t")).pid };
}

/** Runs a power step of the driver. */
async function power(op: "start" | "stop", ...nodes: readonly string[]): Promise<void> {
  const ids = Object.fromEntries((await local.session.observe("/t"))?.nodes.map(({ id, name }) => [name, id]) ?? []);
  const operations = nodes.map((node) => ({
    id: `${op} ${node}`,
    of: node,
    op,
    kind: "node" as const,
    key: node,
    reason: { code: "requested" as const, text: "" },
    disruption: "none" as const,
    affects: [],
    changes: [],
    prune: false,
    step: op === "start" ? { do: "start" as const, node } : { do: "stop" as const, node, mode: 1 as const },
  }));
  await local.session.apply("/t", operations, { ids: { ...noIds, nodes: ids }, step: () => undefined });
}

describe("a lab that another release of Labwright started", () => {
  let pid: number;
  let id: string;
  beforeEach(async () => {
    const { dir, pid: holder } = await deployed();
    pid = holder;
    id = dir.slice(local.paths.run.length + 1);
    const record = join(dir, "holder.json");
    await writeFile(record, (await readFile(record, "utf8")).replace(/"version":\d+/, '"version":99'));
    await local.reopen();
  });

  test("has its real status, and refuses other changes with a remedy", async () => {
    expect(await powers()).toEqual({ a: "running", b: "running" });
    const words = /another release of Labwright \(its holder, process \d+, speaks protocol 99.*stop all its nodes/;
    const definition = () => readFile(join(local.paths.state, "labs", id, "lab.json"), "utf8");
    const before = await definition();
    for (const refused of [() => power("stop", "a"), () => power("start", "a"), () => local.session.console("/t", "1")]) {
      await expect(refused()).rejects.toMatchObject({ code: "host_error", message: expect.stringMatching(words) });
    }
    const changed = labOf("name: t\nnodes: {a: {template: linux}, b: {template: linux}}");
    await expect(local.deploy("/t", changed)).rejects.toMatchObject({ code: "host_error", message: expect.stringMatching(words) });
    expect(await powers()).toEqual({ a: "running", b: "running" });
    expect(await definition()).toBe(before);
  });

  test("ends when all its nodes are stopped, keeps their disks, and starts again under this release", async () => {
    await power("stop", "a", "b");
    expect(await powers()).toEqual({ a: "stopped", b: "stopped" });
    expect(await readdir(local.paths.run)).toEqual([]);
    await power("start", "a", "b");
    await eventually(
      "both run",
      30_000,
      () => powers(),
      (all) => Object.values(all).every((one) => one === "running"),
    );
    expect((await local.sandbox("/t")).pid).not.toBe(pid);
  });

  test("ends when it is destroyed", async () => {
    await local.deploy("/t", null);
    expect(await local.session.labs()).toEqual([]);
    expect((await holderProcesses()).filter((one) => one.pid === pid)).toEqual([]);
    expect(await readdir(local.paths.run)).toEqual([]);
  });

  test("that ends by itself has ended for the service too", async () => {
    process.kill(pid, "SIGKILL");
    await eventually(
      "both failed",
      30_000,
      () => powers(),
      (all) => Object.values(all).every((one) => one === "failed"),
    );
    await power("start", "a", "b");
  });
});

async function lost(): Promise<readonly string[]> {
  return (await local.session.status("/t")).nodes.flatMap(({ name, lost: reason }) => (reason === undefined ? [] : [`${name}: ${reason}`]));
}

test("a lab whose run directory was removed while no service ran is ended with a warning, and starts again", async () => {
  const { pid } = await deployed();
  const [holder] = (await holderProcesses()).filter((one) => one.pid === pid);
  await local.host.close();
  await rm(local.paths.run, { recursive: true });
  await mkdir(local.paths.run);
  await local.reopen();
  expect(local.warnings.join("\n")).toContain(`its holder, process ${pid}, is missing from`);
  expect(await lives({ ...holder!, version: 1 })).toBe(false);
  expect(await powers()).toEqual({ a: "stopped", b: "stopped" });
  expect(await lost()).toEqual(["a: host_restart", "b: host_restart"]);
  await power("start", "a");
  // Nodes that ended with a restart of the machine are stopped, even if another node of the lab has started since.
  await eventually(
    "a runs",
    30_000,
    () => powers(),
    ({ a }) => a === "running",
  );
  expect(await powers()).toEqual({ a: "running", b: "stopped" });
  expect(await lost()).toEqual(["b: host_restart"]);
  await power("stop", "b");
  expect(await lost()).toEqual([]);
});

test("the ids of all labs include a lab in quarantine, with and without its directory", async () => {
  const { applied } = await local.deploy("/t", two);
  const id = applied.labId!;
  expect(await local.host.labIds?.()).toEqual([id]);
  const directory = join(local.paths.state, "labs", id);
  await rm(join(directory, "lab.json"));
  await local.reopen();
  expect(await local.host.quarantined?.()).toMatchObject([{ id, running: true }]);
  expect(await local.host.labIds?.()).toEqual([id]);
  await rm(directory, { recursive: true });
  await local.reopen();
  expect(await local.host.labIds?.()).toEqual([id]);
  await local.session.quarantine?.remove(id);
  expect(await local.host.labIds?.()).toEqual([]);
});

test("drafts of the users' file that a crash left are removed at the next start", async () => {
  const draft = join(local.paths.state, "users.json.0123456789ab.tmp");
  const other = join(local.paths.state, "users.json.mine.tmp");
  await Promise.all([draft, other].map((file) => writeFile(file, "")));
  await local.reopen();
  expect((await readdir(local.paths.state)).filter((name) => name.endsWith(".tmp"))).toEqual(["users.json.mine.tmp"]);
});

test("a draft that is written while the host opens is not removed", async () => {
  await local.host.close();
  const opened = localHost({ paths: local.paths });
  const draft = join(local.paths.state, "service.json.0123456789ab.tmp");
  writeFileSync(draft, "");
  await opened.quarantined?.();
  await opened.close();
  expect(existsSync(draft)).toBe(true);
});

test("polls and starts during repeated kills of the holder never remove each other's files", async () => {
  const { dir } = await deployed();
  let polling = true;
  const pollers = Array.from({ length: 4 }, async () => {
    while (polling) {
      // A read may find the lab between two starts; only the state at the end counts.
      await powers().catch(() => undefined);
      await delay(5); // without a pause, the pollers would take the processor from the starts
    }
  });
  for (let round = 0; round < 5; round++) {
    process.kill((await local.sandbox("/t")).pid, "SIGKILL");
    for (let tries = 0; ; tries++) {
      try {
        await power("start", "a", "b");
        break;
      } catch (error) {
        // A start during the end of the lab fails; the next start works.
        if (tries === 5) throw error;
      }
    }
    const { pid } = await local.sandbox("/t");
    expect((await readdir(dir)).sort()).toEqual(["holder.json", "holder.log", "holder.sock"]);
    // A process that the holder has just forked has its name for a moment.
    await expect
      .poll(async () =>
        (await holderProcesses()).filter((one) => one.role === "init" && one.lab === dir.split("/").at(-1)).map((one) => one.pid),
      )
      .toEqual([pid]);
  }
  polling = false;
  await Promise.all(pollers);
  await eventually(
    "both run",
    30_000,
    () => powers(),
    (all) => Object.values(all).every((one) => one === "running"),
  );
});

test("two starts of one lab at once make one sandbox", async () => {
  await local.deploy("/t", labOf("name: t\nnodes: {a: {template: linux, start: false}, b: {template: linux, start: false}}"));
  await Promise.all([power("start", "a"), power("start", "b"), power("start", "a", "b")]);
  await eventually(
    "both run",
    30_000,
    () => powers(),
    (all) => Object.values(all).every((one) => one === "running"),
  );
  expect((await readdir(local.paths.run)).length).toBe(1);
});

test("a destroy during polls and another adoption of the lab leaves nothing", async () => {
  await deployed();
  await local.reopen();
  const looks = Array.from({ length: 20 }, () => powers().catch((error: unknown) => error));
  const gone = local.deploy("/t", null);
  const later = Array.from({ length: 20 }, () => powers().catch((error: unknown) => error));
  await gone;
  for (const answer of await Promise.all([...looks, ...later])) {
    if (answer instanceof Error) expect(answer).toMatchObject({ code: expect.stringMatching(/^(lab_not_found|host_error)$/) });
  }
  expect(await local.session.labs()).toEqual([]);
  expect(await readdir(local.paths.run)).toEqual([]);
  expect(await readdir(join(local.paths.state, "labs"))).toEqual([]);
});
