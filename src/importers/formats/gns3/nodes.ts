import { type Draft, type DraftPlace, positionOf } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import { chooseTemplate } from "../../mapping/choose-template.ts";
import type { ReadOptions } from "../../reading/importer.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { ownValue } from "../../tree/own-value.ts";
import type { Part } from "../../tree/part.ts";
import { readConfigs } from "./configs.ts";
import { portName } from "./port-names.ts";
import { readSwitchPorts } from "./switch-ports.ts";

/** A node of the project, as links find it. */
export interface Gns3Node {
  readonly id: string;
  readonly place: DraftPlace;
  readonly kind: string;
  /** The name of a port, by adapter and port. */
  readonly port: (adapter: number, port: number) => string;
  /** Version 1.x: the number of a port's adapter and port by its id. */
  readonly portById: (id: string) => { readonly name: string; readonly adapter: number; readonly port: number } | undefined;
  /** Names of the ports that links use. */
  readonly linked: Set<string>;
  /** Adds what depends on the links. */
  readonly finish: () => void;
}

interface Context {
  readonly files: SourceFiles;
  /** Path of the project's file. */
  readonly path: string;
  readonly options: ReadOptions;
  /** Files of nodes that were read, for the report. */
  readonly used: Part[];
  /** The node is a hub before a NAT node. */
  readonly isWayOut: boolean;
}

/** Kinds of version 1.x. */
const oldKinds: Readonly<Record<string, string>> = {
  VPCSDevice: "vpcs",
  EthernetSwitch: "ethernet_switch",
  EthernetHub: "ethernet_hub",
  FrameRelaySwitch: "frame_relay_switch",
  ATMSwitch: "atm_switch",
  Cloud: "cloud",
  Host: "cloud",
  IOUDevice: "iou",
  QemuVM: "qemu",
  VirtualBoxVM: "virtualbox",
  VMwareVM: "vmware",
  DockerVM: "docker",
};

const networks: ReadonlySet<string> = new Set(["cloud", "nat", "ethernet_hub"]);

export function readNode(draft: Draft, part: Part, context: Context): Gns3Node | undefined {
  const [id, properties] = [part.get("node_id") ?? part.get("id"), part.get("properties")];
  // Some files of version 1.3 have no type, only "Router c7200".
  const description = part.get("description");
  const type = part.get("node_type") ?? part.get("type") ?? (/^Router c\d{4}/.test(description?.text ?? "") ? description : undefined);
  if (part.node.kind !== "map" || id?.text === undefined || type?.text === undefined) {
    part.dropped("a node has an id and a type");
    return undefined;
  }
  part.open();
  const kind = type === description ? "dynamips" : kindOf(type.text);
  const name = part.get("name") ?? properties?.get("name") ?? part.at("label", "text");
  const image = imageOf(kind, properties);
  const symbol = part.get("symbol") ?? part.get("default_symbol");
  const choice = chooseTemplate(context.options, "gns3", context.isWayOut ? "nat" : typeWords(kind, symbol?.text, properties), image?.text);
  const place = draft.place(name?.text ?? kind, choice, { name, type, image });
  if (networks.has(kind)) properties?.get("ports_mapping")?.mapped("links lead to the network itself");
  id.mapped("links are written with names");
  readPosition(place, part);
  readLook(part);
  const linked = new Set<string>();
  if (place instanceof DraftNode && properties !== undefined) {
    readSizes(place, properties);
    readConfigs(draft, place, { ...context, part, kind, id: id.text });
  }
  const ports = new Map((part.get("ports")?.items ?? []).map((port) => [port.get("id")?.text ?? "", port]));
  return {
    id: id.text,
    place,
    kind,
    port: (adapter, port) => portName(part, kind, adapter, port),
    portById: (wanted) => {
      const port = ports.get(wanted);
      const shown = port?.get("name");
      if (port === undefined || shown?.text === undefined) return undefined;
      for (const key of ["id", "name", "port_number", "adapter_number"]) port.get(key)?.mapped("an interface");
      return { name: shown.text, adapter: port.get("adapter_number")?.number ?? 0, port: port.get("port_number")?.number ?? 0 };
    },
    linked,
    finish: () => {
      if (place instanceof DraftNode && kind === "ethernet_switch") readSwitchPorts(place, part, linked);
    },
  };
}

