import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { findImages } from "../src/hosts/local/images/images.ts";
import { idRange } from "../src/hosts/local/machine/idmap.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { openSandbox } from "../src/hosts/local/sandbox/sandbox-client.ts";
import { linkAddresses } from "./ring.ts";
import { startService } from "./service.ts";

const run = promisify(execFile);

export interface FrrResult {
  /** Seconds from the call until every daemon of every router has started. */
  readonly started: number;
  /** Seconds until every router is ready: OSPF has converged on all links. */
  readonly ready?: number;
}

/** Returns the configuration of router i of a ring: OSPF point-to-point on eth0 to the right and eth1 to the left. */
function configOf(i: number, count: number): string {
  const port = (name: string, address: string) =>
    `interface ${name}\n ip address ${address}/30\n ip ospf area 0\n ip ospf network point-to-point\n ip ospf hello-interval 2\n ip ospf dead-interval 10\n!\n`;
  const id = `10.255.${i >> 8}.${i & 255}`;
  const left = linkAddresses((i + count - 1) % count).left;
  return `hostname r${i}\n!\n${port("eth0", linkAddresses(i).right)}${port("eth1", left)}router ospf\n ospf router-id ${id}\n timers lsa min-arrival 0\n timers throttle lsa all 50\n!\n`;
}

/** Measures a ring of FRR routers with OSPF through the API: each runs zebra, staticd and ospfd. */
export async function frrThroughApi(count: number): Promise<FrrResult> {
  const service = await startService("embedded");
  try {
    const lab = `/frr${count}`;
    const indented = (text: string) => text.replace(/^(?=.)/gm, "      ");
    const nodes = Array.from(
      { length: count },
      (_, i) => `  r${i}:\n    template: frr\n    startup-config: |\n${indented(configOf(i, count))}`,
    );
    const links = Array.from({ length: count }, (_, i) => `  - ["r${i}:eth0", "r${(i + 1) % count}:eth1"]\n`);
    const yaml = `name: frr${count}\nnodes:\n${nodes.join("")}links:\n${links.join("")}`;
    const begin = performance.now();
    await service.client.deployProject({ yaml });
    const [id] = await readdir(service.runDir);
    const paths = localPaths(process.env, process.getuid?.() ?? 0);
    const sandbox = await openSandbox({ holder: paths.holder, dir: join(service.runDir, id ?? ""), lab: id ?? "", idMap: idRange });
    if (sandbox === null) throw new Error("the lab has no sandbox");
    // The status is not used: it would run readiness checks meanwhile.
    while (!(await sandbox.info()).nodes.every(({ state }) => state === "running")) await delay(20);
    const started = seconds(begin);
    for (;;) {
      const { live } = await service.client.getProjectStatus({ lab });
      if (live?.nodes?.every((node) => node.ready === true) === true) break;
      await delay(250);
    }
    return { started, ready: seconds(begin) };
  } finally {
    await service.close();
  }
}

/**
 * Measures the same daemons and configurations in bare network namespaces with the same links, without Labwright: one shared root, one /run for each. The
 * result is the start time of the daemons themselves on this machine.
 */
export async function frrAlone(count: number): Promise<FrrResult> {
  const paths = localPaths(process.env, process.getuid?.() ?? 0);
  const image = (await findImages(paths.images)).find(({ name }) => name === "frr");
  if (image === undefined) throw new Error("no image frr: run npm run setup");
  const dir = await mkdtemp(join(tmpdir(), "labwright-frr-"));
  const root = join(dir, "root");
  const netns = (i: number) => `lwbench${process.pid}-${i}`;
  const batch = async (lines: readonly string[]) => {
    await writeFile(join(dir, "batch"), `${lines.join("\n")}\n`);
    await run("ip", ["-batch", join(dir, "batch")]);
  };
  const all = Array.from({ length: count }, (_, i) => i);
  for (const part of ["root", "upper", "work", "conf"]) await mkdir(join(dir, part), { mode: 0o755 });
  await run("mount", [
    "-t",
    "overlay",
    "overlay",
    "-o",
    `lowerdir=${image.layers.join(":")},upperdir=${dir}/upper,workdir=${dir}/work`,
    root,
  ]);
  try {
    for (const i of all) await writeFile(join(dir, "conf", `${i}`), configOf(i, count));
    const begin = performance.now();
    await batch(all.map((i) => `netns add ${netns(i)}`));
    await batch(all.map((i) => `link add eth0 netns ${netns(i)} up type veth peer name eth1 netns ${netns((i + 1) % count)}`));
    const start = `ip link set lo up; ip link set eth1 up; mount -t tmpfs tmpfs ${root}/run; mkdir ${root}/run/frr; cp ${dir}/conf/$1 ${root}/run/frr/boot.conf
chown -R 100:100 ${root}/run/frr; mount -t proc proc ${root}/proc; mount --rbind /dev ${root}/dev; exec chroot ${root} /bin/sh -c '
begin() { /usr/lib/frr/$1 -d -u frr -g frr -P 0 -f /run/frr/boot.conf > /run/$1.log 2>&1; }
begin zebra || exit; begin staticd & first=$!; begin ospfd || exit; wait $first'`;
    await Promise.all(all.map((i) => run("nsenter", [`--net=/run/netns/${netns(i)}`, "unshare", "-m", "sh", "-c", start, "sh", `${i}`])));
    return { started: seconds(begin) };
  } finally {
    for (const i of all) {
      const { stdout } = await run("ip", ["netns", "pids", netns(i)]).catch(() => ({ stdout: "" }));
      for (const pid of stdout.split("\n").filter((text) => text !== "")) kill(Number(pid));
      // If the creation failed, its error is the one to report.
      await run("ip", ["netns", "del", netns(i)]).catch(() => undefined);
    }
    await run("umount", [root]);
    await rm(dir, { recursive: true, force: true });
  }
}

/** Kills a daemon. It may have ended already, because zebra has ended. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function seconds(begin: number): number {
  return (performance.now() - begin) / 1000;
}
