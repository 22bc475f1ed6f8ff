import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findImages } from "./images/images.ts";
import { localPaths } from "./machine/paths.ts";
import { buildProgram } from "./setup/programs/build-program.ts";
import { eventually } from "./testing/test-local-host.fixture.ts";

/** An id that no user has, outside all ranges. */
const user = 61_234;
const repository = fileURLToPath(new URL("../../../", import.meta.url));
const as = ["--reuid", String(user), "--regid", String(user), "--clear-groups"];
const possible =
  process.getuid?.() === 0 &&
  spawnSync("setpriv", [...as, "unshare", "--user", "--map-root-user", "--net", "--mount", "true"]).status === 0;

/** The packages that the embedded host needs. */
const packages = ["yaml", "tar-stream", "streamx", "b4a", "fast-fifo", "text-decoder", "events-universal"];

describe.runIf(possible)("an ordinary user", () => {
  let top: string;
  let node: string;

  beforeAll(async () => {
    top = mkdtempSync(join(tmpdir(), "labwright-rootless-"));
    chmodSync(top, 0o755);
    // Copies: the user need not be able to reach this repository or root's state directory.
    for (const name of ["src", "templates", "package.json", ...packages.map((name) => `node_modules/${name}`)]) {
      cpSync(join(repository, name), join(top, "labwright", name), { recursive: true });
    }
    const reachable = spawnSync("setpriv", [...as, "test", "-x", process.execPath]).status === 0;
    node = reachable ? process.execPath : join(top, "node");
    if (!reachable) cpSync(process.execPath, node);
    await buildProgram("holder", { out: join(top, "bin", "labwright-holder") });
    // As set-up makes them for a user who runs it: the files belong to the user.
    const base = (await findImages(localPaths(process.env, 0).images)).find(({ name }) => name === "base");
    if (base === undefined) throw new Error("no image base: npm run setup makes it");
    const image = join(base.rootfs, "..");
    mkdirSync(join(top, "images"));
    execFileSync("cp", ["-a", image, join(top, "images")]);
    execFileSync("chown", ["-R", `${user}:${user}`, join(top, "images")]);
    mkdirSync(join(top, "home"), { mode: 0o700 });
    mkdirSync(join(top, "tmp"), { mode: 0o700 });
    execFileSync("chown", [`${user}:${user}`, join(top, "home"), join(top, "tmp")]);
  }, 60_000);

  afterAll(async () => {
    // The last processes of a lab are reaped a moment after its holder.
    await eventually(
      "no process is left",
      30_000,
      async () => processesOf(user),
      (left) => left.length === 0,
    );
    rmSync(top, { recursive: true, force: true });
  });

  const environment = () => ({
    PATH: process.env["PATH"],
    HOME: join(top, "home"),
    TMPDIR: join(top, "tmp"),
    LABWRIGHT_IMAGE_DIR: join(top, "images"),
    LABWRIGHT_HOLDER: join(top, "bin", "labwright-holder"),
  });

  const noManagement = ["managed.management: a management network needs a service that runs as root, and nftables"];
  test("deploys, pings, runs programs, suspends, stops and destroys; what needs root is a false capability", () => {
    const script = join(top, "labwright", "src", "hosts", "local", "rootless.fixture.ts");
    const child = spawnSync("setpriv", [...as, node, script], { env: environment(), encoding: "utf8", timeout: 200_000, cwd: "/" });
    expect(child.stderr).not.toMatch(/Error|Failure/);
    expect(JSON.parse(child.stdout)).toMatchObject({
      uid: user,
      nat: false,
      hibernate: true,
      management: [noManagement, noManagement, true],
      networkTypes: ["bridge"],
      ping: 0,
      id: "0",
      power: ["suspended", "running", "stopped", expect.stringMatching(/starting|running/)],
      kept: "kept",
      labs: [],
    });
    // Limits work if a control group was delegated to the user, and are reported as missing otherwise.
    const { cpu } = JSON.parse(child.stdout) as { readonly cpu: readonly [string, string?] };
    expect(cpu[0] === "unsupported" ? cpu[1] : "").toMatch(cpu[0] === "unsupported" ? /^this machine cannot limit it: / : /^$/);
    expect(readdirSync(join(top, "tmp"))).toEqual([]);
  }, 240_000);

  const unified = unifiedGroup();
  test("has limits of nodes where a control group is delegated to it", (context) => {
    if (unified === undefined) return context.skip("this machine has no cgroup v2 with the controllers cpu, memory and pids");
    // As systemd makes them with Delegate=yes and DelegateSubgroup=service.
    const group = join(unified, `labwright-rootless-${process.pid}`);
    const service = join(group, "service");
    mkdirSync(service, { recursive: true });
    for (const file of ["", "cgroup.procs", "cgroup.subtree_control", "service", "service/cgroup.procs"])
      chownSync(join(group, file), user, user);
    try {
      const script = join(top, "labwright", "src", "hosts", "local", "rootless.fixture.ts");
      const enter = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', service];
      const [program, ...argv] = [...enter, "setpriv", ...as, node, script];
      const child = spawnSync(program!, argv, { env: environment(), encoding: "utf8", timeout: 200_000, cwd: "/" });
      expect(child.stderr).not.toMatch(/Error|Failure/);
      expect(JSON.parse(child.stdout)).toMatchObject({
        cpu: ["live", null],
        limits: { hog: "alive\n", memory: expect.any(Number), cpu: expect.any(Number) },
        labs: [],
      });
      expect(readdirSync(group, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? one.name : []))).toEqual(["service"]);
    } finally {
      rmdirSync(service);
      rmdirSync(group);
    }
  }, 240_000);
});

/** Returns a control group in which root can delegate all limits of nodes. */
function unifiedGroup(): string | undefined {
  const mount = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .find(([, , type]) => type === "cgroup2")?.[1];
  if (mount === undefined) return undefined;
  const words = readFileSync(join(mount, "cgroup.controllers"), "utf8").trim().split(" ");
  const wanted = ["cpu", "memory", "pids"];
  if (!wanted.every((word) => words.includes(word))) return undefined;
  try {
    for (const word of wanted) writeFileSync(join(mount, "cgroup.subtree_control"), `+${word}`);
    return mount;
  } catch {
    return undefined; // in a container, whose own group has processes
  }
}

function processesOf(uid: number): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/status`, "utf8").includes(`\nUid:\t${uid}\t`);
    } catch {
      return false; // the process has just ended
    }
  });
}
