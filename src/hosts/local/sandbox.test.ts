import { execFileSync, spawn as startProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Failure } from "../../contract/errors.ts";
import { encodeRequest } from "./holder/wire.ts";
import { idRange as idMap } from "./idmap.ts";
import { findImages } from "./images.ts";
import { localPaths } from "./paths.ts";
import { Readiness } from "./readiness.ts";
import type { NodeSpawn, NodeState, RunResult, Sandbox, SandboxOptions } from "./sandbox.ts";
import { createSandbox, openSandbox } from "./sandbox-client.ts";
import { buildHolder } from "./setup/holder.ts";
import { testDirectory } from "./test-directory.ts";

const root = process.getuid?.() === 0;

let top: string;
let holder: string;
let lower: string;
let serial = 0;
const open = new Set<Sandbox>();

beforeAll(async () => {
  top = await testDirectory("sandbox");
  holder = join(top, "holder");
  expect(await buildHolder({ out: holder })).toEqual({ built: true });
  const paths = localPaths(process.env, process.getuid?.() ?? 0);
  const base = (await findImages(paths.images)).find((image) => image.name === "base");
  if (base === undefined) throw new Error(`no image base in ${paths.images}: npm run setup makes it`);
  // A copy: any user may pass to it, wherever the images are.
  lower = join(top, "base");
  execFileSync("cp", ["-a", base.rootfs, lower]);
});

afterEach(async () => {
  for (const sandbox of open) await sandbox.destroy();
  open.clear();
});

afterAll(() => {
  try {
    expect(processesOf(`sandbox-test-${process.pid}-`)).toEqual([]);
    expect(mountsBelow(top)).toEqual([]);
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
});

function newLab(): SandboxOptions {
  const lab = `sandbox-test-${process.pid}-${++serial}`;
  const dir = join(top, lab);
  mkdirSync(dir, { mode: 0o700 });
  return { holder, dir, lab, ...(root ? { idMap } : {}) };
}

async function create(options: SandboxOptions = newLab()): Promise<Sandbox> {
  const sandbox = await createSandbox(options);
  open.add(sandbox);
  return sandbox;
}

function node(id: number, more: Partial<NodeSpawn> = {}): NodeSpawn {
  return {
    id,
    hostname: `n${id}`,
    lower: [lower],
    disk: join(top, `disk-${serial}-${id}`),
    files: [],
    env: { PS1: "READY> " },
    boot: ["/bin/true"],
    console: ["/bin/sh"],
    ...more,
  };
}

async function boot(sandbox: Sandbox, nodes: readonly NodeSpawn[]): Promise<readonly { readonly id: number; readonly pid: number }[]> {
  const spawned = await sandbox.spawn(nodes);
  await sandbox.release(nodes.map(({ id }) => id));
  await until(async () => (await sandbox.info()).nodes.every(({ state }) => state !== "booting"));
  return spawned;
}

async function stateOf(sandbox: Sandbox, id: number): Promise<NodeState | undefined> {
  return (await sandbox.info()).nodes.find((each) => each.id === id);
}

async function until(condition: () => boolean | Promise<boolean>, limitMs = 10_000): Promise<void> {
  for (const end = Date.now() + limitMs; !(await condition()); await delay(5))
    if (Date.now() > end) throw new Error(`not within ${limitMs} ms: ${condition}`);
}

/** What a console said so far, and waiting for more. */
function reading(stream: Duplex): { readonly text: () => string; readonly until: (wanted: string) => Promise<void> } {
  let text = "";
  stream.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  return {
    text: () => text,
    until: (wanted) =>
      until(() => text.includes(wanted)).catch((error) =>
        Promise.reject(new Error(`${wanted} did not come, but ${text.slice(-500)}`, { cause: error })),
      ),
  };
}

function processesOf(lab: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const argv = readText(`/proc/${pid}/cmdline`).split("\0");
      return argv[0] === "labwright-holder" && argv[1]?.startsWith(`lab=${lab}`) ? [`${pid} ${argv.join(" ")}`] : [];
    });
}

/** Processes in any of these namespaces (texts such as net:[4026531840]). */
function processesIn(namespaces: ReadonlySet<string>): string[] {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && namespacesOf(Number(pid)).some((ns) => namespaces.has(ns)));
}

function namespacesOf(pid: number): string[] {
  return ["net", "pid", "mnt"].flatMap((kind) => {
    try {
      return [readlinkSync(`/proc/${pid}/ns/${kind}`)];
    } catch {
      return []; // ended just now
    }
  });
}

function mountsBelow(dir: string): string[] {
  const tables = new Set(readdirSync("/proc").flatMap((pid) => (/^\d+$/.test(pid) ? [readText(`/proc/${pid}/mountinfo`)] : [])));
  return [...tables].flatMap((table) => table.split("\n").filter((line) => line.includes(dir)));
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // a process that ended just now
  }
}

