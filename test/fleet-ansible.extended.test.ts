import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { accessSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { debianPackage } from "../packaging/debian-package.ts";
import { pack, unpack } from "../packaging/npm-package.ts";
import { processorNames } from "../packaging/processors.ts";
import { run } from "../packaging/run.ts";
import { connect } from "../src/client/connect.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { prebuiltPath, programSources } from "../src/hosts/local/setup/programs/build-program.ts";
import { compileProgram, programNames } from "../src/hosts/local/setup/programs/compile.ts";
import { cluster, postgresPrograms } from "../src/service/store/testing/cluster.fixture.ts";

/** The playbook of packaging/ansible with the real Debian package, on machines that are namespaces with a systemd of their own. */

const root = join(import.meta.dirname, "..");
const isThere = (path: string): boolean => {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
};
const needed = ["/usr/bin/ansible-playbook", "/lib/systemd/systemd", "/usr/bin/dpkg-deb", "/usr/lib/python3/dist-packages/apt"];
const noMachines = postgresPrograms === undefined || process.getuid?.() !== 0 || !needed.every(isThere);
const processor = processorNames.find((name) => name === process.arch);

let base: string;
const machines = new Map<string, ChildProcess>();
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "labwright-ansible-"));
});
afterAll(async () => {
  for (const child of machines.values()) {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }
  await rm(base, { recursive: true, force: true });
});

/** Builds the package of this checkout for this machine. */
async function makePackage(): Promise<string> {
  if (processor === undefined) throw new Error(`there is no release for ${process.arch}`);
  const content = join(base, "content");
  await mkdir(content);
  run([process.execPath, join(root, "scripts/build.ts")], { cwd: root });
  await unpack(pack(root, base), content);
  for (const name of processorNames) await mkdir(join(content, "prebuilt", name), { recursive: true });
  for (const name of programNames) {
    const out = prebuiltPath(join(content, "prebuilt"), name, processor);
    await compileProgram(name, { out, compiler: "cc" });
    await writeFile(`${out}.digest`, await programSources(name, processor));
  }
  const node = join(root, "node_modules", `node-linux-${processor}`);
  const parts = { root, work: base, release: base, content, node, processor, version: "0.1.0", time: 1_700_000_000 };
  return debianPackage({ ...parts, compression: "none" });
}

