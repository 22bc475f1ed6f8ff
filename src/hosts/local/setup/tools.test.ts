import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findImages, type LocalImage } from "../images/images.ts";
import { idRange } from "../machine/idmap.ts";
import { localPaths } from "../machine/paths.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { createSandbox } from "../sandbox/sandbox-client.ts";
import { testDirectory } from "../testing/test-directory.fixture.ts";

/** Runs the tools of the images inside nodes. Needs the images and programs of set-up. */

const root = process.getuid?.() === 0;
const paths = localPaths(process.env, root ? 0 : (process.getuid?.() ?? 0));
let scratch: string;
let sandbox: Sandbox;
const names = ["base", "python", "frr"];
const idOf = (image: string) => names.indexOf(image) + 1;

beforeAll(async () => {
  scratch = await testDirectory("tools");
  const images = await findImages(paths.images);
  await mkdir(join(scratch, "lab"));
  sandbox = await createSandbox({
    holder: paths.holder,
    dir: join(scratch, "lab"),
    lab: "tools-test",
    ...(root ? { idMap: idRange } : {}),
  });
  await sandbox.spawn(await Promise.all(names.map((name) => nodeOf(name, images))));
  await sandbox.release(names.map(idOf));
});
afterAll(async () => {
  await sandbox.destroy();
  await rm(scratch, { recursive: true, force: true });
});

async function nodeOf(name: string, images: readonly LocalImage[]) {
  const image = images.find((candidate) => candidate.name === name);
  if (image === undefined) throw new Error(`no image ${name} in ${paths.images}: npm run setup makes it`);
  const disk = join(scratch, "disks", name);
  if (!root) await mkdir(disk, { recursive: true });
  return { id: idOf(name), hostname: name, lower: image.layers, disk, files: [], env: {}, boot: [], console: ["/bin/sh", "-l"] };
}

/** Runs a shell's command in a node. Returns its output; throws if it fails. */
async function run(image: string, command: string): Promise<string> {
  const { code, stdout, stderr } = await sandbox.exec(idOf(image), ["/bin/sh", "-lc", command], { timeoutMs: 30_000 });
  if (code !== 0) throw new Error(`${command}: code ${code}\n${stdout}${stderr}`);
  return `${stdout}${stderr}`;
}

describe("the base image", () => {
  test.each([
    ["dig -v", "DiG 9"],
    ["mtr --report --no-dns --gracetime 1 --report-cycles 1 127.0.0.1", "127.0.0.1"],
    ["echo hello | socat - EXEC:cat", "hello"],
    ["ncat --version", "Ncat"],
    ["wg genkey | wg pubkey | wc -c", "45"],
    ["vi --version", "Vi IMproved"],
    ["less --version", "less 5"],
    ["TZ=Europe/Berlin date -d '2026-07-01 12:00' +%Z", "CEST"],
    [
      "mkdir -p /run/lldpd && lldpd && until lldpcli show chassis 2> /dev/null; do sleep 0.05; done && kill $(cat /run/lldpd.pid)",
      "Local chassis",
    ],
    ["smcroutectl -v", "SMCRoute"],
    // The new process has the name of the shell until it runs the program.
    ["sleep 60 & until pgrep -fx 'sleep 60'; do :; done; pkill -fx 'sleep 60'; wait; echo ended", "ended"],
    // A name with two lines in /etc/hosts has the addresses of both.
    ["printf '127.0.0.1 both\\n::1 both\\n' >> /etc/hosts; ping -4 -c 1 both && ping -6 -c 1 both", "(::1)"],
    ["iperf --version || true", "iperf version 2"],
    [". /etc/os-release && echo $ID_LIKE", "debian"],
    ["test -d /var/lib/misc && echo there", "there"],
  ])("%s", async (command, expected) => {
    expect(await run("base", command)).toContain(expected);
  });

  test("has an SSH server that takes keys and no passwords, and copies files", async () => {
    await run("base", "mkdir -p /run/sshd && ssh-keygen -qt ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key && /usr/sbin/sshd");
    await run("base", "mkdir -m 700 /root/.ssh && ssh-keygen -qt ed25519 -N '' -f /root/.ssh/id_ed25519");
    const ssh = "-o StrictHostKeyChecking=no -o LogLevel=ERROR -o BatchMode=yes";
    await expect(run("base", `ssh ${ssh} 127.0.0.1 hostname`)).rejects.toThrow("Permission denied (publickey)");
    await run("base", "cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys");
    expect(await run("base", `ssh ${ssh} 127.0.0.1 hostname`)).toBe("base\n");
    expect(await run("base", `echo sent > /tmp/f && scp -q ${ssh} /tmp/f 127.0.0.1:/tmp/g && cat /tmp/g`)).toBe("sent\n");
  });

  test("has receivers of multicast: one gets what another process sends to its group", async () => {
    await run("base", "ip link set lo up multicast on && ip route add 239.0.0.0/8 dev lo");
    const received = await run(
      "base",
      "socat -u -T 10 UDP4-RECV:5007,ip-add-membership=239.1.1.1:127.0.0.1,readbytes=5 - & " +
        "for i in $(seq 50); do kill -0 $! 2> /dev/null || break; echo hello | socat -u - UDP4-DATAGRAM:239.1.1.1:5007,ip-multicast-if=127.0.0.1; sleep 0.1; done; wait $!",
    );
    expect(received).toContain("hello");
  });
});

test("the python image has Python 3 with its standard library", async () => {
  expect(
    await run("python", "python3 -c 'import ssl, json, sqlite3, ctypes, multiprocessing, ipaddress; print(ssl.OPENSSL_VERSION)'"),
  ).toContain("OpenSSL 3");
});

test("an FRR router has the same tools", async () => {
  expect(await run("frr", "timeout 1 tcpdump -i any -c 1 -n || true")).toContain("listening on any");
  expect(await run("frr", "dig -v && mtr --version")).toContain("DiG 9");
});
