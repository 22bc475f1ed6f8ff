import { execFile, execFileSync, spawn as startProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { encodeRequest } from "../holder/wire.ts";
import type { RunResult } from "../machine/machine.ts";
import {
  boot,
  childrenOf,
  failure,
  mountsBelow,
  namespacesOf,
  processesIn,
  processesOf,
  reading,
  readText,
  sandboxBench,
  stateOf,
  until,
} from "./sandbox.fixture.ts";
import { createSandbox, openSandbox } from "./sandbox-client.ts";

const root = process.getuid?.() === 0;
const { newLab, create, add, node, lower } = sandboxBench("lab");

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
    // A process that the holder has just forked has its name for a moment.
    const lines = () =>
      processesOf(options.lab)
        .map((line) => line.replace(/^\d+ /, "").trim())
        .sort();
    await expect.poll(lines).toEqual([`labwright-holder lab=${options.lab} init`, `labwright-holder lab=${options.lab} node=7`]);
    expect((await sandbox.info()).lab).toBe(options.lab);
  });

  test("answers again after it had no files for a connection, even if no client has left meanwhile", async () => {
    const options = newLab();
    const sandbox = await create(options);
    const files = async (limit: string) => promisify(execFile)("prlimit", ["--pid", String(sandbox.pid), `--nofile=${limit}`]);
    const { stdout: before } = await promisify(execFile)("prlimit", [
      "--pid",
      String(sandbox.pid),
      "--nofile",
      "--noheadings",
      "--raw",
      "-o",
      "SOFT,HARD",
    ]);
    const open = new Set(readdirSync(`/proc/${sandbox.pid}/fd`).map(Number));
    const [next] = Array.from({ length: open.size + 1 }, (_, fd) => fd).filter((fd) => !open.has(fd));
    await files(`${next}:`);
    const refused = connect(join(options.dir, "holder.sock"));
    await once(refused, "connect");
    // The listener leaves the loop when there is no file for the connection.
    const listens = () =>
      readdirSync(`/proc/${sandbox.pid}/fdinfo`).some((fd) => /^tfd: +3 /m.test(readFileSync(`/proc/${sandbox.pid}/fdinfo/${fd}`, "utf8")));
    await until(() => !listens());
    await files(before.trim().split(/\s+/).join(":"));
    await expect.poll(listens).toBe(true);
    expect((await sandbox.info()).lab).toBe(options.lab);
    refused.destroy();
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
    await until(() => childrenOf(sandbox.pid).length === 2);
    const everyone = [sandbox.pid, ...childrenOf(sandbox.pid)];
    const namespaces = new Set(everyone.flatMap(namespacesOf));
    expect(namespaces.size).toBe(9);
    // Open, their numbers are theirs: the kernel gives those of namespaces that are gone to others, such as those of tests beside this one.
    const held = everyone.flatMap((pid) => ["net", "pid", "mnt"].map((kind) => openSync(`/proc/${pid}/ns/${kind}`, "r")));
    try {
      process.kill(sandbox.pid, "SIGKILL");
      await until(() => !existsSync(`/proc/${sandbox.pid}`) || readText(`/proc/${sandbox.pid}/stat`).includes(") Z "));
      await until(() => processesIn(namespaces).length === 0); // the machine's init reaps the last one
    } finally {
      for (const fd of held) closeSync(fd);
    }
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
    add(sandbox);
    await until(async () => (await stateOf(sandbox, 1))?.state === "running" && (await stateOf(sandbox, 2))?.state === "failed");
    expect(await stateOf(sandbox, 2)).toMatchObject({ exitCode: 9, pid: 0 });
    const viewer = reading(await sandbox.console(1));
    await viewer.until("said at boot");
    await viewer.until("READY> ");
  });

  test("is not adopted under another lab's name", async () => {
    const options = newLab();
    await create(options);
    await expect(openSandbox({ ...options, lab: "another" })).rejects.toEqual(failure("host_error", /belongs to lab sandbox-test/));
  });

  test("of another protocol is left alone, and the error explains how to end it", async () => {
    const options = newLab();
    const sandbox = await create(options);
    const record = join(options.dir, "holder.json");
    const text = readFileSync(record, "utf8");
    writeFileSync(record, text.replace('"version":1', '"version":99'));
    await expect(openSandbox(options)).rejects.toEqual(failure("host_error", new RegExp(`protocol 99.*kill ${sandbox.pid},`)));
    writeFileSync(record, text);
    expect(await openSandbox(options)).not.toBeNull();
  });

  test("without a holder names the command that builds one", async () => {
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
        await sandbox.spawn([${JSON.stringify(node(1, { disk: join(disks, "1"), lower: [layer, lower()] }))}]);
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
    await expect(asking).rejects.toEqual(failure("host_error", /did not finish run/));
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
    // Nobody has opened a console, so no shell runs.
    expect(pss.length).toBe(20);
    // kB. Sanitizers need memory of their own.
    if (process.env.LABWRIGHT_SANITIZE !== "1") expect(pss.reduce((sum, each) => sum + each) / 20).toBeLessThan(150);
    await sandbox.stop(
      nodes.map(({ id }) => id),
      "graceful",
      60_000,
    );
    expect(childrenOf(sandbox.pid)).toEqual([]);
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
