import { Failure } from "../../../contract/errors.ts";
import type { Scalar } from "../../../intent/lab/lab.ts";
import { parseArguments } from "./extra-arguments.ts";
import type { LocalTemplate } from "./template.ts";

/** Properties of a virtual machine in a template. Attributes of the same names override them. docs/vm.md explains each. */
export interface VmSettings {
  readonly machine: "pc" | "q35";
  readonly "cpu-model": string;
  readonly nic: "virtio-net-pci" | "e1000" | "e1000e" | "rtl8139" | "vmxnet3" | "ne2k_pci" | "pcnet";
  readonly "disk-bus": "virtio" | "ide" | "sata" | "scsi";
  readonly video: "none" | "std" | "cirrus" | "vmware" | "virtio";
  readonly accelerator: "auto" | "kvm" | "tcg";
  readonly firmware: "bios" | "uefi";
  /** The first medium to boot from, if it is there. */
  readonly "boot-from": "disk" | "cdrom";
  /** A channel for the QEMU guest agent, which runs programs in the guest. */
  readonly "guest-agent": "on" | "off";
  /** Arguments of the allow-list for the hypervisor, as one text. */
  readonly arguments: string;
}

export interface VmTemplate extends VmSettings {
  readonly cpu: number;
  /** MiB. */
  readonly ram: number;
  readonly configDrive?: ConfigDrive;
  /** POSIX extended regular expression: a guest is ready when its console shows it. */
  readonly ready?: string;
  /** The same for a failed boot: its first group is the exit code, with which the node ends. */
  readonly failed?: string;
}

/** A small ISO 9660 disk with the node's settings from the intent. */
export interface ConfigDrive {
  readonly label: string;
  readonly bus: "virtio" | "cdrom";
  /** File name → what is in it. */
  readonly files: Readonly<Record<string, ConfigDriveSource>>;
}

/**
 * startup-config: its text; exec: the commands, one a line; identity: what cloud-init calls meta-data; identity-keys: the same with the public keys of
 * ssh-keys, for guests with cloud-init; network: its network-config, in a lab with a management network only.
 */
export const configDriveSources = ["startup-config", "exec", "identity", "identity-keys", "network"] as const;
export type ConfigDriveSource = (typeof configDriveSources)[number];

/** The allowed values of each setting that has a closed set of values. */
export const vmChoices = {
  machine: ["pc", "q35"],
  nic: ["virtio-net-pci", "e1000", "e1000e", "rtl8139", "vmxnet3", "ne2k_pci", "pcnet"],
  "disk-bus": ["virtio", "ide", "sata", "scsi"],
  video: ["none", "std", "cirrus", "vmware", "virtio"],
  accelerator: ["auto", "kvm", "tcg"],
  firmware: ["bios", "uefi"],
  "boot-from": ["disk", "cdrom"],
  "guest-agent": ["on", "off"],
} as const satisfies { readonly [K in keyof VmSettings]?: readonly VmSettings[K][] };

/** Defaults of a template. */
export const vmDefaults: VmTemplate = {
  machine: "pc",
  "cpu-model": "auto",
  nic: "virtio-net-pci",
  "disk-bus": "virtio",
  video: "none",
  accelerator: "auto",
  firmware: "bios",
  "boot-from": "disk",
  "guest-agent": "off",
  arguments: "",
  cpu: 1,
  ram: 512,
};

/** auto, or a CPU model of the hypervisor with features: "Nehalem,+x2apic". */
export const cpuModelPattern = /^[A-Za-z0-9._-]+(,[+-][A-Za-z0-9._-]+)*$/;

/** Maximum virtual CPUs and memory (MiB) of a node. */
export const maxShareOfMachine = { cpu: 64, ram: 1_048_576 };

/** Maximum number of interfaces: up to the last PCI slot that is free in both machine types. The supervisor has the same limit. */
export const maxVmInterfaces = 23;

/** The image that contains the hypervisor of every virtual machine. Built by set-up. */
export const hypervisorImage = "qemu";

/** UEFI in the hypervisor's image. */
export const uefiFirmware = "/usr/share/ovmf/OVMF.fd";

/** The image that contains the kernel of nodes with `kernel: own`. Built by set-up. */
export const kernelImage = "kernel";

/** Interfaces that a node with a kernel of its own can have: its virtual machine takes no device while it runs, so it has all of them from the start. */
export const ownKernelInterfaces = 16;

/** Memory with which such a node boots, MiB. */
export const ownKernelMinRam = 96;

/** Path of the supervisor in the hypervisor's image. */
export const supervisor = "/usr/lib/labwright/vm";

export interface VmNode {
  readonly name: string;
  readonly cpu?: number;
  readonly ram?: number;
  readonly attributes: Readonly<Record<string, Scalar>>;
}

/** Returns the VM properties of this node. Throws host_error that names an invalid property. */
export function vmOf(template: LocalTemplate, node: VmNode): VmTemplate {
  const vm = template.vm ?? vmDefaults;
  const refused = (message: string) =>
    new Failure("host_error", `node ${node.name}: ${message}`, { data: { host: { code: "bad_attribute", message } } });
  const value = (name: string, fallback: string): string => {
    const declared = template.attributes.find((attribute) => attribute.name === name);
    return String((declared === undefined ? undefined : (node.attributes[name] ?? declared.default)) ?? fallback);
  };
  const choice = <K extends keyof typeof vmChoices>(name: K): (typeof vmChoices)[K][number] => {
    const word = value(name, vm[name]);
    const found = vmChoices[name].find((one) => one === word);
    if (found === undefined) throw refused(`${name} is ${JSON.stringify(word)}, not one of ${vmChoices[name].join(", ")}`);
    return found as (typeof vmChoices)[K][number];
  };
  const whole = (name: "cpu" | "ram"): number => {
    const number = node[name] ?? vm[name];
    if (!Number.isInteger(number) || number < 1 || number > maxShareOfMachine[name]) {
      throw refused(`${name} is ${number}, not a whole number from 1 to ${maxShareOfMachine[name]}`);
    }
    return number;
  };
  const cpuModel = value("cpu-model", vm["cpu-model"]);
  if (!cpuModelPattern.test(cpuModel)) throw refused(`cpu-model ${JSON.stringify(cpuModel)} is not a CPU model`);
  const extra = value("arguments", vm.arguments);
  const parsed = parseArguments(extra);
  if ("problem" in parsed) throw refused(`arguments: ${parsed.problem}; ${parsed.hint}`);
  return {
    ...vm,
    machine: choice("machine"),
    nic: choice("nic"),
    "disk-bus": choice("disk-bus"),
    video: choice("video"),
    accelerator: choice("accelerator"),
    firmware: choice("firmware"),
    "boot-from": choice("boot-from"),
    "guest-agent": choice("guest-agent"),
    "cpu-model": cpuModel,
    arguments: extra,
    cpu: whole("cpu"),
    ram: whole("ram"),
  };
}
