import { readXml, type XmlAttribute, type XmlElement } from "../../../src/formats/xml/xml.ts";
import type { Extra } from "./interface.ts";
import type { Network } from "./network.ts";
import type { LabNode } from "./node.ts";
import { type Body, isset, phpString } from "./php.ts";

/** EVE-NG refuses the file, with one of its numbers or, under PHP 8, with whatever PHP says. */
export class LabRefused extends Error {}

/** A node, with those of its interfaces that lead to something. */
export function writeNode(
  node: LabNode,
  networks: ReadonlyMap<number, unknown>,
  nodes: ReadonlyMap<number, unknown>,
  pnetlab: boolean,
): XmlElement {
  const { type } = node;
  const own: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    iol: { ethernet: node.ethernet, nvram: node.nvram, ram: node.ram, serial: node.serial, console: node.console },
    dynamips: { idlepc: node.idlepc, nvram: node.nvram, ram: node.ram, console: node.console },
    vpcs: { ethernet: node.ethernet },
    docker: { ethernet: node.ethernet, ram: node.ram },
  };
  const interfaces = [...node.ethernets]
    .filter(([, { networkId }]) => networkId > 0 && networks.has(networkId))
    .map(([id, { name, networkId, extra }]) => tag("interface", { id, name, type: "ethernet", network_id: networkId }, [], extra));
  const serials = [...node.serials]
    .filter(([, { remoteId }]) => remoteId > 0 && nodes.has(remoteId))
    .map(([id, { name, remoteId, remoteIf }]) => tag("interface", { id, type: "serial", name, remote_id: remoteId, remote_if: remoteIf }));
  const attributes = {
    id: node.id,
    name: node.name,
    type,
    template: node.template,
    image: node.image,
    ...(type === "qemu" ? qemuAttributes(node) : own[type]),
    delay: node.delay,
    icon: node.icon,
    config: node.config,
    left: node.left,
    top: node.top,
    ...(pnetlab && { config_data: Buffer.from(node.configData).toString("base64") }),
  };
  const slots = [...node.slots].map(([id, module]) => tag("slot", { id, module }));
  return tag("node", attributes, [...slots, ...interfaces, ...serials], node.extra);
}

export function writeNetwork(network: Network, withIcon: boolean): XmlElement {
  const { id, type, name, left, top, visibility, icon } = network;
  const attributes = { id, type, name, left, top, visibility, ...(withIcon && icon !== undefined ? { icon } : {}) };
  return tag("network", attributes, [], network.extra);
}

function qemuAttributes(node: LabNode): Readonly<Record<string, unknown>> {
  const optional = {
    qemu_options: node.qemuOptions,
    qemu_version: node.qemuVersion,
    qemu_arch: node.qemuArch,
    qemu_nic: node.qemuNic,
  };
  return {
    console: node.console,
    cpu: node.cpu,
    cpulimit: node.cpulimit,
    ram: node.ram,
    ethernet: node.ethernet,
    uuid: node.uuid,
    ...(isset(node.firstmac) ? { firstmac: node.firstmac } : {}),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== "")),
  };
}

export const knownOfNode = (
  "id name type template image ethernet nvram ram serial console idlepc cpu cpulimit uuid firstmac " +
  "qemu_options qemu_version qemu_arch qemu_nic delay icon config left top"
).split(" ");

/** The host reads a lab's file again at each request. Parsed files are kept, as most requests find the file of the one before. */
const parsed = new Map<string, XmlElement>();
const maxParsed = 64;

function readKept(text: string): XmlElement {
  const root = parsed.get(text) ?? readXml(text);
  parsed.delete(text);
  parsed.set(text, root);
  for (const oldest of parsed.keys()) {
    if (parsed.size <= maxParsed) break;
    parsed.delete(oldest);
  }
  return root;
}

export function parseLab(text: string): XmlElement {
  let root: XmlElement;
  try {
    root = readKept(text);
  } catch {
    throw new LabRefused("20003");
  }
  // SimpleXML takes an empty element for a failure.
  if (root.attributes.length === 0 && root.children.length === 0) throw new LabRefused("20003");
  return root.name === "lab" ? root : { name: "lab", attributes: [], children: [] };
}

/** The elements at a path; "*" is any. */
export function all(root: XmlElement, path: readonly string[]): readonly XmlElement[] {
  return path.reduce<readonly XmlElement[]>(
    (found, step) =>
      found.flatMap(({ children }) =>
        children.filter((child): child is XmlElement => typeof child !== "string" && (step === "*" || child.name === step)),
      ),
    [root],
  );
}

export function textOf(element: XmlElement | undefined): string {
  return element?.children.filter((child) => typeof child === "string").join("") ?? "";
}

export function body(element: XmlElement): Body {
  return Object.fromEntries(element.attributes);
}

export function others(element: XmlElement, known: readonly string[]): Extra {
  return element.attributes.flatMap(([name, value]) => (known.includes(name) ? [] : [[name, value] as const]));
}

export function tag(
  name: string,
  attributes: Readonly<Record<string, unknown>>,
  children: readonly (XmlElement | string)[] = [],
  extra: Extra = [],
): XmlElement {
  const known = Object.entries(attributes).map(([key, value]): XmlAttribute => [key, phpString(value)]);
  return { name, attributes: [...known, ...extra], children: children.filter((child) => child !== "") };
}
