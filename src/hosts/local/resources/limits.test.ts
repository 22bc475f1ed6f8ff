import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Operation, Step } from "../../../engine/model/plan.ts";
import { planLab } from "../../../engine/plan/plan-lab.ts";
import { programSources } from "../setup/programs/build-program.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { type ControlGroups, probeControlGroups } from "./control-groups.ts";
import { groupsSettled, type LabGroups, makeLabGroups, removeLabGroups, sweepLabGroups } from "./lab-groups.ts";
import { capacityRules, ceilings, freeMemory, machineMemory } from "./machine-capacity.ts";

let local: TestLocalHost;
let groups: ControlGroups;
const path = "/limits";
const lab = (a: string) =>
  labOf(`
name: limits
nodes:
  a: {template: linux, ${a}}
  b: {template: linux}
  c: {template: pc}
links: [["a:eth0", "b:eth0"]]
`);

const final = "ram: 256, cpu: 0.2";

beforeAll(async () => {
  groups = await probeControlGroups();
  local = await testLocalHost();
  await local.deploy(path, lab("ram: 64"));
});

afterAll(async () => {
  await local[Symbol.asyncDispose]();
});

async function power(step: Step & { readonly node: string }): Promise<void> {
  const nodes = Object.fromEntries((await local.session.observe(path))!.nodes.map(({ id, name }) => [name, id]));
  const reason = { code: "requested", text: "" } as const;
  const action = { id: "0", of: "0", op: "update", kind: "node", key: step.node, disruption: "none", affects: [], changes: [] } as const;
  const operation: Operation = { ...action, reason, prune: false, step };
  await local.session.apply(path, [operation], { ids: { nodes, networks: {}, links: {} }, step: () => undefined });
}

async function status(name: string) {
  const found = (await local.session.status(path)).nodes.find((node) => node.name === name);
  if (found === undefined) throw new Error(`no node ${name}`);
  return found;
}

const sh = (node: string, script: string) => local.exec(path, node, "sh", "-c", script);

/** A process that uses `mib` MiB at once. */
const take = (mebibytes: number) => `dd if=/dev/zero of=/dev/null bs=${mebibytes}M count=1`;

describe("the machine's control groups", () => {
  test("are reported with a reason for each missing controller, and none is used if the administrator disables them", async () => {
    for (const name of ["cpu", "memory", "pids", "usage", "freeze"] as const) {
      expect(groups[name] === undefined, name).toBe(groups.why[name] !== undefined);
    }
    const none = await probeControlGroups("none");
    expect(none).toEqual({ hierarchies: [], why: expect.objectContaining({ memory: "LABWRIGHT_CGROUP is none" }) });
  });

  test("give all labs together the share of one busy process on each processor", (context) => {
    const { cpu } = groups;
    if (cpu?.version !== 1) return context.skip(groups.why.cpu ?? "version 2 has weights, which are the administrator's");
    expect(Number(readFileSync(join(groups.hierarchies[cpu.hierarchy]!.base, "cpu.shares"), "utf8"))).toBe(1024 * availableParallelism());
  });
});

describe("a node with a memory limit", () => {
  test("loses the process that wants more, and no other", async (context) => {
    if (groups.memory === undefined) return context.skip(groups.why.memory);
    const hog = await sh("a", `sleep 1000 & ${take(200)}; kill -0 $! && echo alive; kill $!`);
    expect(hog.stdout).toBe("alive\n");
    expect(hog.stderr).toMatch(/[Kk]illed/);
    expect(await sh("b", take(200))).toMatchObject({ code: 0 });
  });

  test("takes a new one while it runs", async (context) => {
    if (groups.memory === undefined) return context.skip(groups.why.memory);
    const { plan } = await local.deploy(path, lab("ram: 256"));
    expect(plan.operations.map(({ step, disruption }) => [step.do, disruption])).toEqual([["update-node", "none"]]);
    expect(await sh("a", take(150))).toMatchObject({ code: 0 });
  });
});

