import { Failure } from "../../../contract/errors.ts";
import type { VmImage } from "../images/vm-images.ts";
import { parseArguments, pciModels } from "../templates/extra-arguments.ts";
import { uefiFirmware, type VmTemplate } from "../templates/vm-template.ts";

/**
 * PCI slots: 0 and 1, and 31 of q35, belong to the machine; interfaces begin at 8 (native/supervisor/vm.h). The slots must be the same at every
 * start, or a saved state would not fit. So each device has an explicit slot: the hypervisor would use the next free one.
 */
const videoSlot = 2;
/** The slot of the disks' controller (function 0) and of devices in the node's own arguments. */
const controllerSlot = 3;
const firstDiskSlot = 4;
/** The slot of the config drive (function 0) and the guest agent. */
const configSlot = 7;

/** The PCI address of the interface in the management network: after those of all links, also on q35, whose last slot has a free function. */
export const managementPlace = { pc: "0x1f", q35: "0x1f.0x7" } as const;

/** The socket of the guest agent's channel, inside the node. */
export const agentSocket = "/run/vm/agent/agent.sock";
/** The socket of the guest's screen for VNC clients, inside the node. */
export const screenSocket = "/run/vm/screen/vnc.sock";

const videoModels = { std: "VGA", cirrus: "cirrus-vga", vmware: "vmware-svga", virtio: "virtio-vga" } as const;

export function usesKvm(vm: VmTemplate, kvm: boolean): boolean {
  return kvm && vm.accelerator !== "tcg";
}

