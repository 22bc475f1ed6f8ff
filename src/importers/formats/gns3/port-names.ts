import type { Part } from "../../tree/part.ts";

/** Prefixes of the interfaces of Dynamips' modules, by the start of the module's name. */
const modules: readonly (readonly [start: string, prefix: string])[] = [
  ["C7200-IO-GE", "GigabitEthernet"],
  ["C7200-IO-2FE", "FastEthernet"],
  ["C7200-IO-FE", "FastEthernet"],
  ["PA-GE", "GigabitEthernet"],
  ["PA-FE", "FastEthernet"],
  ["PA-2FE", "FastEthernet"],
  ["PA-4E", "Ethernet"],
  ["PA-8E", "Ethernet"],
  ["PA-4T", "Serial"],
  ["PA-8T", "Serial"],
  ["PA-A1", "ATM"],
  ["PA-POS", "POS"],
  ["NM-4T", "Serial"],
  ["NM-1E", "Ethernet"],
  ["NM-4E", "Ethernet"],
  ["CISCO2600-MB-1E", "Ethernet"],
  ["CISCO2600-MB-2E", "Ethernet"],
];

/** Returns the name of a port as GNS3 shows it, for nodes that have it by their kind and properties. Every version of GNS3 shows the same names. */
export function portName(node: Part, kind: string, adapter: number, port: number): string {
  const properties = node.get("properties");
  if (kind === "vpcs" || kind === "traceng") return `Ethernet${adapter}`;
  if (kind === "ethernet_switch" || kind === "ethernet_hub" || kind === "frame_relay_switch" || kind === "atm_switch") return `eth${port}`;
  if (kind === "iou") {
    const ethernets = properties?.get("ethernet_adapters")?.number ?? 2;
    return `${adapter < ethernets ? "Ethernet" : "Serial"}${adapter}/${port}`;
  }
  if (kind === "dynamips") return dynamipsName(properties, adapter, port);
  const custom = (node.get("custom_adapters")?.items ?? []).find((each) => each.get("adapter_number")?.number === adapter);
  return custom?.get("port_name")?.text ?? formatted(node, kind, adapter);
}

/** WICs have ports from 16 on, in the motherboard's slot. */
const firstWicPort = 16;

function dynamipsName(properties: Part | undefined, adapter: number, port: number): string {
  if (port >= firstWicPort) return `Serial${adapter}/${Math.floor(port / firstWicPort) - 1}`;
  const module = properties?.get(`slot${adapter}`)?.text?.toUpperCase() ?? "";
  const prefix = modules.find(([start]) => module.startsWith(start))?.[1] ?? "FastEthernet";
  return `${prefix}${adapter}/${port}`;
}

/** Longest segment: a larger number has no more effect, because a node has at most some hundred adapters. */
const maxSegment = 1024;

/** Follows GNS3's port name format: the first port's own name, then numbers by interface and segment. */
function formatted(node: Part, kind: string, adapter: number): string {
  const format = node.get("port_name_format")?.text ?? (kind === "docker" ? "eth{0}" : "Ethernet{0}");
  const first = node.get("first_port_name")?.text ?? "";
  const size = Math.min(maxSegment, Math.max(0, Math.floor(node.get("port_segment_size")?.number ?? 0)));
  if (first !== "" && adapter === 0) return first;
  const count = first === "" ? adapter : adapter - 1;
  const [segment, face] = size === 0 ? [count, count] : [Math.floor(count / size), count % size];
  return format.replace(/\{(\d|adapter|port\d|segment\d)\}/g, (_, field: string) => {
    if (field === "adapter") return String(adapter);
    if (field.startsWith("segment")) return String(segment + Number(field.slice(7)));
    if (field.startsWith("port")) return String(face + Number(field.slice(4)));
    return field === "1" ? String(segment) : String(face);
  });
}
