import type { Lab, LabLink, LabNetwork, LabNode, Position } from "../../intent/lab/lab.ts";
import { toLabName } from "../../intent/lab/lab-name.ts";
import type { ObservedLab, ObservedNode } from "../model/observed.ts";
import type { HostRules, TemplateRules } from "../model/plan.ts";
import { unsupportedOnHost, unsupportedOnLink, unsupportedOnNode } from "../model/support.ts";
import { defined } from "../shared/defined.ts";
import { interfaceIndex } from "./compare-lab.ts";
import { diffLab } from "./diff-lab.ts";
import { diffLink, observedLink } from "./diff-link.ts";
import { endpointKeys, type JoinedIds, joinIds } from "./join.ts";
import { hostPosition, wantedImage, wholeGroups } from "./node-values.ts";

export interface ReadLabInput {
  readonly observed: ObservedLab;
  /** The previous intent. Its keys, its explicit defaults and all values that the host cannot store are kept. */
  readonly base?: Lab;
  readonly ids?: JoinedIds;
  /** Positions that the host chose by itself. A resource gets no position if the base does not place it and it has not moved. */
  readonly hostPlaces?: HostPlaces;
  readonly rules: HostRules;
}

/** By native id. */
export interface HostPlaces {
  readonly nodes: ReadonlyMap<string, Position>;
  readonly networks: ReadonlyMap<string, Position>;
}

/**
 * Returns the host's persisted lab as intent; a plan of the result is empty. Template defaults are left out unless the base has them. Power is not
 * part of an intent, only a declared `start` is.
 */
export function readLab({ observed, base, ids: stateIds, hostPlaces, rules }: ReadLabInput): Lab {
  const ids = joinIds(base ?? null, observed, stateIds);
  const keys = endpointKeys(ids);
  const templates = new Map(rules.templates.map((template) => [template.id, template]));
  const baseNodes = new Map((base?.nodes ?? []).map((node) => [node.key, node]));
  const baseNetworks = new Map((base?.networks ?? []).map((network) => [network.key, network]));
  const baseLinks = new Map((base?.links ?? []).map((link) => [link.key, link]));

  const nativeLinks = new Map(observed.links.map((link) => [link.id, link]));
  const links = Object.entries(ids.links).flatMap(([key, id]) => {
    const native = nativeLinks.get(id);
    if (native === undefined) return [];
    const wanted = baseLinks.get(key);
    return readLink({ ...observedLink(native, keys, wanted), key }, wanted, rules);
  });

  const natives = new Map(observed.nodes.map((node) => [node.id, node]));
  const needed = new Map<string, number>();
  for (const { endpoints } of links) {
    for (const end of endpoints) {
      const native = "node" in end ? natives.get(ids.nodes[end.node] ?? "") : undefined;
      if (native === undefined || !("node" in end)) continue;
      const index = interfaceIndex(end.interface, templates.get(native.template), native);
      if (index !== undefined) needed.set(end.node, Math.max(needed.get(end.node) ?? 0, index + 1));
    }
  }
  const nodes = Object.entries(ids.nodes).flatMap(([key, id]) => {
    const native = natives.get(id);
    return native === undefined
      ? []
      : readNode(native, key, baseNodes.get(key), templates.get(native.template), needed.get(key) ?? 0, hostPlaces?.nodes, rules);
  });

  const nativeNetworks = new Map(observed.networks.map((network) => [network.id, network]));
  const networks = Object.entries(ids.networks).flatMap(([key, id]) => {
    const native = nativeNetworks.get(id);
    if (native === undefined) return [];
    const before = baseNetworks.get(key);
    const lost = (field: string) => unsupportedOnHost(rules, "network", field) !== undefined;
    return defined<LabNetwork>({
      key,
      name: lost("name") ? (before?.name ?? native.name) : native.name,
      type: native.type,
      vxlan: native.vxlan,
      icon: lost("icon") ? before?.icon : native.icon,
      position: lost("position") ? before?.position : readPosition(native, before, hostPlaces?.networks, rules),
    });
  });

  return { ...readLabItself(observed, base, rules), nodes: byKey(nodes), networks: byKey(networks), links: byKey(links) };
}

type LabItself = Omit<Lab, "nodes" | "networks" | "links">;

function readLabItself(observed: ObservedLab, base: Lab | undefined, rules: HostRules): LabItself {
  const lost = (field: string) => base !== undefined && unsupportedOnHost(rules, "lab", field) !== undefined;
  const unchanged = base === undefined ? undefined : diffLab(base, observed, { ...rules, unsupportedFields: [] });
  const changed = new Set(unchanged?.changes.map(({ field }) => field.split(".")[0]));
  const keepFilters = lost("trafficFilters") || (unchanged !== undefined && !changed.has("traffic_filters"));
  const keepTexts = lost("texts") || unchanged?.textChanges.length === 0;
  const keepDescription = lost("description") || (unchanged !== undefined && !changed.has("description"));
  const keepManagement = lost("management") || (unchanged !== undefined && !changed.has("management"));
  return defined<LabItself>({
    name: base !== undefined && lost("name") ? base.name : toLabName(observed.name),
    description: keepDescription ? base?.description : observed.description || undefined,
    management: keepManagement ? base?.management : observed.management,
    texts: (keepTexts ? base?.texts : undefined) ?? observed.texts,
    trafficFilters:
      (keepFilters ? base?.trafficFilters : undefined) ?? [...observed.trafficFilters].sort((a, b) => (a.name < b.name ? -1 : 1)),
    shapes: base === undefined ? observed.shapes : base.shapes,
    lease: base?.lease,
    place: base?.place,
    tests: base?.tests,
    boots: base?.boots,
  });
}

