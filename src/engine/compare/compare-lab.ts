import { sameFrr } from "../../base/frr-config.ts";
import { interfaceNaming } from "../../base/names/interface-names.ts";
import { compareNatural } from "../../base/natural-order.ts";
import { endpointText, type Lab, type LabLink, type LabNetwork, type LabNode } from "../../intent/lab/lab.ts";
import { fieldWord, type NodeField, nodeFields } from "../model/node-fields.ts";
import type { ObservedLab, ObservedNode } from "../model/observed.ts";
import type { Change, HostRules, TemplateRules } from "../model/plan.ts";
import type { Reason } from "../model/reasons.ts";
import { serialPort } from "../model/serial-port.ts";
import {
  type UnsupportedField,
  unsupportedOnHost,
  unsupportedOnLink,
  unsupportedOnNode,
  unsupportedQuality,
  unsupportedText,
} from "../model/support.ts";
import { sameValue } from "../shared/canonical.ts";
import { defined } from "../shared/defined.ts";
import { type Comparison, type Fate, interfacesOf, type LinkWork, type NetworkWork, type NodeWork } from "./comparison.ts";
import { diffLab } from "./diff-lab.ts";
import { diffLink, type LinkDifference, observedLink } from "./diff-link.ts";
import { diffNode, type FieldDifference, meaning } from "./diff-node.ts";
import { InheritedFields } from "./inherited-fields.ts";
import { endpointKeys, type JoinedIds, joinIds } from "./join.ts";
import { hostPosition, observedNode, wantedNode, wholeGroups } from "./node-values.ts";

export interface CompareInput {
  readonly desired: Lab;
  readonly observed: ObservedLab | null;
  readonly rules: HostRules;
  readonly ids?: JoinedIds;
  readonly prune: boolean;
  readonly owedStarts?: readonly string[];
  readonly pathName?: string;
}

/** The joined resources of intent and host, which the comparisons of their parts need. */
interface Joined {
  readonly input: CompareInput;
  readonly ids: JoinedIds;
  readonly intents: ReadonlyMap<string, LabNode>;
  readonly templates: ReadonlyMap<string, TemplateRules>;
  /** Returns the host's node with this key. */
  readonly nativeOf: (key: string) => ObservedNode | undefined;
  /** The fate of resources that the intent does not have. */
  readonly extraFate: Fate;
}

/** Compares the intent with the host: joins their resources, lists the differences and deletions, and lists what the host cannot store. */
export function compareLab(input: CompareInput): Comparison {
  const { desired, observed, rules } = input;
  const ids = joinIds(desired, observed, input.ids);
  const observedNodes = new Map((observed?.nodes ?? []).map((one) => [one.id, one]));
  const joined: Joined = {
    input,
    ids,
    intents: new Map(desired.nodes.map((node) => [node.key, node])),
    templates: new Map(rules.templates.map((template) => [template.id, template])),
    nativeOf: (key) => observedNodes.get(ids.nodes[key] ?? ""),
    extraFate: input.prune ? "delete" : "extra",
  };
  const unsupported: UnsupportedField[] = [];
  const networks = compareNetworks(joined, unsupported);
  const differences = compareLinks(joined);
  const nodes = compareNodes(joined, neededInterfaces(joined, differences), unsupported);
  const links = joinLinks(differences, nodes, networks, unsupported);
  const lab = diffLab(desired, observed, rules, input.pathName);
  unsupported.push(...lab.missing);
  unsupported.sort((a, b) => compareNatural(unsupportedText(a), unsupportedText(b)));
  return { desired, observed, rules, ids, nodes, networks, links, lab, unsupported };
}

