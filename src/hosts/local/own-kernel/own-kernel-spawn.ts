import { basename, dirname, join } from "node:path";
import type { LocalImage } from "../images/images.ts";
import type { NodeSpawn } from "../sandbox/sandbox.ts";
import { ownKernelInterfaces, supervisor } from "../templates/vm-template.ts";

/** The supervisor's settings, as the path in the node. */
export const supervisorFile = "/run/labwright/vm";

/** The programs and files of a node, as with the kernel of the machine. */
interface NodeSettings extends Pick<NodeSpawn, "files" | "env" | "boot" | "console" | "hostname"> {
  /** MiB. */
  readonly ram: number;
}

interface Images {
  /** The node's root. */
  readonly image: LocalImage;
  readonly hypervisor: LocalImage;
  readonly kernel: LocalImage;
}

/** Returns the part of a spawn request that runs the node in a virtual machine. Its init gets the settings from the supervisor (native/guest). */
export function ownKernelSpawn(
  node: NodeSettings,
  { image, hypervisor, kernel }: Images,
  kvm: boolean,
): Pick<NodeSpawn, "lower" | "files" | "env" | "boot" | "console" | "main" | "devices"> {
  return {
    lower: [kernel.rootfs, ...image.layers.map(layerOfDisk), ...hypervisor.layers],
    files: [
      { path: supervisorFile, mode: 0o600, text: supervisorSettings(node, image, kvm) },
      { path: "/run/labwright/guest", mode: 0o600, text: guestSettings(node) },
    ],
    env: node.env,
    boot: [],
    console: [supervisor, "boot"],
    main: { workdir: "/", uid: 0, gids: [0] },
    ...(kvm ? { devices: ["kvm"] } : {}),
  };
}

/** Returns the directory beside a tree that contains the tree as a disk: /images/<directory of the image>.squashfs. */
export function layerOfDisk(rootfs: string): string {
  return join(dirname(rootfs), "disk");
}

/** Returns the path of the disk of a tree, in its layer. */
export function diskOfTree(rootfs: string): string {
  return `/images/${basename(dirname(rootfs))}.squashfs`;
}

/** The supervisor's settings file (native/supervisor/config.c). */
function supervisorSettings({ ram }: NodeSettings, { layers }: LocalImage, kvm: boolean): string {
  const roots = [...layers.map(diskOfTree), "/guest/modules.squashfs"];
  const disk = (id: string, file: string, more: string) => [
    ...["-drive", `file=${file},if=none,id=${id},${more}`],
    ...["-device", `virtio-blk-device,drive=${id},serial=${id}`],
  ];
  const argv = [
    "/usr/bin/qemu-system-x86_64",
    ...["-L", "/usr/share/qemu", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"],
    // Without ACPI the machine has room for eight devices only.
    ...["-machine", "microvm,acpi=on,pic=on,pit=on", "-bios", "qboot.rom"],
    // Only current virtio devices report the speed of an interface.
    ...["-global", "virtio-mmio.force-legacy=false"],
    // One gigabyte for translated code, QEMU's default, would be more than the whole node.
    ...["-accel", kvm ? "kvm" : "tcg,tb-size=32"],
    ...["-cpu", kvm ? "host" : "max"],
    // For a machine that can have one processor only, the emulator leaves out memory barriers, which the guest needs against the threads of its own devices.
    ...["-smp", "1,maxcpus=2", "-m", String(ram)],
    ...["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"],
    ...["-kernel", "/guest/kernel", "-initrd", "/guest/initrd"],
    ...roots.flatMap((file, i) => disk(`root${i}`, file, "format=raw,readonly=on")),
    // Memory that the kernel needed only for its boot goes back to the machine.
    ...["-device", "virtio-balloon-device,free-page-reporting=on"],
    ...disk("disk", "/vm/disk0.qcow2", "format=qcow2,discard=unmap"),
  ];
  const lines = [
    ...argv.map((word) => `arg ${word}`),
    "disk raw guest/disk.raw",
    `append ${commandLine}`,
    ...(kvm ? [] : [`memory ${ram}`]),
    `guest ${ownKernelInterfaces}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** Options of the kernel. The supervisor adds the frequency of the processor's counter. */
export const commandLine = [
  "console=ttyS0 quiet loglevel=1 panic=-1 reboot=t",
  "mitigations=off random.trust_cpu=on cryptomgr.notests no_timer_check tsc=reliable",
  // Otherwise the module makes an interface bond0 when it is loaded.
  "bonding.max_bonds=0",
  // Renaming and moving an interface waits for readers in the kernel: three ticks instead of six.
  "rcupdate.rcu_expedited=1",
].join(" ");

/** Returns the messages that the supervisor sends to the node's init (native/guest/README.md). */
function guestSettings({ hostname, env, files, boot, console }: NodeSettings): string {
  const texts = (list: readonly string[]) => list.map((text) => `${text}\0`).join("");
  return [
    message("H", hostname),
    message("V", texts(Object.entries(env).map(([name, value]) => `${name}=${value}`))),
    ...files.map(({ path, mode, text }) => message("F", `${mode.toString(8)} ${path}\0${text}`)),
    message("A", texts(boot)),
    message("L", texts(console)),
  ].join("");
}

/** The length is five groups of 7 bits, the lowest first, so that the text stays UTF-8. */
function message(type: string, text: string): string {
  const length = Buffer.byteLength(text);
  const groups = [0, 7, 14, 21, 28].map((shift) => String.fromCharCode(Math.floor(length / 2 ** shift) & 0x7f));
  return `${type}${groups.join("")}${text}`;
}