function childrenOf(pid: number): number[] {
  return readText(`/proc/${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number);
}

const failure = (code: string, words: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(words) }) as unknown as Failure;

describe("a lab", () => {
  test("carries packets between two nodes joined in the fabric", async () => {
    const sandbox = await create();
    const spawned = await sandbox.spawn([node(1), node(2)]);
    const [a, b] = spawned.map(({ pid }) => pid);
    const wire = await sandbox.run(["ip", "-batch", "-"], `link add name eth1 netns ${a} type veth peer name eth1 netns ${b}\n`);
    expect(wire).toEqual({ code: 0, stdout: "", stderr: "" });
    await sandbox.release([1, 2]);
    for (const id of [1, 2]) {
      const up = await sandbox.exec(id, ["sh", "-c", `ip addr add 10.0.0.${id}/24 dev eth1 && ip link set eth1 up`]);
      expect(up).toEqual({ code: 0, stdout: "", stderr: "" });
    }
    const ping = await sandbox.exec(1, ["ping", "-c", "1", "-W", "5", "10.0.0.2"]);
    expect(ping.stdout).toContain("1 received");
    expect((await sandbox.exec(2, ["hostname"])).stdout).toBe("n2\n");
  });

  test("names itself and its nodes on their command lines", async () => {
    const options = newLab();
    const sandbox = await create(options);
    await sandbox.spawn([node(7)]);
    const lines = processesOf(options.lab).map((line) => line.replace(/^\d+ /, "").trim());
    expect(lines.sort()).toEqual([`labwright-holder lab=${options.lab} init`, `labwright-holder lab=${options.lab} node=7`]);
    expect((await sandbox.info()).lab).toBe(options.lab);
  });

  test("is the only one in its directory", async () => {
    const options = newLab();
    await create(options);
    await expect(createSandbox(options)).rejects.toEqual(failure("host_error", /lives in .* already/));
  });

  test("ends whole when its init is killed: no process, namespace or mount is left", async () => {
    const options = newLab();
    const sandbox = await create(options);
    await boot(sandbox, [node(1, { boot: ["sh", "-c", "sleep 1000 & sleep 1000 &"] }), node(2)]);
    const everyone = [sandbox.pid, ...childrenOf(sandbox.pid)];
    expect(everyone).toHaveLength(3);
    const namespaces = new Set(everyone.flatMap(namespacesOf));
    expect(namespaces.size).toBe(9);
    process.kill(sandbox.pid, "SIGKILL");
    await until(() => !existsSync(`/proc/${sandbox.pid}`) || readText(`/proc/${sandbox.pid}/stat`).includes(") Z "));
    await until(() => processesIn(namespaces).length === 0); // the machine's init reaps the last one
    expect(processesOf(options.lab)).toEqual([]);
    expect(mountsBelow(options.dir)).toEqual([]);
    expect(await openSandbox(options)).toBeNull();
    expect(readdirSync(options.dir)).toEqual(["holder.log"]);
    await expect(sandbox.info()).rejects.toEqual(failure("host_error", /no connection .* info/));
  });

  test("outlives the client that made it, and is adopted with its states and scrollback", async () => {
    const options = newLab();
    const script = `
      import { createSandbox } from ${JSON.stringify(new URL("./sandbox-client.ts", import.meta.url).href)};
      const sandbox = await createSandbox(${JSON.stringify(options)});
      await sandbox.spawn(${JSON.stringify([node(1, { boot: ["echo", "said at boot"] }), node(2, { boot: ["sh", "-c", "exit 9"] })])});
      await sandbox.release([1, 2]);
      console.log("released");
      setInterval(() => {}, 1000);
    `;
    const client = startProcess(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    await once(client.stdout, "data");
    const exited = once(client, "exit");
    client.kill("SIGKILL");
    await exited;

    const sandbox = await openSandbox(options);
    if (sandbox === null) throw new Error("the lab died with its client");
    open.add(sandbox);
    await until(async () => (await stateOf(sandbox, 1))?.state === "running" && (await stateOf(sandbox, 2))?.state === "failed");
    expect(await stateOf(sandbox, 2)).toMatchObject({ exitCode: 9, pid: 0 });
    const viewer = reading(await sandbox.console(1));
    await viewer.until("said at boot");
    await viewer.until("READY> ");
  });

  test("is not adopted under another lab's name", async () => {
    const options = newLab();
    await create(options);
    await expect(openSandbox({ ...options, lab: "another" })).rejects.toEqual(failure("host_error", /lives lab sandbox-test/));
  });

  test("of another protocol is left alone, and it is said how to end it", async () => {
    const options = newLab();
    const sandbox = await create(options);
    const record = join(options.dir, "holder.json");
    const text = readFileSync(record, "utf8");
    writeFileSync(record, text.replace('"version":1', '"version":99'));
    await expect(openSandbox(options)).rejects.toEqual(failure("host_error", new RegExp(`protocol 99.*kill ${sandbox.pid} `)));
    writeFileSync(record, text);
    expect(await openSandbox(options)).not.toBeNull();
  });

  test("without a holder says what makes one", async () => {
    await expect(createSandbox({ ...newLab(), holder: "/no/such/holder" })).rejects.toEqual(
      failure("host_error", /no lab holder at \/no\/such\/holder: labwright setup/),
    );
  });

  test("has a socket below a path longer than a socket address", async () => {
    const options = newLab();
    const dir = join(options.dir, "long".repeat(40));
    mkdirSync(dir);
    const sandbox = await create({ ...options, dir });
    expect((await sandbox.info()).nodes).toEqual([]);
  });

  test.runIf(root)("needs no privilege where it maps only the user's own id", async () => {
    const uid = 54_321;
    const { idMap: _, ...options } = newLab();
    const disks = join(options.dir, "disks");
    const layer = join(options.dir, "layer");
    mkdirSync(join(layer, "etc"), { recursive: true });
    mkdirSync(disks);
    execFileSync("chown", ["-R", `${uid}:${uid}`, options.dir]);
    const script = `
      import { createSandbox } from ${JSON.stringify(new URL("./sandbox-client.ts", import.meta.url).href)};
      // After the import: the sources may lie where only root reads.
      process.setgroups([]);
      process.setgid(${uid});
      process.setuid(${uid});
      const sandbox = await createSandbox(${JSON.stringify(options)});
      try {
        await sandbox.spawn([${JSON.stringify(node(1, { disk: join(disks, "1"), lower: [layer, lower] }))}]);
        await sandbox.release([1]);
        const result = await sandbox.exec(1, ["sh", "-c", "id -u; hostname; echo kept > /etc/file; mount -t tmpfs none /root 2>&1"]);
        console.log(JSON.stringify(result));
      } finally {
        await sandbox.destroy();
      }
    `;
    const stdout = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
    const result = JSON.parse(stdout) as RunResult;
    expect(result).toMatchObject({ code: 1, stdout: expect.stringMatching(/^0\nn1\nmount: .*(denied|permitted)/) });
    expect(readFileSync(join(disks, "1/upper/etc/file"), "utf8")).toBe("kept\n");
    expect(processesOf(options.lab)).toEqual([]);
  });

  test.runIf(root)("is refused to root without a range of ids", async () => {
    const { idMap: _, ...options } = newLab();
    await expect(createSandbox(options)).rejects.toEqual(failure("host_error", /range of ids/));
  });

  test("that dies in a request is named in its failure", async () => {
    const sandbox = await create();
    const asking = sandbox.run(["sleep", "1000"]);
    await until(() => childrenOf(sandbox.pid).length === 1);
    process.kill(sandbox.pid, "SIGKILL");
    await expect(asking).rejects.toEqual(failure("host_error", /broke off run/));
  });

  test("feeds and drains programs of the fabric with megabytes at once", async () => {
    const sandbox = await create();
    const text = "0123456789abcdef".repeat(256 * 1024);
    const result = await sandbox.run(["cat"], text);
    expect(result.code).toBe(0);
    expect(result.stdout === text).toBe(true);
    expect(await sandbox.run(["sh", "-c", "echo out; echo err >&2; exit 3"])).toEqual({ code: 3, stdout: "out\n", stderr: "err\n" });
    expect((await sandbox.run(["no-such-program"])).code).toBe(127);
  });
});

describe("a node", () => {
  test("waits at the barrier, boots, and runs", async () => {
    const sandbox = await create();
    const changes: string[] = [];
    const watch = await sandbox.watch((change) => changes.push(change === "gone" ? change : change.state));
    await sandbox.spawn([node(1, { boot: ["sh", "-c", "sleep 0.1"] })]);
    expect(await stateOf(sandbox, 1)).toMatchObject({ state: "waiting" });
    await sandbox.release([1]);
    await until(() => changes.includes("running"));
    await sandbox.stop([1], "graceful", 5_000);
    await until(() => changes.includes("stopped"));
    expect(changes).toEqual(["waiting", "booting", "running", "stopping", "stopped"]);
    await sandbox.destroy();
    await until(() => changes.includes("gone"));
    watch.close();
  });

  test("whose boot fails is failed with that code, and what it said can be read", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { boot: ["sh", "-c", "echo no such luck; sleep 1000 & exit 42"] }), node(2, { boot: ["/bin/nothing"] })]);
    expect(await stateOf(sandbox, 1)).toMatchObject({ state: "failed", exitCode: 42, pid: 0 });
    expect(await stateOf(sandbox, 2)).toMatchObject({ state: "failed", exitCode: 127 });
    expect(await sandbox.tail(1)).toBe("no such luck\r\n");
    expect(await sandbox.tail(2)).toContain("/bin/nothing: No such file");
    await expect(sandbox.console(1)).rejects.toEqual(failure("node_not_running", /does not run/));
    await expect(sandbox.console(3)).rejects.toEqual(failure("node_not_found", /no such node/));
  });

  test("that cannot be made is told with its step, and the others are made", async () => {
    const sandbox = await create();
    const attempt = sandbox.spawn([node(1), node(2, { lower: ["/no/such/layer"] })]);
    await expect(attempt).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringMatching(/1 of 2 nodes .*node 2: overlay.*No such file/),
      data: { failed: [{ id: 2 }] },
    });
    expect(await stateOf(sandbox, 1)).toMatchObject({ state: "waiting" });
    expect(await stateOf(sandbox, 2)).toMatchObject({ state: "failed", problem: expect.stringContaining("overlay") });
    await expect(sandbox.spawn([node(1)])).rejects.toEqual(failure("host_error", /there already/));
  });

  test("that fails with many others is told with a few of them and their number", async () => {
    const sandbox = await create();
    const nodes = Array.from({ length: 40 }, (_, i) => node(i + 1, { lower: [`/no/such/layer/${"x".repeat(1000)}`] }));
    const failed = await sandbox.spawn(nodes).catch((error: Failure) => error);
    expect(failed).toMatchObject({ message: expect.stringMatching(/^40 of 40 nodes .*; and 37 more$/) });
    expect(JSON.stringify(failed).length).toBeLessThan(2_000);
  });

  test("that is killed from outside is failed with the signal's code", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1)]);
    process.kill(childrenOf(sandbox.pid)[0]!, "SIGKILL");
    await until(async () => (await stateOf(sandbox, 1))?.state === "failed");
    expect(await stateOf(sandbox, 1)).toMatchObject({ exitCode: 137 });
  });

  test("stops gracefully, by force after the grace, and at once", async () => {
    const sandbox = await create();
    const stubborn = ["sh", "-c", "trap 'echo asked to end' TERM; trap '' HUP; echo trapped; while :; do sleep 0.05; done"];
    await boot(sandbox, [node(1, { console: stubborn }), node(2), node(3)]);
    const viewer = await sandbox.console(1);
    await until(async () => (await sandbox.tail(1)).includes("trapped"));
    await sandbox.stop([2], "graceful", 60_000);
    expect(await stateOf(sandbox, 2)).toMatchObject({ state: "stopped", exitCode: 0 });
    const begin = Date.now();
    await sandbox.stop([3], "kill", 60_000);
    await sandbox.stop([1], "graceful", 300);
    expect(Date.now() - begin).toBeGreaterThanOrEqual(300);
    for (const id of [1, 3]) expect(await stateOf(sandbox, id)).toMatchObject({ state: "stopped", exitCode: 137 });
    expect(childrenOf(sandbox.pid)).toEqual([]);
    await sandbox.stop([1, 2, 99], "kill", 0);
    viewer.destroy();
  });

  test("is the same object for as long as it is told as before, and so are all together", async () => {
    const sandbox = await create({ ...newLab() });
    await boot(sandbox, [node(1), node(2)]);
    await until(async () => (await sandbox.info()).nodes.every(({ state }) => state === "running"));
    const { nodes } = await sandbox.info();
    expect((await sandbox.info()).nodes).toBe(nodes);
    await sandbox.stop([2], "kill", 0);
    const after = (await sandbox.info()).nodes;
    expect(after[0]).toBe(nodes[0]);
    expect(after.map(({ state }) => state)).toEqual(["running", "stopped"]);
    expect((await sandbox.info([2])).nodes).toEqual([after[1]]);
    expect((await sandbox.info()).nodes).toBe(after);
  });

  test("is suspended with all that are named or with none, and goes on where it was", async () => {
    const sandbox = await create({ ...newLab(), processes: 200 });
    // A process whose name no other has, in each node.
    const name = `sleep\0${1_000_000 + process.pid}\0`;
    const nodes = [1, 2].map((id) => node(id, { boot: ["/bin/sh", "-c", `sleep ${1_000_000 + process.pid} & exit 0`] }));
    await boot(sandbox, nodes);
    const stopped = () =>
      readdirSync("/proc")
        .filter((pid) => /^\d+$/.test(pid) && readText(`/proc/${pid}/cmdline`) === name)
        .map((pid) => /^State:\t(\w)/m.exec(readText(`/proc/${pid}/status`))?.[1] === "T");
    const states = async () => (await sandbox.info()).nodes.map(({ state }) => state);
    await until(() => stopped().length === 2);
    // Without control groups each node takes a process of its own to be suspended: where there is room for one only, none is.
    const most = (processes: number) => execFileSync("prlimit", ["--pid", String(sandbox.pid), `--nproc=${processes}:`]);
    if (root) {
      let refusals = 0;
      for (let processes = 1; processes < 200; processes++) {
        most(processes);
        const problem = await sandbox.freeze([1, 2], "freeze").catch((error: Failure) => error);
        if (problem === undefined) break;
        expect(problem.message).toContain("Resource temporarily unavailable");
        expect(await states()).toEqual(["running", "running"]);
        expect(stopped()).toEqual([false, false]);
        refusals++;
      }
      expect(refusals).toBeGreaterThan(1);
      most(200);
    } else await sandbox.freeze([1, 2], "freeze");
    expect(await states()).toEqual(["suspended", "suspended"]);
    await until(() => stopped().every((one) => one));
    await sandbox.freeze([1, 2, 2, 7], "thaw");
    expect(await states()).toEqual(["running", "running"]);
    await until(() => stopped().every((one) => !one));
  });

  test("that powers itself off is stopped", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1)]);
    await sandbox.exec(1, ["poweroff"]);
    await until(async () => (await stateOf(sandbox, 1))?.state === "stopped");
    expect(await stateOf(sandbox, 1)).toMatchObject({ exitCode: 0 });
  });

  test("keeps its disk over a stop and starts with a fresh scrollback", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { boot: ["sh", "-c", "echo first > /etc/kept; echo first run"] })]);
    await sandbox.stop([1], "kill", 0);
    expect(await sandbox.tail(1)).toContain("first run");
    await boot(sandbox, [node(1, { boot: ["cat", "/etc/kept"] })]);
    await until(async () => (await sandbox.tail(1)).startsWith("first\r\n"));
  });

  test("gets its files with their modes, and a planted link leads nowhere outside", async () => {
    const sandbox = await create();
    const outside = join(top, `victim-${serial}`);
    writeFileSync(outside, "untouched");
    chmodSync(outside, 0o666);
    const linked = node(1);
    await boot(sandbox, [linked]);
    await sandbox.exec(1, [
      "sh",
      "-c",
      `ln -s ${outside} /etc/trap; ln -s ${top} /etc/dir; rm -r /tmp; ln -s ${top} /run2; ln /etc/passwd /etc/hard`,
    ]);
    await sandbox.stop([1], "kill", 0);
    const files = [
      { path: "/etc/trap", mode: 0o640, text: "mine" },
      { path: "/etc/hard", mode: 0o600, text: "own" },
      { path: "/etc/deep/er/file", mode: 0o755, text: "#!/bin/sh\necho ran $HOW\n" },
    ];
    await boot(sandbox, [{ ...linked, files, env: { HOW: "well" } }]);
    expect((await sandbox.exec(1, ["stat", "-c", "%a %F", "/etc/trap"])).stdout).toBe("640 regular file\n");
    expect((await sandbox.exec(1, ["/etc/deep/er/file"])).stdout).toBe("ran well\n");
    expect((await sandbox.exec(1, ["cat", "/etc/passwd"])).stdout).toContain("root:");
    expect(readFileSync(outside, "utf8")).toBe("untouched");
    await sandbox.stop([1], "kill", 0);
    const through = sandbox.spawn([{ ...linked, files: [{ path: "/etc/dir/planted", mode: 0o644, text: "" }] }]);
    await through.catch(() => undefined); // whether it is made inside or refused: not outside
    expect(existsSync(join(top, "planted"))).toBe(false);
  });

  test("whose root replaced its mount points by links still gets its own", async () => {
    const sandbox = await create();
    const trap = join(top, `mount-trap-${serial}`);
    mkdirSync(trap);
    const linked = node(1);
    const upper = join(linked.disk, "upper");
    mkdirSync(upper, { recursive: true });
    symlinkSync(trap, join(upper, "run"));
    if (root) execFileSync("chown", ["-hR", `${idMap.base}:${idMap.base}`, linked.disk]);
    await sandbox.spawn([linked]).catch((error: Failure) => expect(error.message).toMatch(/mount \/run/));
    expect(mountsBelow(trap)).toEqual([]);
    expect(lstatSync(trap).isDirectory()).toBe(true);
  });

  test("is confined: root in it cannot mount, load, look out, or see others", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1), node(2, { boot: ["sh", "-c", "sleep 1234 &"] })]);
    const inside = async (line: string) => {
      const { code, stdout, stderr } = await sandbox.exec(1, ["sh", "-c", line]);
      return { code, text: stdout + stderr };
    };
    expect(await inside("id -u")).toEqual({ code: 0, text: "0\n" });
    for (const line of [
      "mount -t tmpfs none /mnt 2>&1 || mount -t tmpfs none /root",
      "umount /proc/kallsyms",
      "mount -o remount,rw /sys",
      "insmod /bin/busybox",
      "unshare -U true",
      "dmesg",
      "reboot -f",
      "echo b > /proc/sysrq-trigger",
      "echo x > /proc/sys/kernel/core_pattern",
      "mknod /root/sda b 8 0 && cat /root/sda",
      "cat /proc/1/environ",
      "ls /proc/1/root/",
      "readlink -v /proc/1/fd/3 || cat /proc/1/mem",
    ]) {
      const result = await inside(line);
      expect(result, line).toMatchObject({
        code: expect.not.stringMatching(/^0$/),
        text: expect.stringMatching(/denied|permitted|read-only|nonexistent/i),
      });
      expect(result.code, line).not.toBe(0);
    }
    expect((await inside("cat /proc/kallsyms /proc/keys | wc -c")).text).toBe("0\n");
    expect((await inside("ps")).text).not.toContain("1234");
    expect((await inside("ls -d /work /home /var/lib/dpkg")).code).not.toBe(0);
    expect((await inside("ls /sys/class/net")).text).toBe("lo\n");
    expect((await inside("echo 1 > /proc/sys/net/ipv4/ip_forward && cat /proc/sys/net/ipv4/ip_forward")).text).toBe("1\n");
    expect((await inside("tty; ls /dev/pts; echo x > /dev/null")).code).toBe(0);
    expect((await inside("grep -E 'NoNewPrivs|Seccomp:' /proc/self/status")).text).toBe("NoNewPrivs:\t1\nSeccomp:\t2\n");
    const viewer = await sandbox.console(1);
    await until(() => childrenOf(childrenOf(sandbox.pid)[0]!).length > 0);
    const consoleStatus = childrenOf(childrenOf(sandbox.pid)[0]!).map((pid) => readText(`/proc/${pid}/status`));
    expect(consoleStatus.every((status) => status.includes("Seccomp:\t2"))).toBe(true);
    if (root) expect(consoleStatus[0]).toMatch(new RegExp(`^Uid:\\t${idMap.base}\\t`, "m"));
    viewer.destroy();
  });

  test("runs programs with input and a time-out, and ends them when the caller leaves", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1)]);
    expect(await sandbox.exec(1, ["wc", "-c"], { stdin: "x".repeat(1_000_000) })).toMatchObject({ code: 0, stdout: "1000000\n" });
    expect(await sandbox.exec(1, ["sh", "-c", "kill -9 $$"])).toMatchObject({ code: 137 });
    expect(await sandbox.exec(1, ["nothing-here"])).toMatchObject({ code: 127, stderr: expect.stringContaining("nothing-here") });
    await expect(sandbox.exec(1, ["sh", "-c", "echo so far; sleep 4321"], { timeoutMs: 100 })).rejects.toMatchObject({
      code: "host_timeout",
      data: { stdout: "so far\n" },
    });
    // Something left in the background with the pipes open does not hold the answer back.
    expect(await sandbox.exec(1, ["sh", "-c", "sleep 1000 & echo done"])).toMatchObject({ code: 0, stdout: "done\n" });
    await expect(sandbox.exec(1, ["yes", "y".repeat(1000)])).rejects.toEqual(failure("host_error", /wrote more than/));
    const leaving = new AbortController();
    const left = sandbox.exec(1, ["sh", "-c", "echo > /tmp/started; sleep 5432"], { signal: leaving.signal });
    await until(async () => (await sandbox.exec(1, ["ls", "/tmp/started"])).code === 0);
    leaving.abort();
    await expect(left).rejects.toMatchObject({ name: "AbortError" });
    await until(async () => !/4321|5432/.test((await sandbox.exec(1, ["ps"])).stdout));
  });

  test("a program that writes more than its caller allows is ended", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1)]);
    const mostOutputBytes = 4096;
    const writes = (count: number) => ["sh", "-c", `head -c ${count} /dev/zero; [ ${count} -le 4096 ] || sleep 6543`];
    expect(await sandbox.exec(1, writes(4096), { mostOutputBytes })).toMatchObject({ code: 0 });
    const over = failure("host_error", /^sh wrote more than 4096 bytes and was killed/);
    await expect(sandbox.exec(1, writes(4097), { mostOutputBytes, timeoutMs: 20_000 })).rejects.toEqual(over);
    await expect(sandbox.run(writes(4097), "", { mostOutputBytes, timeoutMs: 20_000 })).rejects.toEqual(over);
    await until(async () => !(await sandbox.exec(1, ["ps"])).stdout.includes("6543"));
  });

  test("a ready check that its node's root made talk without end is not ready, whatever its exit code", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1), node(2)]);
    const candidate = (id: number, bytes: number) => ({ node: id, startedAt: 1, argv: ["sh", "-c", `head -c ${bytes} /dev/zero; true`] });
    const ready = await new Readiness().ask(sandbox, [candidate(1, 4096), candidate(2, 100_000)], 1, 20_000);
    expect([...ready]).toEqual([
      [1, true],
      [2, false],
    ]);
  });
});

describe("a console", () => {
  test("echoes, gives late viewers the scrollback, and is shared by two", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1)]);
    const first = await sandbox.console(1);
    const one = reading(first);
    await one.until("READY> ");
    first.write("echo $((6*7))\n");
    await one.until("42\r\n");
    const second = await sandbox.console(1);
    const two = reading(second);
    await two.until("42\r\n");
    second.write("echo $((20+3)); tty; stty size\n");
    await Promise.all([one.until("23\r\n/dev/pts/0\r\n24 80\r\n"), two.until("23\r\n/dev/pts/0\r\n24 80\r\n")]);
    await sandbox.resize(1, 132, 43);
    first.write("stty size\n");
    await two.until("43 132\r\n");
    const ends = [first, second].map((stream) => once(stream, "end"));
    await sandbox.stop([1], "kill", 0);
    await Promise.all(ends);
  });

  test("starts its program again when it ends", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { console: ["sh", "-c", "echo session of $$; read line"] })]);
    const stream = await sandbox.console(1);
    const viewer = reading(stream);
    await viewer.until("session of");
    stream.write("\n");
    await until(() => viewer.text().split("session of").length === 3);
    stream.destroy();
  });

  test("loses nothing to a viewer that reads, and is not held up by one that does not", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { console: [] })]);
    const write = (count: number) => `stty -onlcr < /dev/pts/0; yes 0123456789abcde | head -n ${count} > /dev/pts/0`;
    const lines = 10 * 65_536; // 10 MB
    const attentive = await sandbox.console(1);
    let received = 0;
    attentive.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    expect((await sandbox.exec(1, ["sh", "-c", write(lines)], { timeoutMs: 20_000 })).code).toBe(0);
    await until(() => received >= lines * 16);
    expect(received).toBe(lines * 16);
    attentive.destroy();

    const idle = await sandbox.console(1);
    idle.pause();
    const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readText(`/proc/${sandbox.pid}/status`))?.[1]);
    const before = memory();
    expect((await sandbox.exec(1, ["sh", "-c", write(lines)], { timeoutMs: 20_000 })).code).toBe(0);
    expect(memory() - before).toBeLessThan(1024);
    const late = reading(idle.resume());
    await late.until("bytes of output lost]");
    expect(late.text().length).toBeLessThan(lines * 16);
    idle.destroy();
  });

  test("that nobody in the node reads does not keep viewers that left", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { console: [], boot: ["sh", "-c", "stty raw < /dev/pts/0"] })]);
    const fds = () => readdirSync(`/proc/${sandbox.pid}/fd`).length;
    const before = fds();
    for (let i = 0; i < 3; i++) {
      const stream = await sandbox.console(1);
      stream.write(Buffer.alloc(200_000, "x"));
      await delay(20);
      stream.destroy();
    }
    await until(() => fds() <= before);
  });
});

describe.runIf(root)("a node whose console program is the node itself", () => {
  test("runs it once as its user in its directory, on a terminal that is its own, and ends with its exit code", async () => {
    const sandbox = await create();
    const script = "id; pwd; tty; echo out > /dev/stdout; read word; exit 7";
    await boot(sandbox, [node(1, { console: ["/bin/sh", "-c", script], main: { workdir: "/srv/deep/er", uid: 33, gids: [44, 55] } })]);
    const screen = reading(await sandbox.console(1));
    await screen.until("out\r\n");
    expect(screen.text()).toContain("uid=33 gid=44 groups=44,55");
    expect(screen.text()).toContain("/srv/deep/er\r\n/dev/pts/0\r\n");
    expect(await stateOf(sandbox, 1)).toMatchObject({ state: "running" });
    (await sandbox.console(1)).write("go\n");
    await until(async () => (await stateOf(sandbox, 1))?.state === "failed");
    expect(await stateOf(sandbox, 1)).toMatchObject({ pid: 0, exitCode: 7 });
  });

  test("is stopped with code 0 when the program ends well, without boot commands too", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { boot: [], console: ["/bin/true"], main: { workdir: "/", uid: 0, gids: [0] } })]);
    await until(async () => (await stateOf(sandbox, 1))?.state === "stopped");
    expect(await stateOf(sandbox, 1)).toMatchObject({ pid: 0, exitCode: 0 });
  });

  test("says what kept the program from starting", async () => {
    const sandbox = await create();
    const nodes = [
      node(1, { console: ["/no/such"], main: { workdir: "/", uid: 0, gids: [0] } }),
      node(2, { main: { workdir: "/etc/passwd", uid: 0, gids: [0] } }),
    ];
    await boot(sandbox, nodes);
    await until(async () => (await sandbox.info()).nodes.every(({ state }) => state === "failed"));
    expect((await sandbox.info()).nodes.map(({ exitCode }) => exitCode)).toEqual([127, 126]);
    expect(await sandbox.tail(1)).toContain("labwright: /no/such: No such file");
    expect(await sandbox.tail(2)).toContain("labwright: /etc/passwd: Not a directory");
  });

  test("is stopped as any other", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { console: ["/bin/sleep", "1000"], main: { workdir: "/", uid: 33, gids: [33] } })]);
    await sandbox.stop([1], "graceful", 10_000);
    expect(await stateOf(sandbox, 1)).toMatchObject({ state: "stopped", pid: 0 });
  });
});

describe("the holder", () => {
  test("survives malformed requests", async () => {
    const options = newLab();
    const sandbox = await create(options);
    const good = encodeRequest("spawn", [1, "a", "/b", 1, "/c", 1, "/f", 384, "text", 0, 0, 0, 0, 0]);
    const cases = [
      Buffer.alloc(4),
      Buffer.from([255, 255, 255, 255, 0]),
      Buffer.from([1, 0, 0, 0, 7]),
      encodeRequest("nonsense", []),
      encodeRequest("spawn", [1, "a"]),
      encodeRequest("spawn", [-1, "a", "/b", 1, "/c", 0, 0, 0, 0, 0, 0]),
      encodeRequest("spawn", [1, "a", "relative", 1, "/c", 0, 0, 0, 0, 0, 0]),
      encodeRequest("spawn", [1, "a", "/b", 4_000_000_000, "/c", 0, 0, 0, 0, 0, 0]),
      encodeRequest("spawn", [1, "a", "/b", 1, "/c", 1, "/f", 99999, "text", 0, 0, 0, 0, 0]),
      encodeRequest("run", [0, 0, ""]),
      encodeRequest("run", [0, 1, "nul\0inside", ""]),
      encodeRequest("release", [1, "x"]),
      encodeRequest("release", [2, 1]),
      encodeRequest("resize", [1, 99999, 1]),
      ...Array.from({ length: 60 }, (_, i) =>
        Buffer.concat([le(good.length - 4), good.subarray(4).map((byte, at) => (at === i * 2 ? byte ^ 0xff : byte))]),
      ),
    ];
    for (const bytes of cases) {
      const socket = connect(join(options.dir, "holder.sock"));
      socket.on("error", () => {});
      const closed = new Promise((resolve) => socket.on("close", resolve));
      socket.resume().write(bytes);
      await closed;
    }
    expect((await sandbox.info()).nodes.filter(({ pid }) => pid !== 0)).toEqual([]);
    // Half a request, then gone; and one that comes byte by byte.
    const half = connect(join(options.dir, "holder.sock"));
    half.write(good.subarray(0, 20));
    await once(half, "connect");
    half.destroy();
    const slow = connect(join(options.dir, "holder.sock"));
    const answered = once(slow, "close");
    let answer = "";
    slow.on("data", (chunk) => {
      answer += chunk;
    });
    for (const byte of encodeRequest("info", [])) {
      slow.write(Buffer.from([byte]));
      await delay(1);
    }
    await answered;
    expect(answer).toContain(options.lab);
    expect((await sandbox.info()).nodes.filter(({ pid }) => pid !== 0)).toEqual([]);
  });

  test("spawns 200 nodes while others are served, in little memory", async () => {
    const sandbox = await create();
    const nodes = Array.from({ length: 200 }, (_, i) => node(i + 1));
    const spawning = boot(sandbox, nodes);
    await sandbox.info();
    const spawned = await spawning;
    expect(spawned.map(({ id }) => id)).toEqual(nodes.map(({ id }) => id));
    expect(new Set(spawned.map(({ pid }) => pid)).size).toBe(200);
    expect((await sandbox.info()).nodes.every(({ state }) => state === "running")).toBe(true);
    const pss = childrenOf(sandbox.pid)
      .slice(0, 20)
      .flatMap((pid) => [pid, ...childrenOf(pid)])
      .map(pssOf);
    // Nobody has looked at a console, so no shell runs.
    expect(pss.length).toBe(20);
    expect(pss.reduce((sum, each) => sum + each) / 20).toBeLessThan(150);
    await sandbox.stop(
      nodes.map(({ id }) => id),
      "graceful",
      20_000,
    );
    expect(childrenOf(sandbox.pid)).toEqual([]);
  });

  test("is compiled once for a source", async () => {
    expect(await buildHolder({ out: holder })).toEqual({ built: false });
  });
});

function le(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Kilobytes. */
function pssOf(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readText(`/proc/${pid}/smaps_rollup`))?.[1]);
}