function kindOf(type: string): string {
  if (Object.hasOwn(oldKinds, type)) return oldKinds[type] ?? type;
  // Version 1.x names Cisco's platforms: C3725, C7200.
  return /^(C\d{4}|EtherSwitchRouter)$/.test(type) ? "dynamips" : type;
}

const categories: readonly (readonly [pattern: RegExp, category: string])[] = [
  [/switch|nexus|l2|ovs/i, "switch"],
  [/router|firewall|asa|route|edge|gateway|vyos|csr|iosv|ios-?xr|vpn/i, "router"],
];

/** Returns the type of a node for the table of node types: its kind, the platform of a router, and what its symbol shows. */
function typeWords(kind: string, symbol = "", properties: Part | undefined): string {
  if (kind === "dynamips") {
    const isSwitch = ["slot0", "slot1", "slot2"].some((slot) => properties?.get(slot)?.text?.toUpperCase().startsWith("NM-16ESW"));
    const shows = isSwitch && /switch/i.test(symbol) ? "switch" : "router";
    return `dynamips ${shows} ${properties?.get("platform")?.text ?? ""}`.trim();
  }
  if (!["qemu", "docker", "virtualbox", "vmware", "iou"].includes(kind)) return kind;
  const shown = symbol.slice(symbol.lastIndexOf("/") + 1);
  return `${kind} ${categories.find(([pattern]) => pattern.test(shown))?.[1] ?? "host"}`;
}

function imageOf(kind: string, properties: Part | undefined): Part | undefined {
  const keys: Readonly<Record<string, readonly string[]>> = {
    docker: ["image"],
    dynamips: ["image"],
    iou: ["path"],
    qemu: ["hda_disk_image", "hdb_disk_image", "cdrom_image", "kernel_image"],
    virtualbox: ["vmname"],
    vmware: ["vmx_path"],
  };
  const parts = (ownValue(keys, kind) ?? []).map((key) => properties?.get(key));
  return parts.find((part) => (part?.text ?? "") !== "");
}

function readPosition(place: DraftPlace, part: Part): void {
  const [x, y] = [part.get("x"), part.get("y")];
  if (x?.number === undefined || y?.number === undefined) return;
  const position = positionOf(x.number, y.number);
  if (place instanceof DraftNode) place.set("position", { ...position });
  else place.position = position;
  x.kept();
  y.kept();
}

function readLook(part: Part): void {
  part.get("label")?.dropped("the name is drawn below the node");
  for (const key of ["symbol", "default_symbol", "hover_symbol", "width", "height", "z", "locked", "symbol_found"])
    part.get(key)?.dropped("the template has a picture");
  for (const key of ["console", "console_type", "console_auto_start", "console_host", "aux", "aux_type"])
    part.get(key)?.dropped("consoles have no numbers here");
  for (const key of ["compute_id", "server_id", "vm_id", "template_id", "linked_clone", "template"])
    part.get(key)?.dropped("belongs to the server that ran it");
  for (const key of ["port_name_format", "port_segment_size", "first_port_name", "custom_adapters"])
    part.get(key)?.mapped("the names of the interfaces");
}

function readSizes(node: DraftNode, properties: Part): void {
  const isOwn = node.machine !== undefined;
  const [ram, cpu] = [properties.get("ram"), properties.get("cpus")];
  const why = "the size of other software";
  if (ram?.number !== undefined && isOwn && ram.number >= 1) node.set("ram", Math.floor(ram.number), ram);
  else ram?.dropped(why);
  if (cpu?.number !== undefined && isOwn && cpu.number >= 1) node.set("cpu", Math.floor(cpu.number), cpu);
  else cpu?.dropped(why);
  for (const key of ["adapters", "ethernet_adapters", "serial_adapters"]) properties.get(key)?.mapped("the interfaces that links use");
  for (const [key, value] of properties.entries) {
    if (/^(slot|wic)\d$/.test(key)) value.mapped("the names of the interfaces");
    if (
      /md5sum$|^mac_addr|^linked_clone$|^node_directory$|_path$|^dynamips_id$|^application_id$/.test(key) &&
      key !== "startup_script_path"
    )
      value.dropped("belongs to the server that ran it");
  }
}