/** The supervisor's settings file (native/supervisor/config.c). Throws unsupported if the node requires KVM and it does not work here. */
export function vmConfig(vm: VmTemplate, image: VmImage, kvm: boolean): string {
  if (vm.accelerator === "kvm" && !kvm) {
    throw new Failure("unsupported", "accelerator kvm: hardware virtualisation does not work on this machine", {
      data: { feature: "kvm" },
    });
  }
  const accelerated = usesKvm(vm, kvm);
  const extra = parseArguments(vm.arguments);
  if ("problem" in extra) throw new Error(extra.problem);
  const bus = vm.machine === "pc" ? "pci.0" : "pcie.0";
  const cpu = vm["cpu-model"] === "auto" ? (accelerated ? "host" : "max") : vm["cpu-model"];
  const argv = [
    "/usr/bin/qemu-system-x86_64",
    "-nodefaults",
    "-no-user-config",
    ...["-machine", `${vm.machine},accel=${accelerated ? "kvm" : "tcg"}`],
    ...["-cpu", cpu],
    ...["-smp", String(vm.cpu)],
    ...["-m", String(vm.ram)],
    ...["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"],
    ...["-display", "none"],
    ...(vm.video === "none" ? [] : ["-vnc", `unix:${screenSocket}`, "-device", `${videoModels[vm.video]},bus=${bus},addr=${videoSlot}`]),
    ...(vm.firmware === "uefi" ? ["-bios", uefiFirmware] : []),
    ...(image.kernel === undefined ? [] : ["-kernel", `/${image.kernel}`]),
    ...(image.initrd === undefined ? [] : ["-initrd", `/${image.initrd}`]),
    ...(image.commandLine === undefined ? [] : ["-append", image.commandLine]),
    ...disks(vm, image, bus, extra.argv.length > 0),
    ...agent(vm, bus),
    ...placed(extra.argv, vm, bus),
  ];
  const lines = [
    ...argv.map((word) => `arg ${word}`),
    ...image.disks.map(({ file, format }) => `disk ${format} ${file}`),
    `nic ${vm.nic} ${bus}`,
    `management ${managementPlace[vm.machine]}`,
    ...(vm.configDrive === undefined ? [] : [`drive ${vm.configDrive.label}`]),
    ...(vm.ready === undefined ? [] : [`ready ${vm.ready}`]),
    ...(vm.failed === undefined ? [] : [`failed ${vm.failed}`]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Returns whether the disks need an extra controller. q35 has SATA built in. */
function hasController(vm: VmTemplate): boolean {
  return vm["disk-bus"] === "scsi" || (vm["disk-bus"] === "sata" && vm.machine === "pc");
}

/** Returns the node's own arguments, with each PCI device at a function of the controller's slot. */
function placed(argv: readonly string[], vm: VmTemplate, bus: string): readonly string[] {
  let next = hasController(vm) ? 1 : 0;
  const place = () => {
    const first = next === 0 ? ",multifunction=on" : "";
    return `bus=${bus},addr=${controllerSlot}.${next++}${first}`;
  };
  return argv.flatMap((word) => {
    // On q35 the default would be four controllers in the slot of an interface.
    if (word === "-usb" && vm.machine === "q35") return ["-device", `piix3-usb-uhci,${place()}`];
    return pciModels.includes(word.split(",")[0]!) ? `${word},${place()}` : word;
  });
}

/** @param shared whether the controller's slot has other devices too */
function disks(vm: VmTemplate, image: VmImage, bus: string, shared: boolean): readonly string[] {
  const controller = `bus=${bus},addr=${controllerSlot}${shared ? ",multifunction=on" : ""}`;
  const sata = hasController(vm) && vm["disk-bus"] === "sata";
  const argv: string[] = [];
  if (sata) argv.push("-device", `ahci,id=sata,${controller}`);
  if (vm["disk-bus"] === "scsi") argv.push("-device", `virtio-scsi-pci,id=scsi,${controller}`);
  const place = (index: number): string => {
    switch (vm["disk-bus"]) {
      case "virtio":
        return `virtio-blk-pci,bus=${bus},addr=${firstDiskSlot + index}`;
      case "scsi":
        return `scsi-hd,bus=scsi.0,scsi-id=${index}`;
      case "sata":
        return `ide-hd,bus=${sata ? "sata" : "ide"}.${index}`;
      case "ide":
        return vm.machine === "pc" ? `ide-hd,bus=ide.${index >> 1},unit=${index & 1}` : `ide-hd,bus=ide.${index}`;
    }
  };
  for (const index of image.disks.keys()) {
    argv.push("-drive", `file=/vm/disk${index}.qcow2,if=none,id=disk${index},format=qcow2,discard=unmap`);
    argv.push("-device", `${place(index)},drive=disk${index},bootindex=${index + 1}`);
  }
  // The second unit of the second IDE channel, or the last two ports of q35: they are free for every disk bus.
  const cd = (id: string, unit: number) => `ide-cd,bus=${vm.machine === "pc" ? `ide.1,unit=${unit}` : `ide.${4 + unit}`},drive=${id}`;
  for (const file of image.cdroms) {
    argv.push("-drive", `file=/${file},if=none,id=cdrom,format=raw,media=cdrom,readonly=on`);
    // The disks have numbers from 1.
    argv.push("-device", `${cd("cdrom", 1)},bootindex=${vm["boot-from"] === "cdrom" ? 0 : image.disks.length + 1}`);
  }
  if (vm.configDrive !== undefined) {
    argv.push("-drive", "file=/vm/config.iso,if=none,id=config,format=raw,readonly=on");
    const place = `bus=${bus},addr=${configSlot}${vm["guest-agent"] === "on" ? ",multifunction=on" : ""}`;
    argv.push("-device", vm.configDrive.bus === "cdrom" ? cd("config", 0) : `virtio-blk-pci,${place},drive=config`);
  }
  return argv;
}

/** The channel of the guest agent: a port with the name that the agent of every distribution looks for. */
function agent(vm: VmTemplate, bus: string): readonly string[] {
  if (vm["guest-agent"] === "off") return [];
  const address = vm.configDrive?.bus === "virtio" ? `${configSlot}.1` : String(configSlot);
  return [
    ...["-chardev", `socket,id=agent,path=${agentSocket},server=on,wait=off`],
    ...["-device", `virtio-serial-pci,id=agentbus,bus=${bus},addr=${address},max_ports=2`],
    ...["-device", "virtserialport,bus=agentbus.0,nr=1,chardev=agent,name=org.qemu.guest_agent.0"],
  ];
}