test("the log of a node that ended because its memory was exhausted names the reason", async (context) => {
  if (groups.memory === undefined) return context.skip(groups.why.memory);
  const digest = `${local.paths.holder}.digest`;
  const built = existsSync(digest) ? readFileSync(digest, "utf8") : "";
  if (built !== (await programSources("holder"))) return context.skip("the installed holder is of other sources: run set-up");
  await local.deploy(
    "/hungry",
    labOf(`name: hungry\nnodes:\n  h: {template: linux, ram: 64, exec: ["exec ${take(200)}"]}\n  x: {template: linux, exec: ["exit 3"]}\n`),
  );
  const nodes = await eventually(
    "both have failed",
    30_000,
    async () => (await local.session.status("/hungry")).nodes,
    (all) => all.every((node) => node.status === "failed"),
  );
  expect(nodes.map((node) => node.exit_code)).toEqual([137, 3]);
  const [hungry, other] = await Promise.all(nodes.map(({ id }) => local.session.consoleLog!("/hungry", id)));
  expect(hungry).toContain("[labwright: the node's memory was exhausted, and the kernel killed a program: raise its ram]");
  expect(other).not.toContain("memory");
  await local.deploy("/hungry", null);
});

describe("a node with a CPU limit", () => {
  test("gets that share and no more, and the status shows it", async (context) => {
    if (groups.cpu === undefined || groups.usage === undefined) return context.skip(groups.why.cpu ?? groups.why.usage);
    await local.deploy(path, lab(final));
    await sh("a", "(while :; do :; done) > /dev/null 2>&1 & (while :; do :; done) > /dev/null 2>&1 &");
    // A busy machine may give less, but never more.
    await eventually(
      "load",
      60_000,
      () => status("a"),
      ({ cpu_percent }) => cpu_percent !== undefined && cpu_percent > 1,
    );
    const readings: number[] = [];
    for (let i = 0; i < 3; i++) {
      const before = (await status("a")).cpu_percent;
      const next = await eventually(
        "another reading",
        30_000,
        () => status("a"),
        ({ cpu_percent }) => cpu_percent !== before,
      );
      readings.push(next.cpu_percent ?? 0);
    }
    expect(Math.max(...readings)).toBeLessThan(60);
    await sh("a", "kill -9 -1");
  });
});

/** From its second second on. */
const measured = (node: string) =>
  eventually(
    `the usage of ${node} is known`,
    20_000,
    () => status(node),
    ({ memory_bytes }) => memory_bytes !== undefined,
  );

test("a node's status shows its memory, and asking more often does not read more often", async (context) => {
  if (groups.memory === undefined) return context.skip(groups.why.memory);
  const first = await measured("b");
  expect(first.memory_bytes).toBeGreaterThan(10_000);
  expect(first.memory_bytes).toBeLessThan(1024 * 1024 * 1024);
  const [one, two] = [await local.session.status(path), await local.session.status(path)];
  expect(one.nodes.map(({ memory_bytes }) => memory_bytes)).toEqual(two.nodes.map(({ memory_bytes }) => memory_bytes));
});

test("a node that was stopped has neither memory nor load, though the last reading is kept for a while", async (context) => {
  if (groups.memory === undefined) return context.skip(groups.why.memory);
  await measured("c");
  await power({ do: "stop", node: "c", mode: 1 });
  const stopped = await status("c");
  expect(stopped).not.toHaveProperty("memory_bytes");
  expect(stopped).not.toHaveProperty("cpu_percent");
  await power({ do: "start", node: "c" });
});

test("a node has at most its number of processes, independent of the others", async (context) => {
  if (groups.pids === undefined) return context.skip(groups.why.pids);
  const sleeper = "sleep 1000 > /dev/null 2>&1 < /dev/null &";
  const bomb = await sh("c", `i=0; while [ $i -lt 400 ]; do ${sleeper} i=$((i+1)); done`);
  expect(bomb).toMatchObject({ code: 2, stderr: expect.stringContaining("can't fork") });
  const count = Number((await sh("c", "set -- /proc/[0-9]*; echo $#")).stdout);
  expect(count).toBeGreaterThan(240);
  expect(count).toBeLessThanOrEqual(258);
  expect((await sh("a", "sleep 0 & sleep 0 & wait; echo well")).stdout).toBe("well\n");
  await power({ do: "stop", node: "c", mode: 1 });
  await power({ do: "start", node: "c" });
  expect((await sh("c", "echo back")).stdout).toBe("back\n");
});

