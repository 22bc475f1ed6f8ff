import { formatSeparator, type InterfaceNaming, interfaceAlias, interfaceNaming } from "../../base/names/interface-names.ts";
import { nearest } from "../../intent/diagnostics/nearest.ts";
import type { LabNode } from "../../intent/lab/lab.ts";
import type { Comparison, LinkWork, NetworkWork, NodeWork } from "../compare/comparison.ts";
import { wholeGroups } from "../compare/node-values.ts";
import { imageReference } from "../model/image-reference.ts";
import { modulePorts } from "../model/module-ports.ts";
import type { NumberClash } from "../model/observed.ts";
import type { HostRules, ModuleRule, PullRules, SerialRule, TemplateRules, ValueRule } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import { type SerialPort, serialPort } from "../model/serial-port.ts";
import { unsupportedOnNode } from "../model/support.ts";
import { tunnelMtuProblem, tunnelProblem } from "./tunnels.ts";

/** Why an action is blocked. */
export type Obstacle = Reason<
  | "unknown_template"
  | "unknown_image"
  | "bad_name"
  | "bad_value"
  | "unknown_attribute"
  | "no_image"
  | "unknown_network_type"
  | "tunnel_refused"
  | "unknown_interface"
  | "unknown_node"
  | "unknown_network"
  | "number_clash"
  | "node_stuck"
>;

/**
 * Returns all reasons why a node cannot be made or changed as wanted. Only checks values that the plan changes.
 * @param isManaged whether the lab will have a management network
 */
export function nodeObstacles(
  node: NodeWork,
  rules: HostRules,
  template: TemplateRules | undefined,
  isManaged: boolean,
): readonly Obstacle[] {
  const { intent, after } = node;
  if (intent === undefined || after === undefined) return [];
  if (template === undefined) {
    const known = rules.templates.map(({ id }) => id);
    const text = `the host has no template ${intent.template}; ${templatesText(intent.template, known)}`;
    return [{ code: "unknown_template", text, field: "template" }];
  }
  const making = node.fate === "create" || node.before?.template !== intent.template;
  const others = [
    nameObstacle(node, rules),
    keptLinkObstacle(node, template),
    imageObstacle(node, rules, template, making),
    isManaged ? undefined : portsObstacle(node, template, making),
  ];
  return [...valueObstacles(node, template, making), ...others.filter((one) => one !== undefined)];
}

function nameObstacle({ after, fate, differences }: NodeWork, { nodeName }: HostRules): Obstacle | undefined {
  const isNamed = fate === "create" || differences.some(({ field }) => field === "name");
  if (!isNamed || nodeName === undefined || after === undefined || new RegExp(nodeName).test(after.name)) return undefined;
  return { code: "bad_name", field: "name", text: `the host takes no node name ${JSON.stringify(after.name)}: it must match ${nodeName}` };
}

function portsObstacle({ after, differences }: NodeWork, template: TemplateRules, making: boolean): Obstacle | undefined {
  const isChanged = making || differences.some(({ field }) => field === "ports");
  if (template.portsNeedManagement !== true || !isChanged || (after?.ports ?? []).length === 0) return undefined;
  const text = `a node of template ${template.id} publishes ports over its management interface: write management: true in the lab, or leave ports out`;
  return { code: "bad_value", text, field: "ports" };
}

/** @param making the node is made, or gets another template */
function imageObstacle(node: NodeWork, rules: HostRules, template: TemplateRules, making: boolean): Obstacle | undefined {
  const { intent, after } = node;
  const chosen = making || node.differences.some(({ field }) => field === "image");
  if (intent === undefined || after === undefined || !chosen || template.images === undefined) return undefined;
  if (unsupportedOnNode(rules, template, "image") !== undefined) return undefined;
  if (after.image === undefined && template.images.length > 0) {
    return {
      code: "unknown_image",
      text: `template ${template.id} needs an image: one of ${[...template.images].sort().join(", ")}${needText(template)}`,
      field: "image",
    };
  }
  const pull = after.image === undefined ? undefined : template.pulls && pullProblem(after.image, intent.pull, template.pulls);
  const isPulled = after.image !== undefined && template.pulls !== undefined && pull === undefined;
  if (after.image === undefined || (template.images.length === 0 && intent.image === undefined && !isPulled)) {
    const why = pull === undefined || pull === "" ? "" : `: ${after.image} is missing; ${pull}`;
    return {
      code: "no_image",
      text: `template ${template.id} has no image on the host${why}${needText(template, intent.image)}`,
      field: "template",
    };
  }
  if (!template.images.includes(after.image)) {
    const { image } = after;
    if (isPulled) return undefined;
    const other = rules.templates.find(({ images }) => images?.includes(image) === true);
    const elsewhere = other === undefined ? "" : `; template ${other.id} has that one`;
    const own = template.image === undefined || template.image === image ? "" : `; leave image out to take ${template.image}`;
    return {
      code: "unknown_image",
      text: `template ${template.id} has no image ${image}; ${itHas(image, template.images)}${elsewhere}${own}${other === undefined ? needText(template, image) : ""}${pull === undefined || pull === "" ? "" : `; ${pull}`}`,
      field: "image",
    };
  }
  return undefined;
}

