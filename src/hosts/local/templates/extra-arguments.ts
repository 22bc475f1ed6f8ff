import type { ValueProblem } from "../../host.ts";

/** Devices with a place on the PCI bus. */
export const pciModels: readonly string[] = ["qemu-xhci", "piix3-usb-uhci", "virtio-rng-pci", "virtio-balloon-pci", "i6300esb"];

const deviceModels = ["usb-tablet", "usb-kbd", "usb-mouse", "ib700", ...pciModels];

/** Functions of a PCI slot, except the function of a disk controller. */
const maxPciDevices = 7;

/**
 * The allow-list of a node's own hypervisor arguments: only arguments that are known to change only the guest's hardware. No argument may name a
 * file, a socket, a program or a process, or use a PCI slot or id that Labwright uses.
 */
const allowed: Readonly<Record<string, Option>> = {
  "-boot": {
    value:
      /^(order=[acdn]{1,4}|menu=(on|off)|strict=(on|off)|splash-time=\d{1,5}|reboot-timeout=-?\d{1,5})(,(menu=(on|off)|strict=(on|off)|reboot-timeout=-?\d{1,5}))*$/,
    form: "such as order=dc,menu=on, with order, menu, strict, splash-time and reboot-timeout",
  },
  // Labwright uses these ids for its own devices (nic0, disk0 …).
  "-device": {
    value: new RegExp(
      `^(${deviceModels.join("|")})(,id=(?!(nic|net|disk)\\d+$|(sata|scsi|cdrom|config|serial|monitor)$)[A-Za-z][A-Za-z0-9]{0,15})?$`,
    ),
    form: `one of ${deviceModels.join(", ")}, with an id of its own if need be`,
  },
  "-global": { value: /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+=[A-Za-z0-9_.-]+$/, form: "DRIVER.PROPERTY=VALUE" },
  "-no-fd-bootchk": {},
  "-no-hpet": {},
  "-rtc": {
    value:
      /^(base=(utc|localtime|\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?)|clock=(vm|host|rt)|driftfix=(none|slew))(,(clock=(vm|host|rt)|driftfix=(none|slew)))*$/,
    form: "such as base=localtime,driftfix=slew, with base, clock and driftfix",
  },
  "-smbios": {
    value:
      /^type=[0-4](,(vendor|version|date|release|manufacturer|product|serial|uuid|sku|family|asset|location|sock_pfx|part)=[A-Za-z0-9 ._:/()=@+-]{0,255})*$/,
    form: "such as type=1,product=Router, and no file",
  },
  "-usb": {},
  "-uuid": { value: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, form: "a UUID" },
  "-watchdog-action": {
    value: /^(reset|shutdown|poweroff|inject-nmi|pause|debug|none)$/,
    form: "one of reset, shutdown, poweroff, inject-nmi, pause, debug, none",
  },
};

/** An option with a description of its values, or an option without a value. */
type Option = { readonly value: RegExp; readonly form: string } | { readonly value?: never };

/** Splits a text into arguments. Returns them, or a message for users about the problem. A value with a blank is written in double quotes. */
export function parseArguments(text: string): { readonly argv: readonly string[] } | ValueProblem {
  const words = [...text.matchAll(/(?:[^\s"]|"[^"\n]*")+/g)].map(([word]) => word.replaceAll('"', ""));
  if (/"/.test(text.replaceAll(/"[^"\n]*"/g, ""))) {
    return { problem: "a quote is not closed", hint: 'a value with a blank stands in double quotes: -smbios "type=1,product=Big Router"' };
  }
  const argv: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const option = words[i]!.replace(/^--/, "-");
    const known = Object.hasOwn(allowed, option) ? allowed[option] : undefined;
    if (known === undefined) {
      const problem = `${JSON.stringify(words[i])} is not among those that a node may bring`;
      return { problem, hint: `a node may bring ${Object.keys(allowed).join(" ")}` };
    }
    argv.push(option);
    if (known.value === undefined) continue;
    const value = words[++i];
    const hint = `the value of ${option} is ${known.form}`;
    if (value === undefined) return { problem: `${option} needs a value`, hint };
    if (!known.value.test(value)) return { problem: `${option} may not be ${JSON.stringify(value)}`, hint };
    argv.push(value);
  }
  const placed = argv.filter((word) => word === "-usb" || pciModels.includes(word.split(",")[0]!));
  if (placed.length > maxPciDevices) {
    const hint = `${pciModels.join(", ")} and -usb share one PCI slot, which has ${maxPciDevices} places`;
    return { problem: `${placed.length} PCI devices, more than ${maxPciDevices}`, hint };
  }
  return { argv };
}
