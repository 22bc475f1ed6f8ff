import { plannedInterfaces } from "../../../src/hosts/eve/templates/interface-names.ts";
import { html } from "./answer.ts";
import { type Extra, NodeInterface } from "./interface.ts";
import { isPosition, position } from "./network.ts";
import { type NoticeSettings, noticeOfKey } from "./notice.ts";
import { type Body, isset, phpInt, phpString } from "./php.ts";
import type { Template } from "./templates.ts";

/** The parts of its host that a node uses. */
export interface NodeHost extends NoticeSettings {
  readonly template: (id: string) => Template | undefined;
  readonly imagesOf: (type: string, template: string) => readonly string[];
  readonly hasIcon: (name: string) => boolean;
  readonly random: (low: number, high: number) => number;
  readonly uuid: () => string;
}

const types = ["iol", "dynamips", "docker", "qemu", "vpcs", "Nokia"];
const consoles = ["telnet", "vnc", "rdp", "html5_rdp", "html5_telnet", "html5_vnc"];
/** Templates with a MAC address of their own. */
export const withFirstMac: readonly string[] = ["bigip", "firepower6", "firepower", "linux"];
const slotKey = /^slot([0-9]+)$/;

/** A node with EVE-NG's rules: invalid values are left out, missing ones read as defaults. */
export class LabNode {
  readonly id: number;
  readonly type: string;
  readonly template: string;
  readonly tenant: number;
  readonly port: number;
  readonly ethernets = new Map<number, NodeInterface>();
  readonly serials = new Map<number, NodeInterface>();
  readonly slots = new Map<number, string>();
  extra: Extra = [];
  #configData: string | undefined;
  readonly #host: NodeHost;
  readonly #labId: string;
  /** The settings. Values keep the type that they came with: numbers and strings from a file, any type from a body. */
  readonly #set: Record<string, unknown> = {};

  /** Throws where EVE-NG does: no type or template, or none that it knows. */
  constructor(p: Body, id: number, tenant: number, labId: string, host: NodeHost) {
    const [type, template] = [phpString(p.type), phpString(p.template)];
    if (!types.includes(type) || host.template(template) === undefined) throw new RangeError("40002");
    this.id = id;
    this.type = type;
    this.template = template;
    this.tenant = tenant;
    this.port = 32768 + 128 * tenant + id;
    this.#host = host;
    this.#labId = labId;
    const set = this.#set;
    if (isset(p.config) && isConfig(p.config)) set.config = p.config;
    if (isset(p.delay) && phpInt(p.delay) >= 0) set.delay = phpInt(p.delay);
    if (isset(p.icon) && host.hasIcon(phpString(p.icon))) set.icon = p.icon;
    set.left = position(p.left, 1024);
    set.top = position(p.top, 768);
    if (isset(p.name) && isNodeName(p.name)) set.name = phpString(p.name);
    if (isset(p.console) && (type !== "qemu" || consoles.includes(phpString(p.console)))) set.console = p.console;
    // An image that is not there is the newest one that is.
    const images = host.imagesOf(type, template);
    set.image = isset(p.image) && images.includes(phpString(p.image)) ? phpString(p.image) : (images.at(-1) ?? "");
    if (type === "vpcs") set.ethernet = isset(p.ethernet) ? 1 : undefined;
    else if (isset(p.ethernet)) set.ethernet = ethernetOf(type, phpInt(p.ethernet));
    if (type === "iol" && isset(p.serial)) set.serial = phpInt(p.serial) < 0 ? 2 : phpInt(p.serial);
    if (["iol", "dynamips"].includes(type) && phpInt(p.nvram) > 0) set.nvram = phpInt(p.nvram);
    if (type !== "vpcs" && phpInt(p.ram) > 0) set.ram = phpInt(p.ram);
    if (type === "dynamips" && isset(p.idlepc) && isIdlePc(p.idlepc)) set.idlepc = p.idlepc;
    if (type === "qemu") this.#setQemu(p);
    this.#setEthernets();
    if (type === "iol") this.#setSerials();
    if (type === "dynamips") {
      for (const [key, module] of Object.entries(p)) {
        const slot = slotKey.exec(key)?.[1];
        if (slot !== undefined) this.setSlot(Number(slot), phpString(module));
      }
    }
  }