/** Returns the next step for an image that the host gets from its administrator. @param image its name; absent: any image of the template */
function needText({ needs, imageSource, imageName }: TemplateRules, image?: string): string {
  if (needs === undefined) return imageSource === undefined ? "" : `. Where to get it: ${imageSource}`;
  const name = image ?? imageName;
  return `. It needs ${needs}; on the machine of the service: labwright image add FILE${name === undefined ? "" : ` --name ${name}`}`;
}

/** Returns why the host cannot fetch the image, or undefined if it will try. The text is empty if no registry is open and the image names none. */
export function pullProblem(image: string, policy: LabNode["pull"], { defaultRegistry, registries }: PullRules): string | undefined {
  if (policy === "never") return "pull: never keeps the host from fetching it";
  const reference = imageReference(image, defaultRegistry);
  if ("problem" in reference) return registries.length === 0 ? "" : `it cannot be pulled: ${reference.problem}`;
  if (registries === "any" || registries.includes(reference.registry)) return undefined;
  const known = registries.length === 0 ? "none is" : `${registries.join(", ")} ${registries.length === 1 ? "is" : "are"}`;
  return `it cannot be pulled: the registry ${reference.registry} is not open to you, ${known}. An admin opens it with labwright registry add`;
}

/** Returns why a node cannot be started, or changed while it may run, because its number on the host is or may be used by another lab. */
export function clashObstacle({ observed, differences }: NodeWork, starts: boolean): Obstacle | undefined {
  const clash = observed?.power === "unknown" ? observed.clash : undefined;
  if (clash === undefined || (!starts && (clash.certain || differences.length === 0))) return undefined;
  return { code: "number_clash", text: clashText(clash) };
}

/** Returns why a failed node cannot be started again: the host starts it only after a wipe. */
export function stuckObstacle({ key, observed }: NodeWork, starts: boolean): Obstacle | undefined {
  if (observed?.stuck !== true || !starts) return undefined;
  return {
    code: "node_stuck",
    text: `an interrupted start on the host left its lock behind: labwright wipe ${key} removes the lock, and deletes the node's disk`,
  };
}

/** Returns which node has the number, and the next step for the user. */
export function clashText({ number, lab, node, certain }: NumberClash): string {
  if (lab === undefined) {
    return `number ${number} of the host is in use, and not by a lab of the host: a deleted lab left a process, or another program has the node's console port. labwright renumber gives the node of a stopped lab another number, labwright destroy --force removes the lab`;
  }
  const theirs = `${node === undefined || node === "" ? "a node" : node} of ${lab}`;
  return certain
    ? `number ${number} of the host runs for ${theirs}: stop that lab, or give this one other numbers with labwright renumber`
    : `number ${number} of the host runs for this lab or for ${theirs}: run labwright stop on the lab that should not run, which ends only its own nodes; a lab that is not managed here needs labwright adopt first`;
}

/** More images, attributes or types than this are not listed. */
const maxListed = 30;

/** Returns the nearest known word, and the known words. */
function itHas(word: string, known: Iterable<string>): string {
  const names = [...known].sort();
  const meant = nearest(word, names);
  const more = names.length > maxListed ? `, and ${names.length - maxListed} others` : "";
  return `${meant === undefined ? "it" : `did you mean ${meant}? It`} has ${names.slice(0, maxListed).join(", ") || "none"}${more}`;
}

/** More templates than this are not listed: EVE-NG has 167. */
const maxTemplates = 30;

/** Returns the nearest template and the other templates, each once. */
function templatesText(word: string, known: readonly string[]): string {
  const names = [...known].sort();
  const meant = nearest(word, names);
  const others = names.filter((name) => name !== meant);
  const isShort = names.length <= maxTemplates;
  if (meant !== undefined) return `did you mean ${meant}?${isShort && others.length > 0 ? ` It also has ${others.join(", ")}` : ""}`;
  return isShort ? `it has ${names.join(", ") || "none"}` : `it has ${names.length} others, none with a similar name`;
}