/** Returns the networks of intent and host by key. `unsupported` receives what the host cannot store. */
function compareNetworks({ input, ids, extraFate }: Joined, unsupported: UnsupportedField[]): Map<string, NetworkWork> {
  const networks = new Map<string, NetworkWork>();
  const observedNetworks = new Map((input.observed?.networks ?? []).map((one) => [one.id, one]));
  const addNetwork = (key: string, intent: LabNetwork | undefined) => {
    const native = observedNetworks.get(ids.networks[key] ?? "");
    const before =
      native &&
      defined<LabNetwork>({ key, name: native.name, type: native.type, icon: native.icon, position: native.position, vxlan: native.vxlan });
    const { after, changes, missing } = compareNetwork(intent, before, input.rules);
    unsupported.push(...missing);
    const fate = intent === undefined ? extraFate : before === undefined ? "create" : "keep";
    const replaced = fate === "keep" && changes.some(({ field }) => field === "type");
    networks.set(key, {
      key,
      fate,
      before,
      after: after ?? (fate === "extra" ? before : undefined),
      id: native?.id,
      changes,
      replaced,
      level: "none",
      links: [],
    });
  };
  for (const network of input.desired.networks) addNetwork(network.key, network);
  for (const key of Object.keys(ids.networks)) if (!networks.has(key)) addNetwork(key, undefined);
  return networks;
}

/** Returns the number of interfaces that each node needs for the links of the result. */
function neededInterfaces({ intents, templates, nativeOf }: Joined, links: ReadonlyMap<string, ComparedLink>): ReadonlyMap<string, number> {
  const needed = new Map<string, number>();
  for (const { after } of links.values()) {
    for (const { node, interface: name } of interfacesOf(after?.endpoints ?? [])) {
      const template = templates.get(intents.get(node)?.template ?? nativeOf(node)?.template ?? "");
      const index = interfaceIndex(name, template, nativeOf(node));
      if (index !== undefined) needed.set(node, Math.max(needed.get(node) ?? 0, index + 1));
    }
  }
  return needed;
}

/** Returns the nodes of intent and host by key. `unsupported` receives what the host cannot store. */
function compareNodes(
  { input, ids, templates, nativeOf, extraFate }: Joined,
  needed: ReadonlyMap<string, number>,
  unsupported: UnsupportedField[],
): Map<string, NodeWork> {
  const nodes = new Map<string, NodeWork>();
  const owed = new Set(input.owedStarts);
  const inherited = new InheritedFields(input);
  const addNode = (key: string, intent: LabNode | undefined) => {
    const native = nativeOf(key);
    const before = native && observedNode(native, key, templates.get(native.template));
    const up = native?.power === "running" || native?.power === "starting";
    const fate = intent === undefined ? extraFate : before === undefined ? "create" : "keep";
    // A failed node was not stopped by a user, because a stop sets "stopped". It is started again if the intent has it.
    const failed = native?.power === "failed";
    const isOwed = (fate === "keep" || fate === "extra") && native?.power === "stopped" && owed.has(key);
    const keepsUp = up || isOwed || (fate === "keep" && failed);
    const compared = intent && compareNode(intent, before, native, templates.get(intent.template), needed.get(key) ?? 0, input.rules);
    if (compared !== undefined) unsupported.push(...inherited.declared(key, compared.missing));
    nodes.set(key, {
      key,
      fate,
      intent,
      observed: native,
      before,
      after: compared?.after ?? (fate === "extra" ? before : undefined),
      template: templates.get(native?.template ?? intent?.template ?? ""),
      up,
      isOwed,
      wantUp: fate === "create" ? intent?.start !== false : fate !== "delete" && (intent?.start ?? keepsUp),
      differences: compared?.differences ?? [],
      need: "none",
      cause: undefined,
      level: "none",
      links: [],
    });
  };
  for (const node of input.desired.nodes) addNode(node.key, node);
  for (const key of Object.keys(ids.nodes)) if (!nodes.has(key)) addNode(key, undefined);
  unsupported.push(...inherited.withoutEffect());
  return nodes;
}