describe("a node that hibernates", () => {
  test("is suspended, keeps its processes and memory, and continues unchanged when it is resumed", async () => {
    await sh("b", "echo remembered > /tmp/memory; (while :; do echo . >> /tmp/ticks; sleep 0.01; done) > /dev/null 2>&1 &");
    await power({ do: "stop", node: "b", mode: 2 });
    expect(await status("b")).toMatchObject({ status: "suspended" });
    expect(await status("a")).toMatchObject({ status: "running" });
    await expect(sh("b", "true")).rejects.toMatchObject({ code: "node_not_running" });
    expect((await local.deploy(path, lab(final))).plan.operations).toEqual([]);
    // Also a service that comes later knows.
    await local.reopen();
    expect(await status("b")).toMatchObject({ status: "suspended" });
    await power({ do: "start", node: "b" });
    expect(await status("b")).toMatchObject({ status: "running" });
    const ticks = async () => Number((await sh("b", "wc -l < /tmp/ticks")).stdout);
    const before = await ticks();
    await eventually("its process goes on", 30_000, ticks, (now) => now > before);
    expect((await sh("b", "cat /tmp/memory")).stdout).toBe("remembered\n");
  });

  test("can be stopped as it is, and its memory is gone", async () => {
    for (const mode of [0, 1, 3] as const) {
      await power({ do: "stop", node: "b", mode: 2 });
      await power({ do: "stop", node: "b", mode });
      expect(await status("b")).toMatchObject({ status: "stopped" });
      await power({ do: "start", node: "b" });
      expect((await sh("b", "cat /tmp/memory")).code).toBe(1);
    }
  });
});

describe("a machine without room", () => {
  const more = (start: boolean) =>
    labOf(`name: more\nnodes:\n  x: {template: linux, ram: 2048, start: ${start}}\n  y: {template: linux, ram: 2048, start: ${start}}\n`);

  test("blocks the plan and refuses the start, with both figures, and what runs goes on", async () => {
    const before = process.env["LABWRIGHT_MEMORY_RESERVE"];
    const { total } = machineMemory(groups);
    process.env["LABWRIGHT_MEMORY_RESERVE"] = String(total - 1024);
    try {
      await local.reopen();
      // Without a limit, the declared memory is meaningless, and nodes need the memory of their template.
      const [words, needs] = (await local.session.capabilities()).features.memoryLimit
        ? ["4\\.0 GiB", 4096]
        : ["\\d+ MiB", expect.any(Number)];
      await expect(local.deploy("/more", more(true))).rejects.toMatchObject({
        code: "host_error",
        message: expect.stringMatching(new RegExp(`^the nodes that would start need ${words} of memory, \\d+ MiB are free$`)),
        data: { host: { needs_mib: needs } },
      });
      const rules = await local.session.rules();
      const plan = planLab({ desired: more(true), observed: await local.session.observe("/more"), rules, prune: true, replace: false });
      expect(plan.applicable).toBe(false);
      expect(plan.blocked.map(({ reason, affects }) => [reason.code, affects])).toEqual([["no_memory", ["x", "y"]]]);
      expect((await local.deploy("/more", more(false))).plan.applicable).toBe(true);
      expect(await status("b")).toMatchObject({ status: "running" });
    } finally {
      if (before === undefined) delete process.env["LABWRIGHT_MEMORY_RESERVE"];
      else process.env["LABWRIGHT_MEMORY_RESERVE"] = before;
      await local.reopen();
      await local.deploy("/more", null);
    }
  });

  test("allows more memory for nodes than it has, if its administrator allows that", () => {
    const memory = { total: 1000, available: 900 };
    expect(freeMemory(memory, { reserve: 100, overcommit: 1 }, 500)).toBe(400);
    expect(freeMemory(memory, { reserve: 100, overcommit: 3 }, 500)).toBe(2200);
    expect(freeMemory({ total: 1000, available: 150 }, { reserve: 100, overcommit: 1 }, 0)).toBe(50);
    expect(freeMemory(memory, { reserve: 100, overcommit: 1 }, 5000)).toBe(0);
    expect(capacityRules({ LABWRIGHT_MEMORY_RESERVE: "0", LABWRIGHT_MEMORY_OVERCOMMIT: "1.5" }, 1000)).toEqual({
      reserve: 0,
      overcommit: 1.5,
    });
    expect(() => capacityRules({ LABWRIGHT_MEMORY_OVERCOMMIT: "half" }, 1000)).toThrow(
      "LABWRIGHT_MEMORY_OVERCOMMIT must be a number of at least 1",
    );
  });

  test("never gives one lab all processes, and all labs together leave some", () => {
    const most = Number(readFileSync("/proc/sys/kernel/pid_max", "utf8"));
    for (const nodes of [1, 100, 500, 100_000]) {
      const { labProcesses, machineProcesses } = ceilings(nodes, machineMemory(groups), { reserve: 256, overcommit: 1 });
      expect(labProcesses).toBeLessThanOrEqual(0.75 * most);
      expect(machineProcesses).toBeLessThanOrEqual(most - 1024);
    }
  });
});