/** Returns the values of cpu, ram, ethernet and attributes that the template does not have or allow, of a node that is made or changed. */
function valueObstacles({ intent, after, differences }: NodeWork, template: TemplateRules, making: boolean): readonly Obstacle[] {
  if (after === undefined) return [];
  const found: Obstacle[] = [];
  const { id, values } = template;
  const maxInterfaces = mostInterfaces(after, template);
  const { minRam = 0 } = (after.kernel === "own" && template.ownKernel) || {};
  if (after.ram !== undefined && after.ram < minRam)
    found.push({
      code: "bad_value",
      text: `ram is ${after.ram}, but a node with a kernel of its own needs at least ${minRam} MiB`,
      field: "ram",
    });
  const changed = new Set<string>(differences.flatMap(({ field, changes }) => [field, ...changes.map((change) => change.field)]));
  const maxRule = { type: "integer", min: 0, max: maxInterfaces } as const;
  // Interfaces that links need are checked with the links.
  if (intent?.ethernet !== undefined && (making || changed.has("ethernet")) && intent.ethernet > maxInterfaces) {
    const why = template.fields["ethernet"] === "unsupported" ? template.why?.["ethernet"] : undefined;
    const text = why === undefined ? `not ${misfit(String(intent.ethernet), maxRule)}` : `but ${why}; remove "ethernet"`;
    found.push({ code: "bad_value", text: `ethernet is ${intent.ethernet}, ${text}`, field: "ethernet" });
  }
  if (values === undefined) return found;
  const given = { cpu: after.cpu, ram: after.ram };
  const attributes = Object.entries(after.attributes).map(([name, value]) => [`attributes.${name}`, value] as const);
  for (const [field, value] of [...Object.entries(given), ...attributes]) {
    if (value === undefined || !(making || changed.has(field))) continue;
    const rule = values[field];
    const name = field.replace("attributes.", "");
    if (rule === undefined && field !== name) {
      const known = Object.keys(values).flatMap((one) => (one.startsWith("attributes.") ? one.slice("attributes.".length) : []));
      found.push({ code: "unknown_attribute", text: `template ${id} has no attribute ${name}; ${itHas(name, known)}`, field });
    }
    const wanted = rule === undefined ? undefined : misfit(String(value), rule);
    if (wanted !== undefined) found.push({ code: "bad_value", text: `${name} is ${JSON.stringify(value)}, not ${wanted}`, field });
  }
  return found;
}

/** Returns the value that is expected, or undefined if the value fits. */
function misfit(text: string, { type, options, words, usual, min, max }: ValueRule): string | undefined {
  if (words !== undefined && text !== usual) {
    const unknown = text.split(/[\s,]+/).find((word) => word !== "" && !words.includes(word));
    if (unknown !== undefined) return `${usual === undefined ? "" : `${usual} or `}a list of ${words.join(", ")}`;
  }
  if (type === "boolean") return text === "true" || text === "false" ? undefined : "true or false";
  if (type === "enum") return options === undefined || options.includes(text) ? undefined : `one of ${options.join(", ")}`;
  if (type !== "integer" && type !== "number") return undefined;
  const number = Number(text);
  const kind = type === "integer" ? "a whole number" : "a number";
  if (text.trim() === "" || !(type === "integer" ? Number.isSafeInteger(number) : Number.isFinite(number)))
    return `${kind}${range(min, max)}`;
  return number < (min ?? number) || number > (max ?? number) ? `${kind}${range(min, max)}` : undefined;
}

function range(min: number | undefined, max: number | undefined): string {
  if (min === undefined) return max === undefined ? "" : ` of at most ${max}`;
  return max === undefined ? ` of at least ${min}` : ` from ${min} to ${max}`;
}