/** Joins the links with the nodes and networks at their ends, and with the links whose interfaces they take. */
function joinLinks(
  links: ReadonlyMap<string, ComparedLink>,
  nodes: ReadonlyMap<string, NodeWork>,
  networks: ReadonlyMap<string, NetworkWork>,
  unsupported: UnsupportedField[],
): Map<string, LinkWork> {
  const works = new Map<string, LinkWork>();
  for (const [key, link] of links) {
    const ends = [...(link.before?.endpoints ?? link.after?.endpoints ?? [])];
    const network = ends.flatMap((end) => ("network" in end ? (networks.get(end.network) ?? []) : []))[0];
    const at = [...new Set(interfacesOf(ends).flatMap(({ node }) => nodes.get(node) ?? []))];
    const work: LinkWork = { ...link, nodes: at, network, relink: undefined, takes: [], takenBy: [], level: "none" };
    works.set(key, work);
    unsupported.push(...link.missing);
    for (const node of at) node.links.push(work);
    network?.links.push(work);
  }
  for (const [key, link] of links) {
    const work = works.get(key);
    for (const taker of link.takenBy.flatMap((one) => works.get(one) ?? [])) {
      work?.takenBy.push(taker);
      if (work !== undefined) taker.takes.push(work);
    }
  }
  return works;
}

/** Returns the index of an ethernet interface: by the template's naming, else by its place in the host's own list. */
export function interfaceIndex(name: string, template: TemplateRules | undefined, native: ObservedNode | undefined): number | undefined {
  const index = template && interfaceNaming(template.ethFormat).index(name);
  return index ?? native?.interfaces.find((one) => one.name === name && one.type === "ethernet")?.index;
}

function compareNode(
  intent: LabNode,
  before: LabNode | undefined,
  native: ObservedNode | undefined,
  template: TemplateRules | undefined,
  needed: number,
  rules: HostRules,
): { readonly after: LabNode; readonly differences: readonly FieldDifference[]; readonly missing: readonly UnsupportedField[] } {
  const position = hostPosition(intent.position, rules);
  const wanted = wantedNode(position === undefined ? intent : { ...intent, position }, template, needed, native);
  const missing: UnsupportedField[] = [];
  const differences: FieldDifference[] = [];
  const kept: Record<string, unknown> = {};
  const blank = blankNode(intent, template);
  const from = before ?? blank;
  // A node that is recreated from another template keeps no value that the new template does not support.
  const keeps = before?.template === intent.template ? before : blank;
  const isSame = (field: NodeField) =>
    field === "startupConfig" && template?.configLanguage === "frr" && sameFrr(from.startupConfig ?? "", wanted.startupConfig ?? "");
  const changed = new Map(
    diffNode(from, wanted).flatMap((difference) => (isSame(difference.field) ? [] : [[difference.field, difference] as const])),
  );
  const given = new Set(diffNode(keeps, wanted).map(({ field }) => field));
  for (const field of nodeFields) {
    const difference = changed.get(field);
    if (difference === undefined && !given.has(field)) continue;
    const why = unsupportedOnNode(rules, template, field);
    if (why === undefined) {
      if (difference !== undefined) differences.push(difference);
      continue;
    }
    kept[field] = keeps[field];
    if (isDeclared(intent[field])) missing.push({ kind: "node", key: intent.key, field: fieldWord(field), why });
  }
  const after = Object.keys(kept).length === 0 ? wanted : defined<LabNode>({ ...wanted, ...kept } as LabNode);
  return { after, differences: before === undefined ? [] : differences, missing };
}

