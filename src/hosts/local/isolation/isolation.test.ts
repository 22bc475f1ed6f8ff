import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idRange } from "../machine/idmap.ts";
import { labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { openTun } from "../vm/tun.ts";

let local: TestLocalHost;
const lab = (name: string) =>
  labOf(`name: ${name}\nnodes:\n  a: {template: linux}\n  b: {template: linux}\nlinks: [["a:eth0", "b:eth0"]]\n`);
const sh = (script: string, path = "/one") => local.exec(path, "a", "sh", "-c", script);

beforeAll(async () => {
  // As the first virtual machine of a machine without udev has it: what can be opened from inside is tried on an open device.
  await openTun();
  local = await testLocalHost();
  await local.deploy("/one", lab("one"));
  await local.deploy("/two", lab("two"));
});

afterAll(async () => {
  await local[Symbol.asyncDispose]();
});

/** Name of each try → what came of it. */
async function tries(lab: string, node: string, ...as: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const directory = mkdtempSync(join(tmpdir(), "labwright-escapes-"));
  try {
    const program = join(directory, "escapes");
    execFileSync("cc", ["-O1", "-static", "-o", program, fileURLToPath(new URL("../../../../native/attacks/escapes.c", import.meta.url))]);
    const sandbox = await local.sandbox(lab);
    const id = Number((await local.session.observe(lab))!.nodes.find(({ name }) => name === node)!.id);
    const put = ["busybox", "sh", "-c", "busybox base64 -d > /tmp/escapes && busybox chmod 755 /tmp/escapes"];
    expect(await sandbox.exec(id, put, { stdin: readFileSync(program).toString("base64") })).toMatchObject({ code: 0, stderr: "" });
    const { code, stdout, stderr } = await sandbox.exec(id, ["/tmp/escapes", ...as], { timeoutMs: 60_000 });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return new Map(
      stdout
        .trim()
        .split("\n")
        .map((line) => [line.split(" ")[0]!, line.split(" ").slice(1).join(" ")]),
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

describe("root in a node", () => {
  test("is refused every known way out, by the kernel itself", async () => {
    const all = await tries("/one", "a");
    const worked = [...all].filter(([, result]) => result === "DONE").map(([name]) => name);
    expect(worked).toEqual([
      "+socket-inet",
      "+socket-packet",
      "+chroot",
      "+make-tap",
      "+write-own-file",
      "+link-of-node",
      "+personality-linux32",
    ]);
    expect([...all.keys()].at(-1)).toBe("type-into-terminal");
    // The filter answers these, whatever the kernel would say by itself.
    for (const name of [
      "mount-tmpfs",
      "bpf",
      "keyctl",
      "userfaultfd",
      "io_uring_setup",
      "kexec_load",
      "unshare-user",
      "unshare-net",
      "clone-net",
      "type-into-console",
      "line-discipline-gsm",
      "personality-exec-reads",
      "personality-no-random-addresses",
    ]) {
      expect(all.get(name), name).toBe("refused EPERM");
    }
    // Calls that the profile does not list do not exist.
    for (const name of ["aio", "unknown-call", "listmount", "memfd_secret"]) expect(all.get(name), name).toBe("refused ENOSYS");
    for (const name of ["socket-vsock", "socket-alg", "socket-can"]) expect(all.get(name), name).toBe("refused EAFNOSUPPORT");
    for (const name of ["move-device-to-fabric", "device-over-fabric"]) expect(all.get(name), name).toBe("refused EPERM");
    expect(all.get("link-of-fabric")).toBe("refused EACCES");
    expect((await sh("echo alive")).stdout).toBe("alive\n");
    // Of its own pid namespace on newer kernels, refused on others; the machine's stays.
    const most = readFileSync("/proc/sys/kernel/pid_max", "utf8");
    const elsewhere = async () => (await sh("cat /proc/sys/kernel/pid_max", "/two")).stdout;
    const before = await elsewhere();
    await sh("echo 5000 > /proc/sys/kernel/pid_max");
    expect(readFileSync("/proc/sys/kernel/pid_max", "utf8")).toBe(most);
    expect(await elsewhere()).toBe(before);
  });

  test("sees no process but its node's, no file of the machine and no network but its own", async () => {
    const processes = (await sh("cat /proc/[0-9]*/comm")).stdout.trim().split("\n");
    expect(new Set(processes)).not.toContain("node");
    expect(processes.length).toBeLessThan(10);
    for (const path of [local.paths.state, local.paths.run, local.paths.holder, "/etc/shadow-", "/home", process.cwd()]) {
      const outside = (await sh(`ls -A ${path} 2>/dev/null | head -1`)).stdout.trim();
      expect(outside, path).toBe("");
    }
    const mounts = (await sh("cat /proc/self/mountinfo")).stdout;
    expect(mounts.split("\n").filter((line) => / - (ext4|xfs|btrfs|cgroup2?) /.test(line))).toEqual([]);
    const devices = (await sh("ls /sys/class/net; ip -o link | wc -l")).stdout.trim().split("\n");
    expect(devices).toEqual(["eth0", "lo", "2"]);
    expect((await sh("cat /proc/self/cgroup")).stdout.split("\n").every((line) => line === "" || line.endsWith(":/"))).toBe(true);
  });

  test("writes to file systems of its own alone, and the masks it shares with others stay empty", async () => {
    const rows = (await sh("cat /proc/self/mounts")).stdout.trim().split("\n");
    const flags = (place: string) =>
      rows
        .map((row) => row.split(" "))
        .findLast(([, at]) => at === place)?.[3]
        ?.split(",") ?? [];
    expect(flags("/dev")).toEqual(expect.arrayContaining(["rw", "nosuid", "noexec"]));
    for (const place of ["/dev/shm", "/run", "/tmp"]) {
      expect(flags(place), place).toEqual(expect.arrayContaining(["rw", "nosuid", "nodev"]));
      expect(flags(place), place).not.toContain("noexec");
      await sh(`echo mine > ${place}/of-one`);
      expect((await sh(`cat ${place}/of-one`)).stdout, place).toBe("mine\n");
      expect((await sh(`ls ${place}`, "/two")).stdout, place).not.toContain("of-one");
    }
    expect((await sh("stat -c %a /dev/shm /tmp /run /dev")).stdout.split("\n")).toEqual(["1777", "1777", "755", "755", ""]);
    for (const place of ["/proc/irq", "/proc/bus", "/proc/fs", "/proc/sys/user"]) {
      expect(flags(place), place).toEqual(expect.arrayContaining(["ro", "nosuid", "nodev", "noexec"]));
      expect((await sh(`touch ${place}/planted; mkdir ${place}/planted`)).code, place).not.toBe(0);
      expect((await sh(`ls -A ${place}`)).stdout, place).toBe("");
    }
  });

  test("reaches no port of the machine, none of another lab, and no abstract socket", async () => {
    const abstract = `labwright-isolation-${process.pid}`;
    await using tcp = await listening(0, "0.0.0.0");
    await using unix = await listening(`\0${abstract}`);
    const port = (tcp.server.address() as { readonly port: number }).port;
    expect(unix.server.listening).toBe(true);
    const addresses = Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).flatMap((one) => (one.family === "IPv4" ? [one.address] : [])),
    );
    expect(addresses).toContain("127.0.0.1");
    await sh("ip addr add 10.9.0.1/24 dev eth0; ip link set eth0 up; ip route add default via 10.9.0.2");
    for (const address of addresses) expect((await sh(`nc -w 1 ${address} ${port} < /dev/null`)).code, address).not.toBe(0);
    expect(readFileSync("/proc/net/unix", "utf8")).toContain(abstract);
    expect((await sh("cat /proc/net/unix")).stdout).not.toContain(abstract);
    // The same addresses in the other lab, on the same wire name: nobody there.
    await sh("ip addr add 10.9.0.2/24 dev eth0; ip link set eth0 up", "/two");
    expect((await sh("ping -c 1 -W 1 10.9.0.2")).code).not.toBe(0);
    expect(tcp.connections()).toBe(0);
  });

  test("leaves only files of nobody on the machine, below a directory that others may not pass", async () => {
    await sh("cp /bin/busybox /root/sh; chmod 6755 /root/sh; mkfifo /root/pipe; ln -s /etc/shadow /root/link");
    const observed = (await local.session.observe("/one"))!;
    const disk = join(local.paths.state, "labs", observed.id, "nodes", observed.nodes.find(({ name }) => name === "a")!.id);
    const root = join(disk, "upper", "root");
    expect(readdirSync(root)).toEqual(expect.arrayContaining(["link", "pipe", "sh"]));
    const { uid, mode } = statSync(join(root, "sh"));
    expect(mode & 0o6000).toBe(0o6000);
    expect(uid).toBe(process.getuid?.() === 0 ? idRange.base : process.getuid?.());
    const passage = statSync(local.paths.state);
    expect(passage.mode & 0o007).toBe(0);
  });
});

describe.runIf(process.getuid?.() === 0)("labs", () => {
  /** The first user id of the lab's range, as the machine sees it. */
  const firstId = async (path: string) =>
    Number(
      readFileSync(`/proc/${(await local.sandbox(path)).pid}/uid_map`, "utf8")
        .trim()
        .split(/\s+/)[1],
    );

  test("run as user ids of their own, while their files keep the same ids on disk", async () => {
    const [one, two] = [await firstId("/one"), await firstId("/two")];
    expect(Math.abs(one - two)).toBeGreaterThanOrEqual(idRange.count);
    for (const first of [one, two]) expect(first).toBeGreaterThan(idRange.base + idRange.count);
    await sh("mkdir -p /root/kept; echo mine > /root/kept/file; chown 5:6 /root/kept/file; su -s /bin/sh nobody -c true");
    const observed = (await local.session.observe("/one"))!;
    const disk = join(local.paths.state, "labs", observed.id, "nodes", observed.nodes.find(({ name }) => name === "a")!.id);
    const { uid, gid } = statSync(join(disk, "upper", "root", "kept", "file"));
    expect([uid, gid]).toEqual([idRange.base + 5, idRange.base + 6]);
    expect((await sh("stat -c %u:%g /root/kept/file")).stdout).toBe("5:6\n");
    expect(local.warnings.filter((text) => text.includes("user ids"))).toEqual([]);
  });

  test("use a disk that was made when all labs shared one range", async () => {
    const old = (start: boolean) => labOf(`name: old\nnodes:\n  a: {template: linux, start: ${start}}\n`);
    await local.deploy("/old", old(false));
    const observed = (await local.session.observe("/old"))!;
    let path = join(local.paths.state, "labs", observed.id, "nodes");
    mkdirSync(path, { recursive: true });
    for (const name of [observed.nodes[0]!.id, "upper", "root"]) {
      path = join(path, name);
      mkdirSync(path);
      chownSync(path, idRange.base, idRange.base);
    }
    writeFileSync(join(path, "kept"), "old\n", { mode: 0o600 });
    chownSync(join(path, "kept"), idRange.base, idRange.base);
    await local.deploy("/old", old(true));
    expect((await sh("echo new >> /root/kept; cat /root/kept; stat -c %u /root/kept", "/old")).stdout).toBe("old\nnew\n0\n");
    await local.deploy("/old", null);
  });
});

describe("a hypervisor that its guest has taken over", () => {
  test("has no way out of its node, and less than the node's root has", async () => {
    await local.deploy("/machine", labOf("name: machine\nnodes:\n  a: {template: vm}\n"));
    // As the supervisor starts it; under the sandbox's filter, without the hypervisor's own.
    const all = await tries("/machine", "a", "as", "1000");
    const worked = [...all].filter(([, result]) => result === "DONE").map(([name]) => name);
    // Its disks have no limit but their own size.
    expect(worked).toEqual(["+socket-inet", "+personality-linux32", "limit-file-size"]);
    expect([...all.keys()].at(-1)).toBe("type-into-terminal");
    for (const name of ["make-tap", "chroot", "socket-packet"]) expect(all.get(`+${name}`), name).toBe("refused EPERM");
    await local.deploy("/machine", null);
  });
});

interface Listening extends AsyncDisposable {
  readonly server: Server;
  readonly connections: () => number;
}

async function listening(where: number | string, host?: string): Promise<Listening> {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...(typeof where === "number" ? { port: where } : { path: where }), ...(host === undefined ? {} : { host }) }, resolve);
  });
  return {
    server,
    connections: () => count,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