export function networkObstacle(network: NetworkWork, rules: HostRules): Obstacle | undefined {
  const { name } = network.after ?? {};
  const named = network.fate === "create" || network.replaced || network.changes.some(({ field }) => field === "name");
  if (named && name !== undefined && rules.networkName !== undefined && !new RegExp(rules.networkName.pattern).test(name)) {
    return { code: "bad_name", text: `the host cannot keep the name ${JSON.stringify(name)}: ${rules.networkName.why}`, field: "name" };
  }
  const tunnel = network.after?.vxlan;
  const isNew = network.fate === "create" || network.replaced || network.changes.some(({ field }) => field === "vxlan");
  if (tunnel !== undefined && rules.tunnels !== undefined && isNew) {
    const problem = tunnelProblem(tunnel, rules.tunnels);
    if (problem !== undefined) return { code: "tunnel_refused", ...problem };
  }
  const type = network.after?.type;
  if (type === undefined || (network.fate === "keep" && !network.replaced) || rules.networkTypes.includes(type)) return undefined;
  const other = rules.otherNetworkTypes?.[type];
  const known = other ?? itHas(type, rules.networkTypes);
  return { code: "unknown_network_type", text: `the host has no network type ${type}; ${known}`, field: "type" };
}

/** Returns why a link cannot be made: a missing end, or an interface that the node will not have. */
export function linkObstacle(link: LinkWork, comparison: Comparison, templates: ReadonlyMap<string, TemplateRules>): Obstacle | undefined {
  if (link.after === undefined || link.fate === "delete" || link.fate === "extra") return undefined;
  for (const end of link.after.endpoints) {
    if ("network" in end) {
      const network = comparison.networks.get(end.network);
      if (network === undefined) return { code: "unknown_network", text: `the lab has no network ${end.network}` };
      const text = network.after?.vxlan && tunnelMtuProblem(link.after.mtu, comparison.rules.tunnels);
      if (text !== undefined) return { code: "tunnel_refused", text, field: "mtu" };
      continue;
    }
    const node = comparison.nodes.get(end.node);
    if (node === undefined) return { code: "unknown_node", text: `the lab has no node ${end.node}` };
    const template = templates.get(node.intent?.template ?? node.observed?.template ?? "");
    const changes = link.fate === "create" || node.differences.some(({ field }) => field === "ethernet") || node.need === "recreate";
    if (!changes || template === undefined) continue;
    const text = interfaceObstacle(end.interface, node, template) ?? otherSpelling(link, end.interface, node, template);
    if (text !== undefined) return { code: "unknown_interface", text };
  }
  return undefined;
}

/** Returns the problem of a link whose interface another link of the lab uses by another of its names. */
function otherSpelling(link: LinkWork, name: string, node: NodeWork, { ethFormat }: TemplateRules): string | undefined {
  if (!ethFormat.includes(formatSeparator)) return undefined;
  const naming = interfaceNaming(ethFormat);
  const index = naming.index(name);
  for (const other of node.links) {
    if (other === link || other.after === undefined || other.fate === "delete" || other.fate === "extra") continue;
    for (const end of other.after.endpoints) {
      if (!("node" in end) || end.node !== node.key || index === undefined || naming.index(end.interface) !== index) continue;
      return `${node.key}:${name} and ${node.key}:${end.interface} are the same interface, which has one link`;
    }
  }
  return undefined;
}

function mostInterfaces(node: NodeWork["after"], { maxInterfaces, ownKernel }: TemplateRules): number {
  return node?.kernel === "own" && ownKernel !== undefined ? Math.min(maxInterfaces, ownKernel.maxInterfaces) : maxInterfaces;
}

function interfaceObstacle(name: string, node: NodeWork, template: TemplateRules): string | undefined {
  const naming = interfaceNaming(template.ethFormat);
  const index = naming.index(name);
  const sameTemplate = node.observed?.template === template.id;
  if (index === undefined && template.serial !== undefined) {
    const port = serialPort(name, template.serial);
    if (port !== undefined) return serialObstacle(name, port, node, template, template.serial);
  }
  const { modules } = template;
  if (index === undefined && modules !== undefined) {
    if (modulePorts(attributesOf(node), modules).includes(name)) return undefined;
    const lost = sameTemplate && modulePorts(node.before?.attributes ?? {}, modules).includes(name);
    if (lost || node.observed?.interfaces.some((one) => one.name === name) !== true) return moduleObstacle(name, node, modules, naming);
  }
  if (index === undefined) {
    if (sameTemplate && node.observed?.interfaces.some((one) => one.name === name)) return undefined;
    const alias = interfaceAlias(template.ethFormat, name, template.maxInterfaces);
    const hint = alias === undefined ? `its interfaces are called ${naming.name(0)}, ${naming.name(1)} …` : `did you mean ${alias}?`;
    return `${node.key} has no interface ${name}; ${hint}`;
  }
  const renames = sameTemplate && template.serial !== undefined && index >= (node.observed?.ethernet ?? 0);
  const serial = renames ? keptSerial(node, template.serial) : undefined;
  if (serial !== undefined) return `${node.key} cannot get ${name}: more ethernet interfaces would rename ${serial}, which has a link`;
  const most = mostInterfaces(node.after, template);
  if (index >= most) {
    const whose = most < template.maxInterfaces ? "a node with a kernel of its own" : `template ${template.id}`;
    return `${node.key} cannot have an interface ${name}: ${whose} has at most ${most}`;
  }
  const count = node.intent?.ethernet === undefined ? undefined : wholeGroups(node.intent.ethernet, template);
  if (count !== undefined && index >= count) {
    const last = count === 0 ? "none" : `${naming.name(0)} to ${naming.name(count - 1)}`;
    return `${node.key} has ${count} interfaces (${last}), not ${name}`;
  }
  return undefined;
}