/** Starts a machine. Returns the program that runs a command in it, in place of sudo. */
async function startMachine(name: string): Promise<string> {
  const shared = join(base, "shared");
  const child = spawn(
    "sh",
    [join(import.meta.dirname, "systemd-root.sh"), shared, join(base, `state-${name}`), localPaths(process.env, 0).images],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  machines.set(name, child);
  const first = () => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
  await expect.poll(first, { timeout: 10_000 }).toMatch(/^\d+$/);
  const enter = join(base, `enter-${name}`);
  // Ansible calls sudo with flags before the shell.
  const script = `#!/bin/sh\nwhile [ "$1" != /bin/sh ]; do shift; done\nexec nsenter -t ${first()} -m -u -i -p -C -r -w "$@"\n`;
  await writeFile(enter, script, { mode: 0o755 });
  const state = () => {
    try {
      return execFileSync(enter, ["/bin/sh", "-c", "systemctl is-system-running || true"], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
    } catch {
      return "";
    }
  };
  await expect.poll(state, { timeout: 30_000, interval: 200 }).toMatch(/running|degraded/);
  return enter;
}

/** Runs the playbook. Returns the counts of its recap, by machine. */
function play(inventory: string): Promise<Readonly<Record<string, Readonly<Record<string, number>>>>> {
  const argv = ["-i", inventory, join(root, "packaging/ansible/fleet.yaml")];
  const env = { PATH: process.env.PATH, HOME: base, LANG: "C.UTF-8", ANSIBLE_NOCOLOR: "1", ANSIBLE_BECOME_ALLOW_SAME_USER: "True" };
  return new Promise((resolve, reject) => {
    execFile(
      "sh",
      [join(import.meta.dirname, "throwaway-root.sh"), base, "ansible-playbook", ...argv],
      { env, cwd: base, timeout: 560_000, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        if (error !== null) return reject(new Error(`${stdout}\n${stderr}`));
        const rows = [...stdout.matchAll(/^(\w+)\s+: (ok=.*)$/gm)].map(([, name = "", counts = ""]) => [
          name,
          Object.fromEntries([...counts.matchAll(/(\w+)=(\d+)/g)].map(([, key, count]) => [key, Number(count)])),
        ]);
        resolve(Object.fromEntries(rows));
      },
    );
  });
}

test.skipIf(noMachines)(
  "the playbook makes four machines a fleet from nothing; a second run changes nothing; labs run through the machine without labs",
  { timeout: 900_000 },
  async () => {
    for (const name of ["shared", "state-alpha", "state-beta", "state-gamma", "state-web"]) await mkdir(join(base, name));
    const deb = await makePackage();
    const { tls, database } = await cluster();
    const name = decodeURIComponent((await database()).url.split("/").at(-1) ?? "");
    const host = async (machine: string, place: number, more: object = {}) => [
      machine,
      {
        ansible_become_exe: await startMachine(machine),
        ansible_remote_tmp: join(base, "shared", machine),
        labwright_advertise: `https://127.${(process.pid >> 8) & 127}.${process.pid & 255}.${place}:8444`,
        labwright_port: 20_000 + (process.pid % 8_000) * 4 + place,
        ...more,
      },
    ];
    const hosts = [
      await host("alpha", 1),
      await host("beta", 2),
      await host("gamma", 3),
      await host("web", 4, { labwright_runs_labs: false }),
    ];
    const vars = {
      ansible_connection: "local",
      ansible_python_interpreter: "/usr/bin/python3",
      labwright_deb: deb,
      labwright_store: `postgres://remote@${tls.address}/${name}?sslmode=require`,
      labwright_store_password: "secret",
      labwright_admin_password: "admin-password",
    };
    const inventory = join(base, "inventory.json");
    await writeFile(inventory, JSON.stringify({ labwright: { vars, hosts: Object.fromEntries(hosts) } }));

    const first = await play(inventory);
    for (const machine of ["alpha", "beta", "gamma", "web"]) expect(first[machine], machine).toMatchObject({ failed: 0, unreachable: 0 });
    const second = await play(inventory);
    for (const machine of ["alpha", "beta", "gamma", "web"]) expect(second[machine], machine).toMatchObject({ changed: 0, failed: 0 });

    const enter = join(base, "enter-web");
    const inWeb = (command: string) => execFileSync(enter, ["/bin/sh", "-c", command], { encoding: "utf8" });
    const { url, fingerprint } = JSON.parse(inWeb("cat /var/lib/labwright-api/service.json")) as { url: string; fingerprint: string };
    using admin = connect({ url, pin: fingerprint, credentials: { username: "admin", password: "admin-password" } });
    expect((await admin.listMachines()).machines.map((one) => [one.name, one.answers, one.runs_labs ?? true, one.problem])).toEqual([
      ["alpha", true, true, undefined],
      ["beta", true, true, undefined],
      ["gamma", true, true, undefined],
      ["web", true, false, undefined],
    ]);
    expect(inWeb("systemctl show labwright-api --property=User,NRestarts")).toBe("NRestarts=0\nUser=labwright-api\n");
    expect(inWeb("ls /etc/labwright")).toBe("labwright-api-store-password\n");
    const lab = "name: through\nnodes:\n  h1: {template: linux}\n";
    expect(await admin.deployProject({ yaml: lab })).toMatchObject({
      placement: { machine: expect.stringMatching(/^(alpha|beta|gamma)$/) },
    });
    await admin.destroyProject({ lab: "/through" });
  },
);
