import { readFileSync } from "node:fs";
import { naturally } from "./php.ts";

export interface Template {
  readonly id: string;
  readonly description: string;
  readonly type: string;
  /** Prefix of its nodes' names. */
  readonly name: string;
  readonly icon: string;
  readonly cpu: number;
  readonly ram: number;
  readonly ethernet: number;
  readonly console: string;
  readonly qemuOptions?: string;
  readonly qemuVersion?: string;
  readonly qemuArch?: string;
  readonly qemuNic?: string;
  /** Whether there is a script for startup configs. */
  readonly config: boolean;
}

function lines(file: string): readonly string[] {
  return readFileSync(new URL(`recorded/${file}`, import.meta.url), "utf8")
    .trimEnd()
    .split("\n");
}

interface Seen {
  readonly template: string;
  readonly type: string;
  readonly ethernet: number | null;
  readonly console: string | null;
}

/** Those that the real host was seen to have startup configs for, and those whose way of getting one is in the code of EVE-NG. */
const withConfig = new Set(
  "vpcs vios iol c1710 c3725 c7200 viosl2 csr1000v csr1000vng xrv xrv9k asav titanium nxosv9k timos timoscpm vsrx vsrxng vmx vmxvcp vqfxre junipervrr veos pfsense paloalto mikrotik".split(
    " ",
  ),
);

/** Seen in full. Of all others name, icon, processors and memory are made up. */
const seen: Readonly<Record<string, Partial<Template>>> = {
  vpcs: { name: "VPC", icon: "PC-2D-Desktop-Generic-S.svg" },
  linux: {
    name: "Linux",
    icon: "Server-2D-Linux-S.svg",
    cpu: 2,
    ram: 4096,
    qemuOptions: "-machine type=pc,accel=kvm -vga std -usbdevice tablet -boot order=cd -cpu host",
    qemuVersion: "2.12.0",
    qemuArch: "x86_64",
    qemuNic: "virtio-net-pci",
  },
  vios: {
    name: "vIOS",
    icon: "Router-2D-Gen-White-S.svg",
    qemuOptions: "-machine type=pc,accel=kvm -serial mon:stdio -nographic -no-user-config -nodefaults -rtc base=utc -cpu host",
    qemuVersion: "2.4.0",
    qemuArch: "x86_64",
  },
};

const byTemplate: ReadonlyMap<string, Seen> = new Map(
  lines("interface-names.jsonl")
    .map((line) => JSON.parse(line) as Seen)
    .map((each) => [each.template, each]),
);

/** In the order of the host's list. */
export const templates: ReadonlyMap<string, Template> = new Map(
  lines("templates.txt").map((line) => {
    const [id = "", description = ""] = line.split("\t");
    const { type = "qemu", ethernet, console } = byTemplate.get(id) ?? {};
    const made = { name: id, icon: "Router.png", cpu: 1, ram: 1024, ethernet: ethernet ?? 1, console: console ?? "telnet" };
    const qemu = type === "qemu" ? { qemuOptions: "-machine type=pc,accel=kvm", qemuArch: "x86_64" } : {};
    return [id, { id, description, type, ...made, ...qemu, config: withConfig.has(id), ...seen[id] }];
  }),
);

/** Those that the host lists. */
export const icons: readonly string[] = lines("icons.txt");

/** The drawn icons of templates are there too, though no list has them. */
export function hasIcon(name: string): boolean {
  return icons.includes(name) || /^[A-Za-z0-9_+ -]*-2D-[A-Za-z0-9_+ -]*\.svg$/.test(name);
}

/** The images of a template, the newest last. */
export function imagesOf(images: Readonly<Record<string, readonly string[]>>, type: string, template: string): readonly string[] {
  return type === "vpcs" ? [""] : [...(images[template] ?? [])].sort(naturally);
}

/** Slots of Dynamips templates and the modules for them, as in the templates of UNetLab, from which EVE-NG comes. */
const slotsOf: Readonly<Record<string, { readonly slots: number; readonly modules: readonly string[] }>> = {
  c3725: { slots: 2, modules: ["NM-1FE-TX", "NM-16ESW"] },
  c7200: { slots: 6, modules: ["PA-FE-TX", "PA-4E", "PA-8E"] },
};