/** Returns why a serial interface does not exist, if it does not. A node's serial slots follow its ethernet slots; an attribute sets how many there are. */
function serialObstacle(
  name: string,
  { slot, port }: SerialPort,
  node: NodeWork,
  template: TemplateRules,
  rule: SerialRule,
): string | undefined {
  const naming = interfaceNaming(template.ethFormat);
  const linked = node.links.flatMap((link) => (link.fate === "delete" ? [] : (link.after?.endpoints ?? [])));
  const indexes = linked.map((end) => ("node" in end && end.node === node.key ? (naming.index(end.interface) ?? -1) : -1));
  const ethernet = Math.max((node.after ?? node.before)?.ethernet ?? template.ethernet ?? 0, ...indexes.map((index) => index + 1));
  const first = Math.ceil(ethernet / rule.ports);
  const slots = Number(attributesOf(node)[rule.attribute] ?? 0);
  if (port < rule.ports && slot >= first && slot < first + slots) return undefined;
  if (slots === 0) return `${node.key} has no interface ${name}: its attribute ${rule.attribute} is 0`;
  const [low, high] = [`${rule.prefix}${first}/0`, `${rule.prefix}${first + slots - 1}/${rule.ports - 1}`];
  return `${node.key} has no interface ${name}; its serial interfaces are ${low} to ${high}, ${slots} slots by its attribute ${rule.attribute}`;
}

/** Returns why a module interface does not exist: what its slot holds, and the modules that have interfaces. */
function moduleObstacle(name: string, node: NodeWork, { attribute, kinds }: ModuleRule, naming: InterfaceNaming): string {
  const missing = `${node.key} has no interface ${name}`;
  const slot = /^[a-z]+(\d{1,3})\/\d{1,3}$/.exec(name)?.[1];
  if (slot === undefined) return `${missing}; its interfaces are called ${naming.name(0)}, ${naming.name(1)} …`;
  const module = attributesOf(node)[`${attribute}${slot}`];
  const is = module === undefined ? "is not set" : `is ${module}`;
  return `${missing}: its attribute ${attribute}${slot} ${is}; modules with interfaces are ${Object.keys(kinds).sort().join(", ")}`;
}

/** Returns why the wanted count or attributes would remove an interface of a link that stays. Counts that follow from links are checked with the new links. */
function keptLinkObstacle(node: NodeWork, template: TemplateRules): Obstacle | undefined {
  if (node.before?.template !== template.id) return undefined;
  const changed = new Set<string>(node.differences.map(({ field }) => field));
  const field = changed.has("attributes") ? "attributes" : node.intent?.ethernet !== undefined && changed.has("ethernet") ? "ethernet" : "";
  if (field === "") return undefined;
  for (const link of node.links.filter(({ fate }) => fate === "keep" || fate === "extra")) {
    for (const end of link.before?.endpoints ?? []) {
      if (!("node" in end) || end.node !== node.key) continue;
      const text = interfaceObstacle(end.interface, node, template);
      if (text !== undefined) return { code: "unknown_interface", text: `${text}. Remove link ${link.key} first`, field };
    }
  }
  return undefined;
}

function attributesOf(node: NodeWork): LabNode["attributes"] {
  return (node.after ?? node.before)?.attributes ?? {};
}

/** Returns the name of a serial interface of the node whose link stays. */
function keptSerial(node: NodeWork, rule: SerialRule | undefined): string | undefined {
  if (rule === undefined) return undefined;
  return node.links
    .filter(({ fate }) => fate === "keep" || fate === "extra")
    .flatMap((link) => link.before?.endpoints ?? [])
    .flatMap((end) => ("node" in end && end.node === node.key ? end.interface : []))
    .find((name) => serialPort(name, rule) !== undefined);
}
