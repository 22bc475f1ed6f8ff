import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, open, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Failure } from "../../contract/errors.ts";
import { findImages } from "./images/images.ts";
import { runOnMachine } from "./machine/machine.ts";
import { hosts, labChecks } from "./testing/lab-checks.fixture.ts";
import { eventually, labOf, noIds, operation, type TestLocalHost, testLocalHost } from "./testing/test-local-host.fixture.ts";

describe.skipIf(process.getuid?.() !== 0)("the embedded host on this kernel", () => {
  let local: TestLocalHost;
  beforeAll(async () => {
    local = await testLocalHost();
  });
  afterAll(async () => {
    await local[Symbol.asyncDispose]();
  });

  const { reaches, power, powers, allRun } = labChecks(() => local);

  test("a lab whose init is killed leaves no process, namespace or file, has failed nodes, and starts again", async () => {
    const lab = labOf(hosts(["a", "b"], ['"a:eth0", "b:eth0"']));
    const { applied } = await local.deploy("/killed", lab);
    await allRun("/killed");
    const { pid } = await local.sandbox("/killed");
    const namespaces = new Set(await Promise.all(["net", "mnt", "pid", "user"].map((kind) => readlink(`/proc/${pid}/ns/${kind}`))));
    // Held open, because the kernel gives the inode numbers of ended namespaces to new ones, such as those of other tests.
    const held = await Promise.all(["net", "mnt", "pid", "user"].map((kind) => open(`/proc/${pid}/ns/${kind}`)));
    process.kill(pid, "SIGKILL");
    try {
      await eventually(
        "the status of the nodes is failed",
        30_000,
        () => power("/killed"),
        (all) => all.a === "failed" && all.b === "failed",
      );
      await eventually(
        "no process of it is left",
        30_000,
        () => processesIn(namespaces, applied.labId!),
        (found) => found.length === 0,
      );
    } finally {
      for (const one of held) await one.close();
    }
    await eventually(
      "its directory is gone",
      30_000,
      () => readdir(local.paths.run),
      (names) => !names.includes(applied.labId!),
    );
    await expect(local.session.console("/killed", "1")).rejects.toMatchObject({ code: "node_not_running" });

    await local.session.apply("/killed", startOperations(["a", "b"]), { ids: applied.ids, step: () => undefined });
    await allRun("/killed");
    await reaches("/killed", "a", "10.0.0.2");
    await local.deploy("/killed", null);
  });

  test("a lab survives the end of the service that started it, even by a kill, and the next service adopts it with its consoles", async () => {
    const script = `
      import { localHost } from ${JSON.stringify(new URL("./host.ts", import.meta.url).href)};
      import { planLab } from ${JSON.stringify(new URL("../../engine/plan/plan-lab.ts", import.meta.url).href)};
      const { paths, lab } = JSON.parse(process.argv[1]);
      const session = await localHost({ paths }).resume("admin");
      const plan = planLab({ desired: lab, observed: null, rules: await session.rules(), prune: false, replace: false });
      await session.apply("/orphan", plan.operations, { ids: { nodes: {}, networks: {}, links: {} }, step: () => {} });
      process.stdout.write("up");
      setInterval(() => {}, 1000);`;
    const lab = labOf(hosts(["a", "b"], ['"a:eth0", "b:eth0"']));
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, JSON.stringify({ paths: local.paths, lab })], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");

    await local.reopen();
    await allRun("/orphan");
    // The plan is empty: ids join by name, and links and power states are the same.
    const { plan } = await local.deploy("/orphan", lab);
    expect(plan.operations).toEqual([]);
    await reaches("/orphan", "a", "10.0.0.2");
    const observed = await local.session.observe("/orphan");
    const { stream } = await local.session.console("/orphan", observed!.nodes[0]!.id);
    let text = "";
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    stream.write("\recho ke''pt\r");
    await eventually(
      "the console answers",
      30_000,
      async () => text,
      (all) => all.includes("kept"),
    );
    stream.destroy();
    // The adopted lab can be changed.
    await local.deploy("/orphan", labOf(hosts(["a", "b", "c"], ['"a:eth0", "b:eth0"'])));
    await allRun("/orphan");
    await local.deploy("/orphan", null);
  });

  test("after a start that was interrupted before its nodes booted, they are stopped, and the next start starts them", async () => {
    const lab = labOf("name: t\nnodes: {a: {template: linux, start: false}, b: {template: linux}}");
    await local.deploy("/cutoff", lab);
    await powers("/cutoff", { a: "stopped", b: "running" });
    const observed = await local.session.observe("/cutoff");
    const id = Number(observed!.nodes.find(({ name }) => name === "a")!.id);
    const images = await findImages(local.paths.images);
    const disk = join(local.paths.state, "labs", observed!.id, "nodes", String(id));
    const layers = images.find(({ name }) => name === "base")!.layers;
    const sandbox = await local.sandbox("/cutoff");
    await sandbox.spawn([{ id, hostname: "a", disk, lower: layers, files: [], env: {}, boot: [], console: [] }]);
    expect(await power("/cutoff")).toEqual({ a: "starting", b: "running" });

    await local.reopen();
    expect(await power("/cutoff")).toEqual({ a: "stopped", b: "running" });
    await local.deploy("/cutoff", labOf("name: t\nnodes: {a: {template: linux, start: true}, b: {template: linux}}"));
    await allRun("/cutoff");
    await local.deploy("/cutoff", null);
  });

  test("after a reboot of the machine nodes are stopped, not failed, and start again", async () => {
    const lab = labOf(
      "name: t\nnodes: {a: {template: linux, start: true}, s: {template: switch, start: true}}\nlinks: [['a:eth0', 's:eth0']]",
    );
    const { applied } = await local.deploy("/boot", lab);
    await allRun("/boot");
    process.kill((await local.sandbox("/boot")).pid, "SIGKILL");
    await local.host.close();
    // The state after a reboot: no run directory, and another boot epoch than the recorded one.
    await rm(local.paths.run, { recursive: true });
    const file = join(local.paths.state, "labs", applied.labId!, "lab.json");
    await writeFile(file, (await readFile(file, "utf8")).replace(/"bootId": "[^"]*"/g, '"bootId": "00000000-0000-0000-0000-000000000000"'));
    await local.reopen();
    expect(await power("/boot")).toEqual({ a: "stopped", s: "stopped" });
    expect(await local.session.labs()).toContain("/boot");
    await local.deploy("/boot", lab);
    await allRun("/boot");
    await local.deploy("/boot", null);
  });

  test("a disk survives stop and start but not wipe, and wipe does not follow links that a node made", async () => {
    const lab = labOf(hosts(["a"], []));
    const { applied } = await local.deploy("/disk", lab);
    await allRun("/disk");
    const outside = join(local.paths.state, "outside");
    await writeFile(outside, "mine");
    await local.exec(
      "/disk",
      "a",
      "sh",
      "-c",
      `echo kept > /root/file; ln -s ${outside} /root/link; ln -s ${local.paths.state} /root/directory`,
    );
    const apply = (steps: readonly object[]) =>
      local.session.apply("/disk", steps.map(operation), { ids: applied.ids, step: () => undefined });
    await apply([{ do: "stop", node: "a", mode: 3 }]);
    expect(await power("/disk")).toEqual({ a: "stopped" });
    await apply([{ do: "start", node: "a" }]);
    await allRun("/disk");
    expect((await local.exec("/disk", "a", "cat", "/root/file")).stdout).toBe("kept\n");
    await apply([
      { do: "stop", node: "a", mode: 1 },
      { do: "wipe", node: "a" },
      { do: "start", node: "a" },
    ]);
    await allRun("/disk");
    expect((await local.exec("/disk", "a", "ls", "/root")).stdout.trim()).toBe("");
    expect(await readFile(outside, "utf8")).toBe("mine");

    // The lab is destroyed without wiping and created again: the disk is back.
    await local.exec("/disk", "a", "sh", "-c", "echo still > /root/file");
    await apply([{ do: "delete-lab", wipe: false }]);
    expect(await local.session.observe("/disk")).toBeNull();
    await local.deploy("/disk", lab);
    await allRun("/disk");
    expect((await local.exec("/disk", "a", "cat", "/root/file")).stdout).toBe("still\n");
    await local.deploy("/disk", null);
  });

  test("a node whose boot fails is failed with its exit code, and the others run", async () => {
    const yaml = 'name: t\nnodes:\n  good: {template: linux}\n  bad: {template: linux, exec: ["exit 7"]}\n';
    await local.deploy("/fails", labOf(yaml));
    const { nodes } = await eventually(
      "one failed",
      30_000,
      () => local.session.status("/fails"),
      (status) => status.nodes.some((node) => node.status === "failed") && status.nodes.some((node) => node.status === "running"),
    );
    expect(nodes.map(({ name, status, exit_code }) => ({ name, status, exit_code }))).toEqual([
      { name: "bad", status: "failed", exit_code: 7 },
      { name: "good", status: "running", exit_code: undefined },
    ]);
    await local.deploy("/fails", null);
  });

  test("an apply stops when the lab is locked, and reports the finished steps", async () => {
    const { applied } = await local.deploy("/lock", labOf(hosts(["a"], [])));
    const run = (steps: readonly object[], onStep: (id: string) => void = () => undefined) =>
      local.session.apply("/lock", steps.map(operation), { ids: applied.ids, step: (id, state) => state === "done" && onStep(id) });
    const locking: Promise<void>[] = [];
    const cut = await run(
      [
        { do: "update-lab", description: "one" },
        { do: "stop", node: "a", mode: 1 },
        { do: "start", node: "a" },
      ],
      (id) => {
        if (id === "0") locking.push(local.session.setLock("/lock", true));
      },
    ).catch((error: Failure) => error);
    await Promise.all(locking);
    expect(cut).toMatchObject({ code: "lab_locked_mid_apply" });
    const { applied: done, remaining } = (cut as Failure).data as { applied: string[]; remaining: string[] };
    expect([...done, ...remaining]).toEqual(["0", "1", "2"]);
    expect(done).toContain("0");
    await expect(run([{ do: "start", node: "a" }])).rejects.toMatchObject({ code: "lab_locked" });
    expect((await local.session.observe("/lock"))?.locked).toBe(true);
    await local.session.setLock("/lock", false);
    await local.deploy("/lock", null);
  });

  test("a directory that nodes cannot traverse is reported with a remedy, when a service starts and when a node starts", async () => {
    const above = dirname(local.paths.state);
    const lab = labOf("name: t\nnodes: {a: {template: linux, start: true}}");
    const words = `their ids may not pass ${above} (mode 0700); chmod o+x ${above}`;
    await chmod(above, 0o700);
    try {
      await expect(local.deploy("/closed", lab)).rejects.toMatchObject({ code: "host_error", message: expect.stringContaining(words) });
      await local.reopen();
      // A machine without control groups is reported too.
      expect(local.warnings.filter((warning) => !/^(nodes have no limit|net\.|kernel\.)/.test(warning))).toEqual([
        expect.stringContaining(words),
      ]);
    } finally {
      await chmod(above, 0o711);
    }
    await local.deploy("/closed", lab);
    await allRun("/closed");
    await local.deploy("/closed", null);
  });

  test("a full disk is reported as such, and existing files stay", async () => {
    const lab = labOf("name: t\nnodes: {a: {template: linux, start: false}}");
    await local.deploy("/full", lab);
    const directory = join(local.paths.state, "labs", (await local.session.observe("/full"))!.id);
    // The lab's directory is on a file system with almost no space.
    const kept = await readFile(join(directory, "lab.json"));
    await runOnMachine(["mount", "-t", "tmpfs", "-o", "size=16k,mode=710,gid=1000000", "none", directory]);
    try {
      await writeFile(join(directory, "lab.json"), kept);
      const more = labOf(`name: t\nnodes:\n  a: {template: linux, start: false, env: {LONG: "${"x".repeat(20_000)}"}}`);
      await expect(local.deploy("/full", more)).rejects.toMatchObject({
        code: "host_error",
        message: expect.stringMatching(/file system is full/),
      });
      expect(await readFile(join(directory, "lab.json"))).toEqual(kept);
    } finally {
      await runOnMachine(["umount", directory]);
    }
    await local.deploy("/full", null);
  });

  test("an unknown template is refused by name", async () => {
    const { applied } = await local.deploy("/refused", labOf(hosts(["a"], [])));
    const run = (step: object) => local.session.apply("/refused", [operation(step, 0)], { ids: applied.ids, step: () => undefined });
    const node = { key: "x", name: "x", template: "nope", exec: [], env: {}, attributes: {}, labels: {} };
    await expect(run({ do: "create-node", node })).rejects.toMatchObject({ code: "host_error", message: expect.stringContaining("nope") });
    await expect(
      local.session.apply("/none", [operation({ do: "start", node: "a" }, 0)], { ids: noIds, step: () => undefined }),
    ).rejects.toMatchObject({
      code: "lab_not_found",
    });
    await local.deploy("/refused", null);
  });
});

type Op = Parameters<TestLocalHost["session"]["apply"]>[1][number];

function startOperations(nodes: readonly string[]): readonly Op[] {
  return nodes.map((node, i) => operation({ do: "start", node }, i));
}

async function processesIn(namespaces: ReadonlySet<string>, lab: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const spaces = await Promise.all(["net", "mnt", "pid", "user"].map((kind) => readlink(`/proc/${pid}/ns/${kind}`).catch(() => "")));
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (spaces.some((space) => namespaces.has(space)) || command.includes(lab)) found.push(`${pid} ${command}`);
  }
  return found;
}
