import { spawn } from "node:child_process";
import { copyFile, mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { findImages, type LocalImage } from "../../src/hosts/local/images/images.ts";
import { type CpioEntry, cpioArchive } from "../../src/hosts/local/setup/images/cpio.ts";
import { withDirectories } from "./machine-files.ts";

/** A virtual machine of tests: its files, its command and its limits. */
export interface MicroVm {
  /** Its root file system, all in memory; paths start with `machine/`. */
  readonly files: readonly CpioEntry[];
  /** A script for its /bin/sh, run as root. */
  readonly command: string;
  readonly memoryMb: number;
  /** Everything random in it comes from this number. */
  readonly seed: number;
  /** When it is ended, ms of the real clock. */
  readonly limitMs: number;
  /** Called with each line that the command prints. */
  readonly onLine?: (line: string) => void;
}

/** Returns why no virtual machine of tests runs here; undefined if one does. */
export async function microVmLacks(images: string): Promise<string | undefined> {
  if (process.arch !== "x64") return `the kernel and the programs are for x86-64, and this machine is ${process.arch}`;
  const names = (await findImages(images)).map(({ name }) => name);
  const missing = ["qemu", "tiny"].filter((name) => !names.includes(name));
  return missing.length === 0 ? undefined : `the images ${missing.join(" and ")} are missing: run npm run setup`;
}

/**
 * Boots QEMU's machine `microvm` with the kernel and modules of the image `tiny`, runs the command, and returns its exit code and output. Throws
 * with all that the machine printed if it ends without an exit code.
 *
 * No hardware help, device or file system of the real machine is used: the emulated processor takes 1 ns for an instruction, and its clock counts
 * instructions and skips idle time. So its measurements do not depend on the real processor or on the load of the machine.
 */
export async function runMicroVm(images: string, vm: MicroVm): Promise<{ readonly code: number; readonly output: string }> {
  const lacks = await microVmLacks(images);
  if (lacks !== undefined) throw new Error(lacks);
  const found = await findImages(images);
  const image = (wanted: string) => found.find(({ name }) => name === wanted)!;
  const directory = await mkdtemp(join(tmpdir(), "labwright-microvm-"));
  try {
    await copyFile(join(image("tiny").rootfs, "vmlinuz"), join(directory, "vmlinuz"));
    await writeInitrd(join(directory, "initrd"), join(image("tiny").rootfs, "initrd.gz"), vm);
    await writeFile(join(directory, "console"), "");
    const { output, ended } = await qemu(directory, image("qemu"), vm);
    const [, before = "", code] = /^(.*)\n= exit (\d+)\n/s.exec(output) ?? [];
    if (code !== undefined) return { code: Number(code), output: before };
    const console = await readFile(join(directory, "console"), "utf8");
    throw new Error(
      `the virtual machine ended without an exit code (${ended}). Its command printed:\n${output}\nIts kernel printed:\n${console}`,
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Two archives one after the other: the kernel unpacks both. Unpacked on the emulated processor, the second one would take most of the boot. */
async function writeInitrd(path: string, below: string, { files, command }: MicroVm): Promise<void> {
  const init = await readFile(fileURLToPath(new URL("init.sh", import.meta.url)));
  const own: readonly CpioEntry[] = [
    { path: "microvm-init", mode: 0o100755, data: init },
    { path: "machine/microvm/init.sh", mode: 0o100755, data: init },
    { path: "machine/microvm/command", mode: 0o100755, data: Buffer.from(command) },
  ];
  const file = await open(path, "w", 0o600);
  try {
    // The one that is not compressed first: it must start at a multiple of 4.
    await file.writeFile(cpioArchive(withDirectories([...files, ...own])));
    await file.writeFile(gunzipSync(await readFile(below)));
  } finally {
    await file.close();
  }
}

/** QEMU in its own root file system, with `directory` at /mnt. It sees nothing else of the machine. */
function qemu(directory: string, image: LocalImage, vm: MicroVm): Promise<{ readonly output: string; readonly ended: string }> {
  const commandLine = [
    ...[
      "console=ttyS0",
      "quiet",
      "rdinit=/microvm-init",
      "panic=-1",
      "reboot=t",
      "mitigations=off",
      "tsc_early_khz=1000000",
      "tsc=reliable",
    ],
    ...["random.trust_cpu=on", "cryptomgr.notests", "no_timer_check"],
  ];
  const argv = [
    ...["qemu-system-x86_64", "-L", "/usr/share/qemu", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
    ...["-machine", "microvm,acpi=off", "-accel", "tcg", "-cpu", "max", "-m", `${vm.memoryMb}M`],
    ...["-icount", "shift=0,sleep=off", "-rtc", "clock=vm", "-seed", String(vm.seed)],
    ...["-kernel", "/mnt/vmlinuz", "-initrd", "/mnt/initrd", "-append", commandLine.join(" ")],
    ...["-serial", "file:/mnt/console", "-chardev", "stdio,id=output,signal=off", "-device", "isa-serial,index=1,chardev=output"],
  ];
  const inOwnRoot =
    'mkdir root && mount -t overlay -o "lowerdir=$0" overlay root && mount --bind "$PWD" root/mnt && mount -t proc proc root/proc && exec chroot root "$@"';
  const asRoot = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const namespaces = [...asRoot, "--mount", "--net", "--pid", "--fork", "--kill-child"];
  // A kernel that nobody waits for would run on: it ends with this process.
  const child = spawn(
    "setpriv",
    ["--pdeathsig", "KILL", "unshare", ...namespaces, "sh", "-c", inOwnRoot, image.layers.join(":"), ...argv],
    {
      cwd: directory,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: vm.limitMs,
      killSignal: "SIGKILL",
    },
  );
  return new Promise((resolve, reject) => {
    let [output, errors, line] = ["", "", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text.replaceAll("\r", "");
      const lines = `${line}${text}`.replaceAll("\r", "").split("\n");
      line = lines.pop()!;
      for (const one of lines) if (!one.startsWith("= exit ")) vm.onLine?.(one);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const reason = signal === null ? `QEMU's exit code is ${code}` : `ended by ${signal} after ${vm.limitMs / 1000} s`;
      resolve({ output, ended: errors === "" ? reason : `${reason}; ${errors.trim()}` });
    });
  });
}
