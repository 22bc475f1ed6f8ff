import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Failure } from "../../../contract/errors.ts";
import { idRange as idMap } from "../machine/idmap.ts";
import { Readiness } from "../readiness/readiness.ts";
import { boot, childrenOf, failure, mountsBelow, reading, readText, sandboxBench, stateOf, until } from "./sandbox.fixture.ts";
import { spawnedAtOnce } from "./spawn-nodes.ts";

const root = process.getuid?.() === 0;
const { newLab, create, node, top, serial } = sandboxBench("node");

describe("a node", () => {
  test("waits at the barrier, boots, and runs", async () => {
    const sandbox = await create();
    const changes: string[] = [];
    const watch = await sandbox.watch((change) => changes.push(change === "gone" ? change : change.state));
    await sandbox.spawn([node(1, { boot: ["sh", "-c", "sleep 0.1"] })]);
    expect(await stateOf(sandbox, 1)).toMatchObject({ state: "waiting" });
    await sandbox.release([1]);
    await until(() => changes.includes("running"));
    await sandbox.stop([1], "graceful", 60_000);
    await until(() => changes.includes("stopped"));
    expect(changes).toEqual(["waiting", "booting", "running", "stopping", "stopped"]);
    await sandbox.destroy();
    await until(() => changes.includes("gone"));
    watch.close();
  });

  test("whose boot fails is failed with that code, and its output can be read", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { boot: ["sh", "-c", "echo no such luck; sleep 1000 & exit 42"] }), node(2, { boot: ["/bin/nothing"] })]);
    expect(await stateOf(sandbox, 1)).toMatchObject({ state: "failed", exitCode: 42, pid: 0 });
    expect(await stateOf(sandbox, 2)).toMatchObject({ state: "failed", exitCode: 127 });
    expect(await sandbox.tail(1)).toBe("no such luck\r\n");
    expect(await sandbox.tail(2)).toContain("/bin/nothing: No such file");
    await expect(sandbox.console(1)).rejects.toEqual(failure("node_not_running", /does not run/));
    await expect(sandbox.console(3)).rejects.toEqual(failure("node_not_found", /no such node/));
  });

  test("that cannot be created is reported with the failed step, and the others are created", async () => {
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

  test("that fails with many others is reported with a few of them and their number", async () => {
    const sandbox = await create();
    const nodes = Array.from({ length: 40 }, (_, i) => node(i + 1, { lower: [`/no/such/layer/${"x".repeat(1000)}`] }));
    const failed = await sandbox.spawn(nodes).catch((error: Failure) => error);
    expect(failed).toMatchObject({ message: expect.stringMatching(/^40 of 40 nodes .*; and 37 more$/) });
    expect(JSON.stringify(failed).length).toBeLessThan(2_000);
  });

  test("that cannot be made is among the last that are begun, and so are those of the chunk beside its own", async () => {
    const sandbox = await create();
    const known = async () => (await sandbox.info()).nodes.map(({ id }) => id);
    const both = 2 * spawnedAtOnce;
    // One of each of the two chunks that are on their way at once: whichever ends first has one.
    const layerless = new Set([1, both]);
    const all = Array.from({ length: 300 }, (_, i) => node(i + 1, layerless.has(i + 1) ? { lower: ["/no/such/layer"] } : {}));
    await expect(sandbox.spawn(all)).rejects.toEqual(
      failure("host_error", new RegExp(`^2 of 300 nodes .*node 1: overlay.*node ${both}: overlay`)),
    );
    expect(await known()).toEqual(all.slice(0, both).map(({ id }) => id));
  });

  test("whose disk cannot be created fails its whole chunk, and no chunk after the concurrent one is created", async () => {
    const sandbox = await create();
    const file = join(top(), `no-directory-${serial()}`);
    writeFileSync(file, "");
    const all = Array.from({ length: 300 }, (_, i) => node(i + 1, i === 0 ? { disk: join(file, "disk") } : {}));
    const spawned: number[] = [];
    await expect(sandbox.spawn(all, ({ id }) => spawned.push(id))).rejects.toThrow(/ENOTDIR|EEXIST/);
    const beside = all.slice(spawnedAtOnce, 2 * spawnedAtOnce).map(({ id }) => id);
    expect((await sandbox.info()).nodes.map(({ id }) => id)).toEqual(beside);
    expect(spawned.sort((a, b) => a - b)).toEqual(beside);
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

  test("is the same object while its state is unchanged, and so is the list of all states", async () => {
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

  test("is suspended with all named nodes or with none, and continues unchanged", async () => {
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
    // Without control groups, suspending needs a process for each node: if there is room for only one, no node is suspended.
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
    const outside = join(top(), `victim-${serial()}`);
    writeFileSync(outside, "untouched");
    chmodSync(outside, 0o666);
    const linked = node(1);
    await boot(sandbox, [linked]);
    await sandbox.exec(1, [
      "sh",
      "-c",
      `ln -s ${outside} /etc/trap; ln -s ${top()} /etc/dir; rm -r /tmp; ln -s ${top()} /run2; ln /etc/passwd /etc/hard`,
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
    expect(existsSync(join(top(), "planted"))).toBe(false);
  });

  test("whose root replaced its mount points by links still gets its own", async () => {
    const sandbox = await create();
    const trap = join(top(), `mount-trap-${serial()}`);
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
    // Of the console's program; what has just been forked becomes so.
    const statuses = () => childrenOf(childrenOf(sandbox.pid)[0]!).map((pid) => readText(`/proc/${pid}/status`));
    await until(() => statuses().length > 0 && statuses().every((status) => status.includes("Seccomp:\t2")));
    if (root) expect(statuses()[0]).toMatch(new RegExp(`^Uid:\\t${idMap.base}\\t`, "m"));
    viewer.destroy();
  });

  test("runs programs with input and a time-out, and ends them when the caller leaves", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1)]);
    expect(await sandbox.exec(1, ["wc", "-c"], { stdin: "x".repeat(1_000_000) })).toMatchObject({ code: 0, stdout: "1000000\n" });
    expect(await sandbox.exec(1, ["sh", "-c", "kill -9 $$"])).toMatchObject({ code: 137 });
    expect(await sandbox.exec(1, ["nothing-here"])).toMatchObject({ code: 127, stderr: expect.stringContaining("nothing-here") });
    // On a busy machine the shell needs a second until it writes.
    await expect(sandbox.exec(1, ["sh", "-c", "echo so far; sleep 4321"], { timeoutMs: 3_000 })).rejects.toMatchObject({
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
    const maxOutputBytes = 4096;
    const writes = (count: number) => ["sh", "-c", `head -c ${count} /dev/zero; [ ${count} -le 4096 ] || sleep 6543`];
    expect(await sandbox.exec(1, writes(4096), { maxOutputBytes })).toMatchObject({ code: 0 });
    const over = failure("host_error", /^sh wrote more than 4096 bytes and was killed/);
    await expect(sandbox.exec(1, writes(4097), { maxOutputBytes, timeoutMs: 60_000 })).rejects.toEqual(over);
    await expect(sandbox.run(writes(4097), "", { maxOutputBytes, timeoutMs: 60_000 })).rejects.toEqual(over);
    await until(async () => !(await sandbox.exec(1, ["ps"])).stdout.includes("6543"));
  });

  test("a ready check that its node's root made talk without end is not ready, whatever its exit code", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1), node(2)]);
    const candidate = (id: number, bytes: number) => ({ node: id, startedAt: 1, argv: ["sh", "-c", `head -c ${bytes} /dev/zero; true`] });
    const ready = await new Readiness().ask(sandbox, [candidate(1, 4096), candidate(2, 100_000)], 1, 60_000);
    expect([...ready]).toEqual([
      [1, true],
      [2, false],
    ]);
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

  test("reports why the program did not start", async () => {
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
    await sandbox.stop([1], "graceful", 60_000);
    expect(await stateOf(sandbox, 1)).toMatchObject({ state: "stopped", pid: 0 });
  });
});