/** Returns a new node of the template with its defaults only. */
function blankNode(intent: LabNode, template: TemplateRules | undefined): LabNode {
  return defined<LabNode>({
    key: intent.key,
    name: "",
    template: intent.template,
    image: template?.image,
    pull: undefined,
    icon: template?.icon,
    kernel: undefined,
    startupConfig: undefined,
    startupConfigFile: undefined,
    files: undefined,
    fileSources: undefined,
    binds: undefined,
    switching: undefined,
    ports: undefined,
    mgmtIpv4: undefined,
    mgmtIpv6: undefined,
    sshKeys: undefined,
    exec: [],
    cpu: template?.cpu,
    ram: template?.ram,
    ethernet: template?.ethernet,
    start: undefined,
    position: undefined,
    env: {},
    attributes: template?.attributes ?? {},
    labels: {},
  });
}

function isDeclared(value: unknown): boolean {
  const plain = meaning(value);
  return plain !== null && !(typeof plain === "object" && Object.keys(plain).length === 0);
}

function compareNetwork(
  intent: LabNetwork | undefined,
  before: LabNetwork | undefined,
  rules: HostRules,
): { readonly after: LabNetwork | undefined; readonly changes: readonly Change[]; readonly missing: readonly UnsupportedField[] } {
  if (intent === undefined) return { after: undefined, changes: [], missing: [] };
  const changes: Change[] = [];
  const missing: UnsupportedField[] = [];
  const place = hostPosition(intent.position, rules);
  const after: Record<string, unknown> = { key: intent.key };
  for (const field of ["name", "type", "vxlan", "icon", "position"] as const) {
    // An absent position is unmanaged; every other absent field means the host's default.
    const wanted = field === "position" ? (place ?? before?.position) : intent[field];
    const a = before?.[field];
    const same =
      a === wanted ||
      (field === "vxlan" && sameValue(a, wanted)) ||
      (field === "position" && before?.position?.x === place?.x && before?.position?.y === place?.y);
    const why = same || field === "type" || field === "vxlan" ? undefined : unsupportedOnHost(rules, "network", field);
    after[field] = why === undefined ? wanted : a;
    if (same || (field === "position" && intent.position === undefined)) continue;
    if (why === undefined) changes.push({ field, before: a ?? null, after: wanted ?? null });
    else if (isDeclared(intent[field])) missing.push({ kind: "network", key: intent.key, field, why });
  }
  return { after: defined<LabNetwork>(after as unknown as LabNetwork), changes, missing };
}

interface ComparedLink {
  readonly key: string;
  readonly fate: Fate;
  readonly id: string | undefined;
  readonly before: LabLink | undefined;
  readonly after: LabLink | undefined;
  readonly differences: readonly LinkDifference[];
  readonly reason: Reason<"interface_taken" | "interface_gone"> | undefined;
  readonly takenBy: readonly string[];
  readonly missing: readonly UnsupportedField[];
}

