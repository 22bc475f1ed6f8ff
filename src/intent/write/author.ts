import { durationText } from "../../base/time/duration.ts";
import { sameData } from "../lab/canonical.ts";
import type { LabLease } from "../lab/lab.ts";
import {
  type Endpoint,
  endpointText,
  type LabLink,
  type LabNetwork,
  type LabNode,
  type LabText,
  type Management,
  type Quality,
  type TrafficFilter,
} from "../lab/lab.ts";
import type { LabShape } from "../shapes/shape.ts";
import { authorSwitching } from "./author-switching.ts";
import type { Data } from "./write.ts";

/** Converts parts of a lab to the data of the YAML, in the shortest notation. */
export type Fields = { readonly [key: string]: Data | undefined };

export function authorNode(node: LabNode): Fields {
  return {
    template: node.template,
    name: node.name === node.key ? undefined : node.name,
    image: node.image,
    pull: node.pull,
    kernel: node.kernel,
    "startup-config": authorConfig(node),
    files: authorFiles(node),
    binds: node.binds,
    switching: authorSwitching(node.switching),
    ports: node.ports,
    "mgmt-ipv4": node.mgmtIpv4,
    "mgmt-ipv6": node.mgmtIpv6,
    "ssh-keys": node.sshKeys,
    exec: node.exec.length === 0 ? undefined : node.exec,
    cpu: node.cpu,
    ram: node.ram,
    ethernet: node.ethernet,
    start: node.start,
    position: node.position && { x: node.position.x, y: node.position.y },
    icon: node.icon,
    env: nonEmpty(node.env),
    attributes: nonEmpty(node.attributes),
    labels: nonEmpty(node.labels),
  };
}

/** Returns `management` of a lab, in its shortest notation. */
export function authorManagement({ ipv4Subnet, ipv6Subnet }: Management): Data {
  if (ipv4Subnet === undefined && ipv6Subnet === undefined) return true;
  return { "ipv4-subnet": ipv4Subnet, "ipv6-subnet": ipv6Subnet };
}

/** Returns the duration alone if the lab stops after it. */
export function authorLease({ for: after, idle, atEnd }: LabLease): Data {
  if (after !== undefined && idle === undefined && atEnd === "stop") return durationText(after);
  return {
    for: after === undefined ? undefined : durationText(after),
    idle: idle === undefined ? undefined : durationText(idle),
    // biome-ignore lint/suspicious/noThenProperty: a key of the language
    then: atEnd === "stop" ? undefined : atEnd,
  };
}

/** Returns the path in files, the text if it has a line break, or {text} if it would be read as a path. */
export function authorConfig(node: Pick<LabNode, "startupConfig" | "startupConfigFile">): Data | undefined {
  const { startupConfig: text, startupConfigFile: file } = node;
  if (text === undefined) return undefined;
  if (file !== undefined) return file;
  return /[\r\n]/.test(text) ? text : { text };
}

/** Returns the files by path: their text, or a map if they have a source, a mode or an owner. */
function authorFiles({ files = {}, fileSources = {} }: LabNode): Data | undefined {
  const entries = Object.entries(files).map(([path, { text, mode, owner }]): [string, Data] => {
    const from = Object.hasOwn(fileSources, path) ? fileSources[path] : undefined;
    if (from === undefined && mode === undefined && owner === undefined) return [path, text];
    const content = from === undefined ? { text } : { from };
    return [path, { ...content, mode: mode === undefined ? undefined : `0${mode.toString(8).padStart(3, "0")}`, owner }];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

export function authorNetwork(network: LabNetwork): Fields {
  return {
    name: network.name === network.key ? undefined : network.name,
    type: network.vxlan === undefined ? network.type : undefined,
    vxlan: network.vxlan && { remote: network.vxlan.remote, vni: network.vxlan.vni, port: network.vxlan.port },
    icon: network.icon,
    position: network.position && { x: network.position.x, y: network.position.y },
  };
}

/** The short form, a list of two, if the link has no other field. */
export function authorLink(link: LabLink): Data {
  const endpoints = link.endpoints.map(endpointText);
  const fields = { quality: authorQuality(link), suspended: authorSuspended(link), mtu: link.mtu };
  return Object.values(fields).every((value) => value === undefined) ? endpoints : { endpoints, ...fields };
}

export function authorEndpoints(endpoints: readonly Endpoint[]): readonly string[] {
  return endpoints.map(endpointText);
}

export function authorQuality({ quality }: LabLink): Data | undefined {
  if (quality === undefined) return undefined;
  const { a, b } = quality;
  if (a !== undefined && sameData(a, b)) return authorSide(a);
  return { a: a && authorSide(a), b: b && authorSide(b) };
}

function authorSide(quality: Quality): Data {
  const { delay, jitter, loss, bandwidth } = quality;
  return { delay, jitter, loss, bandwidth };
}

export function authorSuspended({ suspended }: LabLink): Data | undefined {
  if (suspended === undefined) return undefined;
  return suspended.a === suspended.b ? suspended.a : { a: suspended.a, b: suspended.b };
}

export function authorFilter(filter: TrafficFilter): Fields {
  const { name, color, match, nodes, links } = filter;
  return { name, color, match, nodes, links };
}

export function authorText({ text, x, y }: LabText): Fields {
  return { text, x, y };
}

export function authorShape(shape: LabShape): Fields {
  const { color, style, thickness, layer } = shape;
  const look = { color, style, thickness, layer };
  if (shape.type === "line") {
    const { x, y, x2, y2, start, end } = shape;
    return { type: "line", x, y, x2, y2, ...look, start, end };
  }
  const { type, x, y, width, height, fill, rotation } = shape;
  return { type, x, y, width, height, ...look, fill, rotation };
}

function nonEmpty<T extends Data>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> | undefined {
  return Object.keys(record).length === 0 ? undefined : record;
}
