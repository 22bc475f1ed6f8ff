import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lives } from "./holder/identity.ts";
import { holderProcesses } from "./holder/processes.ts";
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

/** A power step of the driver. */
async function power(op: "start" | "stop", ...nodes: readonly string[]): Promise<void> {
  const ids = Object.fromEntries((await local.session.observe("/t"))?.nodes.map(({ id, name }) => [name, id]) ?? []);
  const operations = nodes.map((node) => ({
    id: `${op} ${node}`,
    of: node,
    op,
    kind: "node" as const,
    key: node,
    reason: { code: "requested", text: "" },
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

  test("is told as it is, and refuses what it cannot do with what to do instead", async () => {
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

  test("that ends by itself is seen as ended", async () => {
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

test("a lab whose run directory was removed while no service ran is ended, told, and starts again", async () => {
  const { pid } = await deployed();
  const [holder] = (await holderProcesses()).filter((one) => one.pid === pid);
  await local.host.close();
  await rm(local.paths.run, { recursive: true });
  await mkdir(local.paths.run);
  await local.reopen();
  expect(local.warnings.join("\n")).toContain(`its holder, process ${pid}, was not to be found`);
  expect(await lives({ ...holder!, version: 1 })).toBe(false);
  expect(await powers()).toEqual({ a: "stopped", b: "stopped" });
  expect(await lost()).toEqual(["a: host_restart", "b: host_restart"]);
  await power("start", "a");
  // What the machine's restart took is stopped, also when another node of the lab has started since.
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

test("drafts of the users' file that a crash left are removed at the next start", async () => {
  const draft = join(local.paths.state, "users.json.0123456789ab.tmp");
  const other = join(local.paths.state, "users.json.mine.tmp");
  await Promise.all([draft, other].map((file) => writeFile(file, "")));
  await local.reopen();
  expect((await readdir(local.paths.state)).filter((name) => name.endsWith(".tmp"))).toEqual(["users.json.mine.tmp"]);
});

test("pollers and starts while the holder is killed again and again never take each other's files", async () => {
  const { dir } = await deployed();
  let polling = true;
  const pollers = Array.from({ length: 4 }, async () => {
    while (polling) {
      // A read may find the lab between two lives; what counts is what stands at the end.
      await powers().catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  for (let round = 0; round < 5; round++) {
    process.kill((await local.sandbox("/t")).pid, "SIGKILL");
    for (let tries = 0; ; tries++) {
      try {
        await power("start", "a", "b");
        break;
      } catch (error) {
        // A start that meets the end of the lab fails, and says so; the next one starts it.
        if (tries === 5) throw error;
      }
    }
    const { pid } = await local.sandbox("/t");
    expect((await readdir(dir)).sort()).toEqual(["holder.json", "holder.log", "holder.sock"]);
    // A process that it has just forked has its name for a moment.
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

test("a destroy while others look and the lab is adopted anew leaves nothing", async () => {
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