function readNode(
  native: ObservedNode,
  key: string,
  base: LabNode | undefined,
  template: TemplateRules | undefined,
  needed: number,
  places: HostPlaces["nodes"] | undefined,
  rules: HostRules,
): LabNode {
  const lost = (field: Parameters<typeof unsupportedOnNode>[2]) => unsupportedOnNode(rules, template, field) !== undefined;
  // A value is written if it differs from the template's default, or if the base has it.
  const scalar = <T>(field: "image" | "icon" | "cpu" | "ram", value: T | undefined, byDefault: T | undefined): T | undefined => {
    if (lost(field)) return base?.[field] as T | undefined;
    const effective = value ?? byDefault;
    if (field === "image" && base !== undefined && base.image !== undefined && wantedImage(base.image, template) === effective) {
      return base.image as T;
    }
    return effective !== byDefault || base?.[field] !== undefined ? effective : undefined;
  };
  const startupConfig = lost("startupConfig") ? base?.startupConfig : native.startupConfig || (base?.startupConfig === "" ? "" : undefined);
  return defined<LabNode>({
    key,
    name: lost("name") ? (base?.name ?? native.name) : native.name,
    template: native.template,
    image: scalar("image", native.image, template?.image),
    pull: base?.pull,
    icon: scalar("icon", native.icon, template?.icon),
    kernel: lost("kernel") ? base?.kernel : native.kernel,
    startupConfig,
    startupConfigFile: startupConfig === undefined ? undefined : base?.startupConfigFile,
    ...readFiles(lost("files") ? base?.files : native.files, base),
    mgmtIpv4: lost("mgmtIpv4") ? base?.mgmtIpv4 : native.mgmtIpv4,
    mgmtIpv6: lost("mgmtIpv6") ? base?.mgmtIpv6 : native.mgmtIpv6,
    sshKeys: lost("sshKeys") ? base?.sshKeys : native.sshKeys,
    ports: lost("ports") ? base?.ports : native.ports,
    binds: lost("binds") ? base?.binds : native.binds,
    switching: lost("switching") ? base?.switching : native.switching,
    exec: lost("exec") ? (base?.exec ?? []) : native.exec,
    cpu: scalar("cpu", native.cpu, template?.cpu),
    ram: scalar("ram", native.ram, template?.ram),
    ethernet: lost("ethernet") ? base?.ethernet : readEthernet(native.ethernet, base, needed, template),
    start: lost("start") ? base?.start : native.start,
    position: lost("position") ? base?.position : readPosition(native, base, places, rules),
    env: lost("env") ? (base?.env ?? {}) : sortedRecord(native.env),
    attributes: lost("attributes") ? (base?.attributes ?? {}) : readAttributes(native, base, template),
    labels: lost("labels") ? (base?.labels ?? {}) : sortedRecord(native.labels),
  });
}

/** Returns the files, with the sources of those whose text is that of the base. */
function readFiles(files: LabNode["files"], base: LabNode | undefined): Pick<LabNode, "files" | "fileSources"> {
  const kept = Object.entries(base?.fileSources ?? {}).filter(([path]) => files?.[path]?.text === base?.files?.[path]?.text);
  return defined<Pick<LabNode, "files" | "fileSources">>({ files, fileSources: kept.length === 0 ? undefined : Object.fromEntries(kept) });
}

/**
 * Returns the position to write. Keeps the base's position if the host only rounds it. If the base has no position, returns one only if somebody
 * moved the resource.
 */
function readPosition(
  native: { readonly id: string; readonly position?: Position },
  base: { readonly position?: Position } | undefined,
  places: ReadonlyMap<string, Position> | undefined,
  rules: HostRules,
): Position | undefined {
  const { id, position } = native;
  const before = base?.position === undefined ? places?.get(id) : hostPosition(base.position, rules);
  const moved = before === undefined || position?.x !== before.x || position.y !== before.y;
  return moved || base === undefined ? position : base.position;
}

/** Returns the interface count to write. It is left out if it follows from the links, or if the base leaves it to the links. */
function readEthernet(count: number, base: LabNode | undefined, links: number, template: TemplateRules | undefined): number | undefined {
  const needed = wholeGroups(Math.max(links, template?.ethernet ?? 0), template);
  if (base?.ethernet !== undefined) return wholeGroups(base.ethernet, template) === count ? base.ethernet : count;
  return base === undefined ? (count === needed ? undefined : count) : count >= needed ? undefined : count;
}

function readAttributes(native: ObservedNode, base: LabNode | undefined, template: TemplateRules | undefined): LabNode["attributes"] {
  const effective = { ...template?.attributes, ...native.attributes };
  const kept = Object.entries(effective).filter(
    ([name, value]) => template?.attributes[name] !== value || Object.hasOwn(base?.attributes ?? {}, name),
  );
  return sortedRecord(Object.fromEntries(kept));
}

/** Keeps the base's notation, such as a zero or an empty side, if nothing differs. */
function readLink(link: LabLink, base: LabLink | undefined, rules: HostRules): LabLink {
  if (base === undefined) return link;
  const changed = new Set(diffLink(link, base).map(({ field }) => field));
  const keep = (field: "quality" | "suspended" | "mtu") => !changed.has(field) || unsupportedOnLink(rules, field) !== undefined;
  return defined<LabLink>({
    key: link.key,
    endpoints: base.endpoints,
    quality: keep("quality") ? base.quality : link.quality,
    suspended: keep("suspended") ? base.suspended : link.suspended,
    mtu: keep("mtu") ? base.mtu : link.mtu,
  });
}

function sortedRecord<T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function byKey<T extends { readonly key: string }>(list: readonly T[]): readonly T[] {
  return [...list].sort((a, b) => (a.key < b.key ? -1 : 1));
}
