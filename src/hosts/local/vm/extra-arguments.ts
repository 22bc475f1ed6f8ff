/** Devices with a place on the PCI bus. */
export const pciModels: readonly string[] = ["qemu-xhci", "piix3-usb-uhci", "virtio-rng-pci", "virtio-balloon-pci", "i6300esb"];

/** Functions of a PCI slot, but for the one of a disk controller. */
const mostPciDevices = 7;

/**
 * Arguments of the hypervisor that a node may bring. A list of what is known to change only the guest's machine: nothing that names a file, a
 * socket, a program or a process, and nothing that would take a place of the hypervisor's own.
 */
const allowed: Readonly<Record<string, RegExp | null>> = {
  "-boot":
    /^(order=[acdn]{1,4}|menu=(on|off)|strict=(on|off)|splash-time=\d{1,5}|reboot-timeout=-?\d{1,5})(,(menu=(on|off)|strict=(on|off)|reboot-timeout=-?\d{1,5}))*$/,
  // An id of the hypervisor's own (nic0, disk0 …) would take its place.
  "-device": new RegExp(
    `^(usb-tablet|usb-kbd|usb-mouse|ib700|${pciModels.join("|")})(,id=(?!(nic|net|disk)\\d+$|(sata|scsi|cdrom|config|serial|monitor)$)[A-Za-z][A-Za-z0-9]{0,15})?$`,
  ),
  "-global": /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+=[A-Za-z0-9_.-]+$/,
  "-no-fd-bootchk": null,
  "-no-hpet": null,
  "-rtc":
    /^(base=(utc|localtime|\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?)|clock=(vm|host|rt)|driftfix=(none|slew))(,(clock=(vm|host|rt)|driftfix=(none|slew)))*$/,
  "-smbios":
    /^type=[0-4](,(vendor|version|date|release|manufacturer|product|serial|uuid|sku|family|asset|location|sock_pfx|part)=[A-Za-z0-9 ._:/()-]{0,64})*$/,
  "-usb": null,
  "-uuid": /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  "-watchdog-action": /^(reset|shutdown|poweroff|inject-nmi|pause|debug|none)$/,
};

/** The arguments of one text, each by itself, or what is wrong with it for people. A blank within a value is written in double quotes. */
export function parseArguments(text: string): { readonly argv: readonly string[] } | { readonly problem: string } {
  const words = [...text.matchAll(/(?:[^\s"]|"[^"\n]*")+/g)].map(([word]) => word.replaceAll('"', ""));
  if (/"/.test(text.replaceAll(/"[^"\n]*"/g, ""))) return { problem: "a quote is not closed" };
  const argv: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const option = words[i]!.replace(/^--/, "-");
    const pattern = Object.hasOwn(allowed, option) ? allowed[option] : undefined;
    if (pattern === undefined) {
      return { problem: `${JSON.stringify(words[i])} is not among those that a node may bring: ${Object.keys(allowed).join(" ")}` };
    }
    argv.push(option);
    if (pattern === null) continue;
    const value = words[++i];
    if (value === undefined) return { problem: `${option} needs a value` };
    if (!pattern.test(value)) return { problem: `${option} may not be ${JSON.stringify(value)}` };
    argv.push(value);
  }
  const placed = argv.filter((word) => word === "-usb" || pciModels.includes(word.split(",")[0]!));
  if (placed.length > mostPciDevices) return { problem: `more than ${mostPciDevices} PCI devices` };
  return { argv };
}
