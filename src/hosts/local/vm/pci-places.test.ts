import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findImages } from "../images/images.ts";
import type { VmImage } from "../images/vm-images.ts";
import { localPaths } from "../machine/paths.ts";
import { hypervisorImage, maxVmInterfaces, type VmTemplate, vmChoices, vmDefaults } from "../templates/vm-template.ts";
import { vmConfig } from "./vm-config.ts";

/** Checks the hypervisor's own list of its PCI bus, for every machine type and disk bus with all possible devices. No guest runs. */

const image: VmImage = {
  disks: [0, 1, 2].map((index) => ({ file: `disk${index}.raw`, format: "raw" })),
  cdroms: ["setup.iso"],
};
const full: VmTemplate = {
  ...vmDefaults,
  ram: 64,
  video: "std",
  nic: "e1000",
  accelerator: "tcg",
  arguments:
    "-usb -device usb-tablet -device usb-kbd -device qemu-xhci -device virtio-rng-pci -device virtio-balloon-pci -device i6300esb -device ib700",
  configDrive: { label: "cidata", bus: "virtio", files: {} },
};

let directory: string;

/** Like a node's root: the node's own files above the image. */
const script = 'mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$0" && shift 2 && exec chroot "$0" "$@"';

interface PciDevice {
  readonly slot: number;
  readonly function: number;
  readonly qdev_id: string;
  readonly class_info: { readonly class: number };
}

const ethernet = 0x0200;

/** The answer of query-pci. Throws with the hypervisor's message if it does not start. */
async function pciDevices(settings: string, nics: number): Promise<readonly PciDevice[]> {
  const lines = settings.split("\n").map((line) => line.split(" "));
  const argv = lines.flatMap(([word, ...rest]) => (word === "arg" ? rest.join(" ") : []));
  const [model, bus] = lines.find(([word]) => word === "nic")!.slice(1);
  const [management = ""] = lines.find(([word]) => word === "management")!.slice(1);
  // As native/supervisor/ports.c writes them, except for their back ends.
  const addresses = [...Array.from({ length: nics }, (_, i) => `0x${(8 + i).toString(16)}`), management];
  const ports = addresses.map((address, i) => [
    ...["-netdev", `hubport,id=net${i},hubid=${i}`],
    ...["-device", `${model},netdev=net${i},id=nic${i},bus=${bus},addr=${address},romfile=`],
  ]);
  const { layers } = (await findImages(localPaths(process.env, 0).images)).find(({ name }) => name === hypervisorImage)!;
  const words = [...argv.map((word) => word.replace(/^unix:.*$/, "none")), ...ports.flat(), "-S", "-qmp", "stdio"];
  const hypervisor = spawn("unshare", ["-m", "sh", "-c", script, join(directory, "root"), layers.join(":"), directory, ...words]);
  let complaint = "";
  hypervisor.stderr.on("data", (chunk) => (complaint += chunk));
  const ended = once(hypervisor, "close");
  hypervisor.stdin.on("error", () => undefined); // its end is reported below
  hypervisor.stdin.write('{"execute":"qmp_capabilities"}\n{"execute":"query-pci","id":"pci"}\n{"execute":"quit"}\n');
  let answer: readonly PciDevice[] | undefined;
  for await (const line of createInterface(hypervisor.stdout)) {
    const said = JSON.parse(line);
    if (said.id === "pci") answer = said.return[0].devices;
  }
  await ended;
  if (answer === undefined) throw new Error(`the hypervisor does not start: ${complaint}`);
  return answer;
}

describe.runIf(process.getuid?.() === 0)("on the PCI bus of a virtual machine", () => {
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "labwright-pci-"));
    for (const name of ["upper/vm", "work", "root"]) await mkdir(join(directory, name), { recursive: true });
    // An empty qcow2 takes more than 64 KiB. For a place on the bus, a raw disk is equivalent.
    for (const name of ["vm/disk0.qcow2", "vm/disk1.qcow2", "vm/disk2.qcow2", "vm/config.iso", "setup.iso"])
      await writeFile(join(directory, "upper", name), Buffer.alloc(1 << 16));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const cases = vmChoices.machine.flatMap((machine) => vmChoices["disk-bus"].map((bus) => [machine, bus] as const));
  test.each(cases)("machine %s with three %s disks has each interface in its own slot, whatever else it has", async (machine, diskBus) => {
    const settings = vmConfig({ ...full, machine, "disk-bus": diskBus }, image, false).replaceAll("format=qcow2", "format=raw");
    const devices = await pciDevices(settings, maxVmInterfaces);
    const nics = devices.filter(({ class_info }) => class_info.class === ethernet);
    // The last one is in the management network, so that it does not rename the others in the guest.
    expect(nics.map(({ slot, function: part, qdev_id }) => [slot, part, qdev_id])).toEqual([
      ...Array.from({ length: maxVmInterfaces }, (_, i) => [8 + i, 0, `nic${i}`]),
      [31, machine === "pc" ? 0 : 7, `nic${maxVmInterfaces}`],
    ]);
    // A guest checks further functions of a slot only if the first exists.
    for (const { slot } of devices) expect(devices.some((one) => one.slot === slot && one.function === 0)).toBe(true);
    const own = devices.filter(({ slot, class_info }) => class_info.class !== ethernet && slot > 1 && slot < 31);
    expect(Math.max(...own.map(({ slot }) => slot))).toBeLessThan(8);
  });

  test("interfaces keep their slots when devices are added to the machine", async () => {
    const places = async (vm: VmTemplate) => {
      const settings = vmConfig(vm, { disks: [], cdroms: [] }, false);
      return (await pciDevices(settings, 2)).flatMap(({ slot, qdev_id }) => (qdev_id.startsWith("nic") ? [[qdev_id, slot]] : []));
    };
    const few = { ...full, video: "none", arguments: "" } as const;
    expect(await places(few)).toEqual([
      ["nic0", 8],
      ["nic1", 9],
      ["nic2", 31],
    ]);
    expect(await places({ ...few, arguments: "-device virtio-rng-pci" })).toEqual(await places(few));
  });
});