/** GET /list/templates/{id} */
export function templateDetail(template: Template, installed: readonly string[], missing: string): object {
  const { type } = template;
  const input = (name: string, value: unknown) => ({ name, type: "input", value });
  const list = (name: string, value: unknown, values: readonly string[], own?: string) => ({
    name,
    type: "list",
    value,
    list: own === undefined ? Object.fromEntries(values.map((each) => [each, each])) : tplList(values, own),
  });
  const options: Record<string, unknown> = {};
  if (type !== "vpcs") {
    const image = { name: "Image", type: "list" };
    options.image =
      installed.length === 0
        ? { ...image, value: "", list: [] }
        : { ...image, list: Object.fromEntries(installed.map((each) => [each, each])), value: installed.at(-1) };
  }
  options.name = input("Name/prefix", template.name);
  options.icon = list("Icon", template.icon, icons);
  if (type === "qemu") {
    options.uuid = input("UUID", "");
    options.cpulimit = { name: "CPU Limit", type: "checkbox", value: 1 };
    options.cpu = input("CPU", template.cpu);
  }
  if (type === "dynamips") options.idlepc = input("Idle PC", "0x0");
  if (type === "dynamips" || type === "iol") options.nvram = input("NVRAM", type === "iol" ? 1024 : 128);
  const { slots = 0, modules = [] } = slotsOf[template.id] ?? {};
  for (let slot = 1; slot <= slots; slot++) {
    const choices = { "": "Empty", ...Object.fromEntries(modules.map((each) => [each, each])) };
    options[`slot${slot}`] = { name: `Slot ${slot}`, type: "list", value: "", list: choices };
  }
  if (["dynamips", "iol", "qemu", "docker"].includes(type)) options.ram = input("RAM", template.ram);
  if (type === "qemu" || type === "docker") options.ethernet = input("Ethernets", template.ethernet);
  if (type === "iol") options.ethernet = input("Ethernet portgroups (4 int each)", template.ethernet);
  if (["bigip", "firepower6", "firepower", "linux"].includes(template.id)) options.firstmac = input("First Eth MAC Address", "");
  if (type === "qemu") {
    options.qemu_version = list("QEMU Version", template.qemuVersion ?? "", qemuVersions, `(${template.qemuVersion ?? "default 2.4.0"})`);
    const arch = template.qemuArch;
    options.qemu_arch = list("QEMU Arch", arch ?? "", ["i386", "x86_64"], arch === undefined ? "" : `(${arch})`);
    options.qemu_nic = list("QEMU Nic", template.qemuNic ?? "", qemuNics, `(${template.qemuNic ?? "e1000"})`);
    options.qemu_options = input("QEMU custom options", template.qemuOptions ?? "");
  }
  if (type === "iol") options.serial = input("Serial portgroups (4 int each)", 1);
  options.config = { name: "Startup configuration", type: "list", value: "0", list: ["None", "Exported"] };
  options.delay = input("Delay (s)", 0);
  if (type === "qemu") options.console = list("Console", template.console, ["telnet", "vnc", "rdp"]);
  const present = type === "vpcs" || installed.length > 0;
  return {
    options,
    description: template.description + (present ? "" : missing),
    type,
    ...(type === "dynamips" ? { dynamips: [] } : {}),
    ...(type === "qemu" ? { qemu: qemuOf(template) } : {}),
  };
}

function qemuOf({ qemuArch, qemuVersion, qemuNic, qemuOptions }: Template): object {
  const all = { arch: qemuArch, version: qemuVersion, nic: qemuNic, options: qemuOptions };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Maps each value to itself, and the empty key to the template's own value, with the prefix `tpl`. */
function tplList(values: readonly string[], own: string): ReadonlyMap<string, string> {
  return new Map([...values.map((each) => [each, each] as const), ["", `tpl${own}`]]);
}

const qemuVersions = ["1.3.1", "2.0.2", "2.2.0", "2.4.0", "2.5.0", "2.6.2", "2.12.0", "3.1.0", "4.1.0", "5.2.0", "6.0.0"];
const qemuNics = ["virtio-net-pci", "e1000", "i82559er", "rtl8139", "e1000-82545em", "vmxnet3"];
