import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findImages } from "../src/hosts/local/images/images.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { commandLine } from "../src/hosts/local/own-kernel/own-kernel-spawn.ts";
import { hypervisorImage, kernelImage } from "../src/hosts/local/templates/vm-template.ts";
import { startService } from "./service.ts";

export interface OwnKernelFigures {
  /** ms from the start of the deploy until all nodes are ready. */
  readonly ms: number;
  /** Memory of the hypervisors, MiB, with their shares of shared pages. */
  readonly memory: number;
}

/** Deploys `count` nodes with kernels of their own, connected in a ring, and waits until all are ready. */
export async function ownKernels(count: number): Promise<OwnKernelFigures> {
  const service = await startService("embedded");
  try {
    const { client } = service;
    const nodes = Array.from({ length: count }, (_, i) => `  n${i}: {template: linux, kernel: own}\n`).join("");
    const links = Array.from({ length: count > 1 ? count : 0 }, (_, i) => `  - ["n${i}:eth0", "n${(i + 1) % count}:eth1"]\n`).join("");
    const before = new Set(hypervisors());
    const began = performance.now();
    await client.deployProject({ yaml: `name: kernels\nnodes:\n${nodes}${links === "" ? "" : `links:\n${links}`}` });
    const ready = async () =>
      (await client.getProjectStatus({ lab: "/kernels" })).live?.nodes?.every((node) => node.ready === true) === true;
    while (!(await ready())) await delay(50);
    const ms = performance.now() - began;
    const memory = hypervisors().filter((pid) => !before.has(pid));
    return { ms, memory: memory.reduce((sum, pid) => sum + share(pid), 0) };
  } finally {
    await service.close();
  }
}

/** Runs a program $3 times at once in an overlay of the images' trees. */
const script = `mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$0" || exit
left=$3; shift 3
while [ "$left" -gt 0 ]; do chroot "$0" "$@" & left=$((left - 1)); done
wait`;

/**
 * Boots the same kernel `count` times at once in bare virtual machines of the same hypervisor, without Labwright, a disk, a network and a program: until it
 * ends because it finds no root file system. Returns ms.
 */
export async function bareKernels(count: number): Promise<number> {
  const images = await findImages(localPaths(process.env, process.getuid?.() ?? 0).images);
  const layers = [kernelImage, hypervisorImage].flatMap((name) => images.find((image) => image.name === name)?.layers ?? []);
  const dir = await mkdtemp(join(tmpdir(), "labwright-bench-"));
  try {
    for (const name of ["upper", "work", "root"]) await mkdir(join(dir, name));
    const argv = [
      ...["/usr/bin/qemu-system-x86_64", "-L", "/usr/share/qemu", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"],
      ...["-machine", "microvm,acpi=on,pic=on,pit=on", "-bios", "qboot.rom", "-accel", "tcg,tb-size=32", "-cpu", "max"],
      ...["-smp", "1,maxcpus=2", "-m", "256", "-kernel", "/guest/kernel"],
      // A busy machine delays the measurement of this frequency, without which the kernel does not boot.
      ...["-append", `${commandLine} panic=-1 tsc_early_khz=${counterKhz()}`],
    ];
    const mount = ["-m", "sh", "-c", script, join(dir, "root"), layers.join(":"), dir, String(count)];
    const began = performance.now();
    const [code] = await once(spawn("unshare", [...mount, ...argv], { stdio: ["ignore", "ignore", "inherit"] }), "exit");
    if (code !== 0) throw new Error(`the bare virtual machines ended with ${code}`);
    return performance.now() - began;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Returns the frequency of the processor's time stamp counter, kHz. */
function counterKhz(): number {
  const [, mhz] = /^cpu MHz\s*: ([\d.]+)/m.exec(readFileSync("/proc/cpuinfo", "utf8")) ?? [];
  if (mhz === undefined) throw new Error("/proc/cpuinfo has no frequency");
  return Math.round(Number(mhz) * 1000);
}

function hypervisors(): readonly string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandOf(name).includes("/guest/kernel"));
}

/** Empty for a process that has ended meanwhile. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}

function share(pid: string): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / 1024;
}