function compareLinks({ input, ids, intents, nativeOf, templates }: Joined): Map<string, ComparedLink> {
  const keys = endpointKeys(ids);
  const observedLinks = new Map((input.observed?.links ?? []).map((one) => [one.id, one]));
  const links = new Map<string, ComparedLink>();
  const newLinkAt = new Map<string, string>();
  /** Returns the same text for each name of an interface. */
  const placeOf = ({ node, interface: name }: { readonly node: string; readonly interface: string }): string => {
    const template = templates.get(intents.get(node)?.template ?? nativeOf(node)?.template ?? "");
    return `${node}:${interfaceIndex(name, template, nativeOf(node)) ?? name}`;
  };
  for (const link of input.desired.links) {
    const native = observedLinks.get(ids.links[link.key] ?? "");
    const before = native && observedLink(native, keys, link);
    const missing: UnsupportedField[] = [];
    const serial = interfacesOf(link.endpoints).some(({ node, interface: name }) => {
      const rule = templates.get(intents.get(node)?.template ?? nativeOf(node)?.template ?? "")?.serial;
      return rule !== undefined && serialPort(name, rule) !== undefined;
    });
    const after = supportedLink(link, before, input.rules, serial, missing);
    const fate = before === undefined ? "create" : "keep";
    if (fate === "create") for (const end of interfacesOf(link.endpoints)) newLinkAt.set(placeOf(end), link.key);
    links.set(link.key, {
      key: link.key,
      fate,
      id: native?.id,
      before,
      after,
      differences: diffLink(before, after),
      reason: undefined,
      takenBy: [],
      missing,
    });
  }

  const goneInterface = (node: string, name: string): string | undefined => {
    const intent = intents.get(node);
    const native = nativeOf(node);
    if (intent === undefined || native === undefined) return undefined;
    const template = templates.get(intent.template);
    if (intent.template !== native.template && template !== undefined && interfaceNaming(template.ethFormat).index(name) === undefined) {
      return `template ${intent.template} has no interface ${name}`;
    }
    const index = interfaceIndex(name, template, native);
    if (intent.ethernet !== undefined && index !== undefined && index >= wholeGroups(intent.ethernet, template))
      return `${node} shall have ${intent.ethernet} interfaces`;
    return undefined;
  };
  for (const [key, id] of Object.entries(ids.links)) {
    if (links.has(key)) continue;
    const native = observedLinks.get(id);
    if (native === undefined) continue;
    const before = { ...observedLink(native, keys), key };
    const ends = interfacesOf(before.endpoints);
    const taken = ends.filter((end) => newLinkAt.has(placeOf(end)));
    const takenBy = taken.flatMap((end) => newLinkAt.get(placeOf(end)) ?? []);
    const lost = input.prune ? undefined : ends.map((end) => goneInterface(end.node, end.interface)).find((text) => text !== undefined);
    const reason: ComparedLink["reason"] =
      takenBy.length > 0
        ? {
            code: "interface_taken",
            text: taken.map((end) => `${endpointText(end)} is wanted by ${newLinkAt.get(placeOf(end))}`).join(", "),
          }
        : lost !== undefined
          ? { code: "interface_gone", text: lost }
          : undefined;
    const fate: Fate = input.prune || reason !== undefined ? "delete" : "extra";
    links.set(key, { key, fate, id, before, after: fate === "extra" ? before : undefined, differences: [], reason, takenBy, missing: [] });
  }
  return links;
}

/** Returns the link as the host can store it. A value that the host cannot store stays as it is. */
function supportedLink(
  link: LabLink,
  before: LabLink | undefined,
  rules: HostRules,
  serial: boolean,
  missing: UnsupportedField[],
): LabLink {
  const differences = diffLink(before, link);
  const words = new Map<string, string>();
  for (const { field, changes } of differences) {
    for (const change of changes) {
      const word = field === "quality" ? `quality.${change.field.split(".").at(-1)}` : field;
      const why = unsupportedOnLink(rules, word) ?? unsupportedQuality(rules, link, change, serial);
      if (why !== undefined && change.after !== null && change.after !== false) words.set(change.field, why);
      else if (why !== undefined) words.set(change.field, "");
    }
  }
  if (words.size === 0) return link;
  for (const [field, why] of words) if (why !== "") missing.push({ kind: "link", key: link.key, field, why });
  const quality: Record<string, Record<string, number>> = {};
  for (const side of ["a", "b"] as const) {
    for (const word of ["delay", "jitter", "loss", "bandwidth"] as const) {
      const value = (words.has(`quality.${side}.${word}`) ? before : link)?.quality?.[side]?.[word];
      if (value !== undefined) {
        quality[side] ??= {};
        quality[side][word] = value;
      }
    }
  }
  const suspended = {
    a: (words.has("suspended.a") ? before : link)?.suspended?.a ?? false,
    b: (words.has("suspended.b") ? before : link)?.suspended?.b ?? false,
  };
  return defined<LabLink>({
    key: link.key,
    endpoints: link.endpoints,
    quality: Object.keys(quality).length > 0 ? quality : undefined,
    suspended: suspended.a || suspended.b ? suspended : undefined,
    mtu: words.has("mtu") ? before?.mtu : link.mtu,
  });
}