test("nothing of a lab is left in the control groups when it is gone", async () => {
  const observed = await local.session.observe(path);
  const inGroups = () => groups.hierarchies.some(({ base }) => readable(`${base}/${observed!.id}/cgroup.procs`));
  expect(inGroups()).toBe(groups.hierarchies.length > 0);
  await local.deploy(path, null);
  await groupsSettled();
  expect(inGroups()).toBe(false);
});

test("groups of labs that ended while no service ran are swept, and those of labs that live or begin are not", async (context) => {
  if (groups.hierarchies.length === 0) return context.skip(Object.values(groups.why)[0]);
  const most = ceilings(1, machineMemory(groups), { reserve: 256, overcommit: 1 });
  // Apart from those of labs that others of this machine are making just now.
  const apart = { ...groups, hierarchies: groups.hierarchies.map((one) => ({ ...one, base: `${one.base}-sweep-${process.pid}` })) };
  const [gone, lives] = [
    await makeLabGroups(apart, randomUUID(), undefined, most),
    await makeLabGroups(apart, randomUUID(), undefined, most),
  ];
  const there = (lab: LabGroups) => lab.directories.every((directory) => readable(`${directory}/lab/cgroup.procs`));
  const sleeper = spawn("sleep", ["1000"]);
  try {
    for (const directory of [...gone.directories, ...lives.directories]) mkdirSync(`${directory}/7`);
    for (const directory of lives.directories) writeFileSync(`${directory}/lab/cgroup.procs`, String(sleeper.pid));
    await sweepLabGroups(apart);
    expect([there(gone), there(lives)]).toEqual([true, true]);
    await sweepLabGroups(apart, -60_000);
    await groupsSettled();
    expect([there(gone), there(lives)]).toEqual([false, true]);
  } finally {
    sleeper.kill("SIGKILL");
    removeLabGroups(lives);
    removeLabGroups(gone);
    await groupsSettled();
  }
});

test("the page cache of a lab's nodes does not outlive the lab's groups", async (context) => {
  const { memory } = groups;
  if (memory === undefined) return context.skip(groups.why.memory);
  if (!isWritable("/var/tmp")) return context.skip("nothing can be written to /var/tmp");
  const most = ceilings(1, machineMemory(groups), { reserve: 256, overcommit: 1 });
  const apart = { ...groups, hierarchies: groups.hierarchies.map((one) => ({ ...one, base: `${one.base}-cache-${process.pid}` })) };
  const [gone, stays] = [
    await makeLabGroups(apart, randomUUID(), undefined, most),
    await makeLabGroups(apart, randomUUID(), undefined, most),
  ];
  const usage = memory.version === 1 ? "memory.usage_in_bytes" : "memory.current";
  const used = () => Number(readFileSync(join(apart.hierarchies[memory.hierarchy]!.base, usage), "utf8"));
  const [mebibyte, file] = [1024 * 1024, join("/var/tmp", `labwright-cache-${randomUUID()}`)];
  try {
    const node = join(gone.directories[memory.hierarchy]!, "7");
    mkdirSync(node);
    const script = 'echo 0 > "$0/cgroup.procs" && exec dd if=/dev/zero of="$1" bs=1M count=32 conv=fsync status=none';
    execFileSync("sh", ["-c", script, node, file]);
    if (used() < 32 * mebibyte) return context.skip("files of /var/tmp are not cached in the group of who writes them");
    removeLabGroups(gone);
    await groupsSettled();
    expect(used()).toBeLessThan(16 * mebibyte);
  } finally {
    rmSync(file, { force: true });
    removeLabGroups(gone);
    removeLabGroups(stays);
    await groupsSettled();
  }
});

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readable(file: string): boolean {
  try {
    readFileSync(file);
    return true;
  } catch {
    return false;
  }
}
