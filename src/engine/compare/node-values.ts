import type { LabNode, Position } from "../../intent/lab/lab.ts";
import type { ObservedNode } from "../model/observed.ts";
import type { HostRules, TemplateRules } from "../model/plan.ts";
import { defined } from "../shared/defined.ts";

/**
 * Returns the node as the host should hold it, with template defaults filled in. Unmanaged values stay as observed: position, start, and interfaces
 * beyond those that the links need.
 * @param needed number of interfaces that the links need
 */
export function wantedNode(
  node: LabNode,
  template: TemplateRules | undefined,
  needed: number,
  observed: ObservedNode | undefined,
): LabNode {
  return defined<LabNode>({
    key: node.key,
    name: node.name,
    template: node.template,
    image: wantedImage(node.image, template),
    pull: node.pull,
    icon: node.icon ?? template?.icon,
    kernel: node.kernel,
    startupConfig: node.startupConfig,
    startupConfigFile: node.startupConfigFile,
    files: node.files,
    fileSources: node.fileSources,
    binds: node.binds,
    switching: node.switching,
    ports: node.ports,
    mgmtIpv4: node.mgmtIpv4,
    mgmtIpv6: node.mgmtIpv6,
    sshKeys: node.sshKeys,
    exec: node.exec,
    cpu: node.cpu ?? template?.cpu,
    ram: node.ram ?? template?.ram,
    ethernet: wholeGroups(node.ethernet ?? Math.max(needed, observed?.ethernet ?? template?.ethernet ?? 0), template),
    start: node.start ?? observed?.start,
    position: node.position ?? observed?.position,
    env: node.env,
    attributes: { ...template?.attributes, ...node.attributes },
    labels: node.labels,
  });
}

/** Returns the number of ethernet interfaces that a node of the template has if the intent asks for `count`. */
export function wholeGroups(count: number, template: Pick<TemplateRules, "ethernetGroup"> | undefined): number {
  const group = template?.ethernetGroup ?? 1;
  return Math.ceil(count / group) * group;
}

/** Returns the image that the intent asks for. "default" means the template's default image, unless an image has that name. */
export function wantedImage(image: string | undefined, template: TemplateRules | undefined): string | undefined {
  if (image === undefined || (image === "default" && template?.images?.includes(image) !== true)) return template?.image;
  return image;
}

/** Returns the position as the host can store it. */
export function hostPosition(position: Position | undefined, rules: HostRules): Position | undefined {
  if (position === undefined || rules.wholePositions !== true) return position;
  return { x: Math.max(0, Math.round(position.x)), y: Math.max(0, Math.round(position.y)) };
}

/** Returns the observed node with the intent's field names. A value that the host does not report is the template's default. */
export function observedNode(node: ObservedNode, key: string, template: TemplateRules | undefined): LabNode {
  return defined<LabNode>({
    key,
    name: node.name,
    template: node.template,
    image: node.image ?? template?.image,
    pull: undefined,
    icon: node.icon ?? template?.icon,
    kernel: node.kernel,
    startupConfig: node.startupConfig,
    startupConfigFile: undefined,
    files: node.files,
    binds: node.binds,
    switching: node.switching,
    ports: node.ports,
    mgmtIpv4: node.mgmtIpv4,
    mgmtIpv6: node.mgmtIpv6,
    sshKeys: node.sshKeys,
    exec: node.exec,
    cpu: node.cpu ?? template?.cpu,
    ram: node.ram ?? template?.ram,
    ethernet: node.ethernet,
    start: node.start,
    position: node.position,
    env: node.env,
    attributes: { ...template?.attributes, ...node.attributes },
    labels: node.labels,
  });
}