  #setQemu(p: Body): void {
    const set = this.#set;
    if (phpInt(p.cpu) > 0) set.cpu = phpInt(p.cpu);
    if (isset(p.cpulimit)) set.cpulimit = phpInt(p.cpulimit);
    if (isset(p.uuid) && isUuid(p.uuid)) set.uuid = p.uuid;
    if (this.#hasFirstMac) set.firstmac = isset(p.firstmac) && isMac(p.firstmac) ? phpString(p.firstmac) : this.#defaultMac;
    const given = isset(p.qemu_options) && (!isset(p.ro_qemu_options) || p.qemu_options !== p.ro_qemu_options);
    set.qemu_options = given ? phpString(p.qemu_options) : "";
    for (const key of ["qemu_version", "qemu_arch", "qemu_nic"]) set[key] = phpString(p[key]);
  }

  get #hasFirstMac(): boolean {
    return this.type === "qemu" && withFirstMac.includes(this.template);
  }

  get #defaultMac(): string {
    const hex = (value: number) => Math.trunc(value).toString(16).padStart(2, "0");
    return `00:50:${hex(this.tenant)}:${hex(this.id / 512)}:${hex(this.id % 512)}:00`;
  }

  get #yml(): Template {
    return this.#host.template(this.template) as Template;
  }

  get name(): string {
    return (this.#set.name as string | undefined) ?? `Node${this.id}`;
  }

  get image(): string {
    return this.#set.image as string;
  }

  get icon(): unknown {
    return this.#set.icon ?? "Router.png";
  }

  get config(): unknown {
    return this.#set.config ?? 0;
  }

  get delay(): unknown {
    return this.#set.delay ?? 0;
  }

  /** A node without a place is somewhere else each time it is asked, until it is saved. */
  get left(): unknown {
    return this.#set.left ?? this.#host.random(100, 924);
  }

  get top(): unknown {
    return this.#set.top ?? this.#host.random(100, 668);
  }

  get console(): unknown {
    return this.#set.console ?? (["iol", "dynamips"].includes(this.type) ? "" : "telnet");
  }

  get cpu(): unknown {
    return this.#set.cpu ?? 1;
  }

  get cpulimit(): unknown {
    return this.#set.cpulimit ?? 1;
  }

  get ram(): unknown {
    return this.#set.ram ?? 1024;
  }

  get nvram(): unknown {
    return this.#set.nvram ?? 1024;
  }

  get idlepc(): unknown {
    return this.#set.idlepc ?? "0x0";
  }

  /** Nothing until the lab has been read again, where it was not given. */
  get ethernet(): unknown {
    return this.type === "dynamips" ? 0 : this.#set.ethernet;
  }

  get serial(): number {
    return this.serials.size / 4;
  }

  get uuid(): unknown {
    if (this.type === "docker") return `${this.#labId}-${this.tenant}-${this.id}`;
    return this.#set.uuid ?? this.#host.uuid();
  }

  get firstmac(): unknown {
    return this.#hasFirstMac ? this.#set.firstmac : undefined;
  }

  get qemuOptions(): unknown {
    return this.#set.qemu_options || (this.#yml.qemuOptions ?? "");
  }

  get qemuVersion(): unknown {
    return this.#set.qemu_version || (this.#yml.qemuVersion ?? "2.4.0");
  }

  get qemuArch(): unknown {
    return this.#set.qemu_arch || (this.#yml.qemuArch ?? "");
  }

  get qemuNic(): unknown {
    return this.#set.qemu_nic || (this.#yml.qemuNic ?? "");
  }

  get configData(): string {
    return this.#configData ?? "";
  }

  set configData(data: string) {
    if (data !== "") this.#configData = data;
    else {
      this.#configData = undefined;
      this.#set.config = "0";
    }
  }

  /** Whether EVE-NG counts this as a change: name, place, config, console, image, interfaces, uuid. Others change without counting. */
  edit(p: Body, callers: readonly string[]): boolean {
    const set = this.#set;
    let changed = false;
    const change = (key: string, value: unknown) => {
      set[key] = value;
      changed = true;
    };
    if (p.config === "") change("config", undefined);
    else if (isset(p.config) && isConfig(p.config)) change("config", p.config);
    if (p.delay === "") change("delay", undefined);
    else if (isset(p.delay) && phpInt(p.delay) >= 0) set.delay = phpInt(p.delay);
    if (p.icon === "") change("icon", undefined);
    else if (isset(p.icon) && this.#host.hasIcon(phpString(p.icon))) set.icon = p.icon;
    if (isset(p.image) && p.image !== "" && this.#isImage(p, callers)) change("image", phpString(p.image));
    for (const side of ["left", "top"]) {
      if (p[side] === "") change(side, undefined);
      else if (isset(p[side]) && isPosition(p[side])) change(side, p[side]);
    }
    if (p.name === "") change("name", undefined);
    else if (isset(p.name) && isNodeName(p.name)) change("name", phpString(p.name));
    if (isset(p.console)) change("console", p.console === "" ? undefined : p.console);
    if (this.type === "iol" && isset(p.serial)) {
      if (p.serial === "") changed = true;
      else if (phpInt(p.serial) >= 0 && set.serial !== phpInt(p.serial)) change("serial", phpInt(p.serial));
    }
    if (this.type !== "dynamips" && isset(p.ethernet)) {
      const least = this.type === "iol" ? 0 : 1;
      if (p.ethernet === "") changed = true;
      else if (phpInt(p.ethernet) >= least && set.ethernet !== phpInt(p.ethernet)) change("ethernet", phpInt(p.ethernet));
    }
    const numbers = { iol: ["nvram", "ram"], dynamips: ["nvram", "ram"], qemu: ["cpu", "ram"], docker: ["ram"] }[this.type] ?? [];
    for (const key of numbers) {
      if (p[key] === "") changed = true;
      else if (phpInt(p[key]) > 0) set[key] = phpInt(p[key]);
    }
    if (this.type === "dynamips" && this.#editDynamips(p)) changed = true;
    if (this.type === "qemu" && this.#editQemu(p)) changed = true;
    if (changed && isset(p.ethernet)) this.#setEthernets();
    if (changed && isset(p.serial) && this.type === "iol") this.#setSerials();
    return changed;
  }

  /** EVE-NG looks for type and template in the body, not in the node. */
  #isImage(p: Body, callers: readonly string[]): boolean {
    for (const key of ["type", "template"]) {
      if (!isset(p[key])) noticeOfKey(this.#host, key, "includes/__node.php", 531, callers);
    }
    return this.#host.imagesOf(phpString(p.type), phpString(p.template)).includes(phpString(p.image));
  }

  #editDynamips(p: Body): boolean {
    let changed = p.idlepc === "";
    if (isset(p.idlepc) && isIdlePc(p.idlepc)) this.#set.idlepc = p.idlepc;
    for (const [key, value] of Object.entries(p)) {
      const slot = Number(slotKey.exec(key)?.[1] ?? Number.NaN);
      const module = phpString(value);
      if (Number.isNaN(slot) || (module !== "" && this.slots.get(slot) === module)) continue;
      if (module === "") this.slots.delete(slot);
      else this.setSlot(slot, module);
      changed = true;
    }
    return changed;
  }

  #editQemu(p: Body): boolean {
    const set = this.#set;
    let changed = false;
    if (isset(p.cpulimit) && [0, 1].includes(phpInt(p.cpulimit))) set.cpulimit = phpInt(p.cpulimit);
    if (p.uuid === "" || (isset(p.uuid) && isUuid(p.uuid))) {
      set.uuid = p.uuid === "" ? undefined : p.uuid;
      changed = true;
    }
    if (isset(p.firstmac)) {
      if (!isMac(p.firstmac)) changed = true;
      set.firstmac = isMac(p.firstmac) ? phpString(p.firstmac) : this.#defaultMac;
    }
    // Without both, the options are those of the template again.
    const given = isset(p.qemu_options) && isset(p.ro_qemu_options) && p.qemu_options !== p.ro_qemu_options;
    set.qemu_options = given ? phpString(p.qemu_options) : "";
    for (const key of ["qemu_version", "qemu_arch", "qemu_nic"]) if (isset(p[key])) set[key] = phpString(p[key]);
    return changed;
  }

  /** Interfaces that were there stay as they are. */
  #setEthernets(): void {
    const old = new Map(this.ethernets);
    this.ethernets.clear();
    const count = phpInt(this.#set.ethernet);
    const known = plannedInterfaces({ template: this.template, type: this.type, ethernet: count });
    const counted = Array.from({ length: count }, (_, id) => ({
      id,
      name: `${this.type === "vpcs" ? "eth" : "e"}${id}`,
      type: "ethernet",
    }));
    for (const { id, name } of this.type === "vpcs" ? counted : (known ?? counted)) {
      this.ethernets.set(id, old.get(id) ?? new NodeInterface(name, "ethernet"));
    }
  }

  #setSerials(): void {
    const old = new Map(this.serials);
    this.serials.clear();
    const [ethernets, count] = [phpInt(this.#set.ethernet), phpInt(this.#set.serial)];
    for (let x = 0; x < count; x++) {
      for (let y = 0; y < 4; y++) {
        const id = x + ethernets + 16 * y;
        this.serials.set(id, old.get(id) ?? new NodeInterface(`s${x + ethernets}/${y}`, "serial"));
      }
    }
  }

  setSlot(id: number, module: string): void {
    const known = plannedInterfaces({ template: this.template, type: "dynamips", slots: [{ id, module }] }) ?? [];
    const ports = known.filter((each) => each.id >= 16);
    if (ports.length > 0) this.slots.set(id, module);
    for (const port of ports) if (!this.ethernets.has(port.id)) this.ethernets.set(port.id, new NodeInterface(port.name, "ethernet"));
  }

  /** Whether the interface is there, and what was given could be set. */
  link(id: number, p: { readonly network_id?: unknown; readonly remote_id?: unknown; readonly remote_if?: unknown }): boolean {
    const found = this.ethernets.get(id) ?? this.serials.get(id);
    return found?.edit(p) ?? false;
  }

  unlink(id: number): boolean {
    const found = this.ethernets.get(id) ?? this.serials.get(id);
    return found?.edit(found.type === "ethernet" ? { network_id: "" } : { remote_id: "" }) ?? false;
  }
}

export const editNodeCallers: readonly string[] = [
  `${html}includes/__lab.php(714): Node->edit()`,
  `${html}includes/api_nodes.php(121): Lab->editNode()`,
  `${html}api.php(761): apiEditLabNode()`,
];

function ethernetOf(type: string, wanted: number): number {
  if (type === "iol") return wanted < 0 ? 2 : wanted;
  return wanted > 0 ? wanted : type === "qemu" ? 4 : 1;
}

function isConfig(value: unknown): boolean {
  return ["0", "1"].includes(phpString(value)) || value === 0 || value === 1;
}

function isNodeName(value: unknown): boolean {
  return /^[A-Za-z0-9\-_]+$/.test(phpString(value));
}

function isIdlePc(value: unknown): boolean {
  return /^0x[0-9a-f]+$/.test(phpString(value));
}

export function isUuid(value: unknown): boolean {
  return /^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$/.test(phpString(value));
}

function isMac(value: unknown): boolean {
  return /([a-fA-F0-9]{2}[:]?){6}/.test(phpString(value));
}
