import { didYouMean } from "../diagnostics/nearest.ts";
import { type Place, pointer } from "../diagnostics/problems.ts";
import { type Field, field, isNull, readMap } from "../fields/fields.ts";
import type { StartupConfig } from "../fields/read-startup-config.ts";
import type { NodeAddresses } from "../generate/pools.ts";
import type { Routing } from "../generate/routing.ts";
import { order, sortedRecord } from "../lab/canonical.ts";
import type { LabNetwork, LabNode, Position, PullPolicy, Scalar } from "../lab/lab.ts";
import type { TestCheck } from "../lab/lab-test.ts";
import { inheritableVocabulary, nodeVocabulary } from "../lab/vocabulary.ts";
import type { Entry, MapValue } from "../parse/parse.ts";
import { takeConfigFile } from "./config-file.ts";
import { bindsOf, type MachineBinds } from "./machine-binds.ts";
import {
  type FormSource,
  inherit,
  type MapField,
  NAME,
  NAME_RULE,
  type NodeFields,
  type NodeForm,
  type ReadContext,
  readNodeForm,
} from "./node-fields.ts";
import { filesOf, filesProblem } from "./node-files.ts";

/** A node of the document, with the inherited values and the source position that the editor needs. */
export interface ReadNode {
  readonly entry: Entry;
  readonly path: string;
  readonly inherited: NodeFields;
  /** The fields of the node that it does not set itself. */
  readonly inheritedFields: readonly string[];
  /** The maps that it inherits from, besides defaults. The last one that sets a field wins. */
  readonly kind?: string;
  readonly groups: readonly string[];
  /** Its own map, if it has one. */
  readonly source?: FormSource;
  /** As its author wrote it, without what addressing, routing and templates make. */
  readonly node: LabNode;
  readonly addresses?: NodeAddresses;
  /** Its startup-config, if that is a template. */
  readonly template?: StartupConfig;
  /** Its own or inherited protocols; null: none, although the lab has some. */
  readonly routing?: Routing | null;
  /** Its own conditions or inherited ones. */
  readonly ready: readonly TestCheck[];
}

export interface Inheritance {
  readonly defaults: NodeForm;
  readonly kinds: ReadonlyMap<string, NodeForm>;
  readonly groups: ReadonlyMap<string, NodeForm>;
}

/** containerlab writes a bridge as a node; here it is a network. */
const BRIDGE_KINDS = ["bridge", "ovs-bridge"];

/** Maximum entries of merged maps over all nodes: far above any lab, and a limit for defaults × nodes. */
const MAX_MAP_ENTRIES = 300_000;
/** Maximum characters of the texts of all nodes together. The reader shares a text that several nodes have; plans, hosts and threads copy it for each node. */
const MAX_NODES_TEXT = 32 * 1024 * 1024;

export function readInheritance(
  context: ReadContext,
  sections: Readonly<Record<"defaults" | "kinds" | "groups", Field | undefined>>,
): Inheritance {
  const forms = (at: Field | undefined): ReadonlyMap<string, NodeForm> => {
    const map = at && readMap(context.problems, at);
    const result = new Map<string, NodeForm>();
    for (const entry of map?.entries.values() ?? []) result.set(entry.key, readForm(context, field(entry, at?.path ?? "")));
    return result;
  };
  return {
    defaults: sections.defaults === undefined ? { fields: {} } : readForm(context, sections.defaults),
    kinds: forms(sections.kinds),
    groups: forms(sections.groups),
  };
}

function readForm(context: ReadContext, at: Field): NodeForm {
  const map = isNull(at.value) ? undefined : readMap(context.problems, at);
  return map === undefined ? { fields: {} } : readNodeForm(context, map, at.path, inheritableVocabulary);
}

/** Reads all nodes; nodes of a bridge kind become networks. */
export function readNodes(
  context: ReadContext,
  at: Field,
  inheritance: Inheritance,
): { readonly nodes: Map<string, ReadNode>; readonly bridges: Map<string, { readonly entry: Entry; readonly network: LabNetwork }> } {
  const nodes = new Map<string, ReadNode>();
  const bridges = new Map<string, { readonly entry: Entry; readonly network: LabNetwork }>();
  const { problems } = context;
  const inheritedOf = new Inherited(context, inheritance);
  let mapEntries = 0;
  const texts = new TextSizes();
  let characters = 0;
  for (const entry of readMap(problems, at)?.entries.values() ?? []) {
    const here = field(entry, at.path);
    checkKey(context, entry, here.path, "node");
    const map = isNull(entry.value) ? undefined : readMap(problems, here);
    if (map === undefined && !isNull(entry.value)) continue;
    const form: NodeForm = map === undefined ? { fields: {} } : readNodeForm(context, map, here.path, nodeVocabulary);
    const { kind, groups, fields: inherited } = inheritedOf.node(form, map ?? null, here);
    const fields = inherit(inherited, form.fields);
    const template = fields.template ?? kind;
    if (template !== undefined && BRIDGE_KINDS.includes(template)) {
      bridges.set(entry.key, { entry, network: bridge(entry.key, fields) });
      continue;
    }
    if (template === undefined) {
      problems.error(
        "missing_key",
        entry.place,
        here.path,
        `the node ${JSON.stringify(entry.key)} has no template`,
        "write template: … or kind: … here or in defaults",
      );
      continue;
    }
    mapEntries += (fields.env?.size ?? 0) + (fields.attributes?.size ?? 0) + (fields.labels?.size ?? 0);
    if (mapEntries > MAX_MAP_ENTRIES) {
      problems.error("too_large", entry.place, here.path, "env, attributes and labels of all nodes have too many entries together");
      break;
    }
    characters += texts.of(fields);
    if (characters > MAX_NODES_TEXT) {
      const message = `the texts of all nodes, with those that they inherit, have more than ${MAX_NODES_TEXT} characters together`;
      problems.error("too_large", entry.place, here.path, message, "declare large configurations and files for fewer nodes");
      break;
    }
    const chosen = ofContainer(template, kind, groups, [form, inheritance], fields.image) ?? template;
    const node = labNode(entry.key, chosen, takeConfigFile(problems, chosen, fields, entry.place, here.path));
    const tooMany = filesProblem(node.files);
    if (tooMany !== undefined) problems.error("too_large", entry.place, here.path, tooMany);
    nodes.set(entry.key, {
      entry,
      path: here.path,
      inherited,
      inheritedFields: inheritedFields(inherited, form.fields),
      ...(kind !== undefined && { kind }),
      groups,
      ...(form.source !== undefined && { source: form.source }),
      node,
      ...(fields.startupConfig?.template !== undefined && { template: fields.startupConfig }),
      ...(fields.addresses != null && { addresses: fields.addresses }),
      ...(fields.routing !== undefined && { routing: fields.routing }),
      ready: fields.ready ?? [],
    });
  }
  return { nodes, bridges };
}

/**
 * Kinds of containerlab that are containers if their image is one of a registry, with the template that they have then, and the character by which such an image
 * is known. A name with a tag alone, such as frr:10, is an image of template frr.
 */
const containerKinds: ReadonlyMap<string, { readonly template: string; readonly image: RegExp }> = new Map([
  ["linux", { template: "container", image: /[/:@]/ }],
  ["frr", { template: "frr-container", image: /[/@]/ }],
]);

/** Returns the template of a container that a kind of containerlab means with this image; undefined if it means none. */
export function containerOfKind(kind: string | undefined, image: string | null | undefined): string | undefined {
  const container = containerKinds.get(kind ?? "");
  return image != null && container?.image.test(image) === true ? container.template : undefined;
}

/** Returns whether a kind of containerlab may mean a container. */
export function isContainerKind(kind: string | undefined): boolean {
  return containerKinds.has(kind ?? "");
}

/**
 * Returns the template of a container if containerlab's kind means one: it does with an image of a registry. A template that is named as a template is not
 * changed, nor is a kind with the name of an image of its template.
 */
function ofContainer(
  template: string,
  kind: string | undefined,
  groups: readonly string[],
  [form, { defaults, kinds, groups: known }]: readonly [NodeForm, Inheritance],
  image: string | null | undefined,
): string | undefined {
  const container = containerOfKind(kind, image);
  if (kind !== template || container === undefined) return undefined;
  const forms = [form, kinds.get(kind), ...groups.map((group) => known.get(group)), defaults];
  return forms.every((one) => one?.fields.template == null) ? container : undefined;
}

/** Measures the texts of nodes, in characters. A part that several nodes inherit is measured once. */
class TextSizes {
  readonly #known = new WeakMap<object, number>();

  of(fields: NodeFields): number {
    let sum = 0;
    for (const value of Object.values(fields)) sum += this.#sizeOf(value);
    return sum;
  }

  #sizeOf(value: unknown): number {
    if (typeof value === "string") return value.length;
    if (typeof value !== "object" || value === null) return 1;
    let size = this.#known.get(value);
    if (size === undefined) {
      size = 1;
      for (const part of value instanceof Map ? [...value].flat() : Object.values(value)) size += this.#sizeOf(part);
      this.#known.set(value, size);
    }
    return size;
  }
}

export function checkKey({ problems }: ReadContext, entry: Entry, path: string, what: string): void {
  if (NAME.test(entry.key)) return;
  const shown = JSON.stringify(entry.key.slice(0, 80));
  problems.error("invalid_name", entry.place, path, `${shown} is not a ${what} key: ${NAME_RULE}`);
}

function bridge(key: string, fields: NodeFields): LabNetwork {
  return {
    key,
    name: fields.name ?? key,
    type: "bridge",
    ...(fields.icon == null ? {} : { icon: fields.icon }),
    ...(fields.position == null ? {} : { position: fields.position }),
  };
}

/** Returns the fields that a node inherits, computed once for each pair of kind and groups. */
class Inherited {
  readonly #context: ReadContext;
  readonly #from: Inheritance;
  readonly #known = new Map<string, NodeFields>();

  constructor(context: ReadContext, from: Inheritance) {
    this.#context = context;
    this.#from = from;
  }

  node(
    form: NodeForm,
    map: MapValue | null,
    at: Field,
  ): { readonly kind: string | undefined; readonly groups: readonly string[]; readonly fields: NodeFields } {
    const { defaults, kinds } = this.#from;
    const special = form.kind ?? this.#kindOf(form.groups ?? defaults.groups ?? []);
    const kind = special ?? defaults.kind;
    const ofKind = kind === undefined ? undefined : kinds.get(kind);
    const groups = form.groups ?? ofKind?.groups ?? defaults.groups ?? [];
    this.#checkGroups(groups, map, at);
    const cached = `${special ?? ""} ${groups.join(" ")}`;
    let fields = this.#known.get(cached);
    if (fields === undefined) {
      fields = defaults.fields;
      // A kind that is not in kinds is the name of a template, and overrides the default one.
      if (special !== undefined && ofKind === undefined) fields = { ...fields, template: special };
      if (ofKind !== undefined) fields = inherit(fields, ofKind.fields);
      // Of a group that is named several times, the last one decides: its fields would be overlaid with themselves.
      for (const group of [...new Set(groups.toReversed())].toReversed())
        fields = inherit(fields, this.#from.groups.get(group)?.fields ?? {});
      this.#known.set(cached, fields);
    }
    return { kind, groups, fields };
  }

  #kindOf(groups: readonly string[]): string | undefined {
    return groups.map((group) => this.#from.groups.get(group)?.kind).findLast((kind) => kind !== undefined);
  }

  #checkGroups(groups: readonly string[], map: MapValue | null, at: Field): void {
    for (const group of groups) {
      if (this.#from.groups.has(group)) continue;
      const entry = map?.entries.get("group") ?? map?.entries.get("groups");
      const place: Place = entry?.place ?? at.place;
      const path = entry === undefined ? at.path : pointer(at.path, entry.key);
      const hint = didYouMean(group, this.#from.groups.keys(), this.#context.problems.effort);
      this.#context.problems.warn(
        "unknown_group",
        place,
        path,
        `the group ${JSON.stringify(group)} is not in groups and has no effect`,
        hint,
      );
    }
  }
}

function inheritedFields(inherited: NodeFields, own: NodeFields): readonly string[] {
  const names = Object.entries(inherited).flatMap(([name, value]) => {
    const isOwn = own[name as keyof NodeFields] !== undefined;
    // Hosts know no routing: it becomes configurations.
    if (value == null || isOwn || name === "template" || name === "routing") return [];
    if (name === "machineBinds") return (value as MachineBinds).size > 0 ? ["binds"] : [];
    return [name === "binds" ? "files" : name];
  });
  return names.length === 0 ? noFields : names;
}

const noFields: readonly string[] = [];

function labNode(key: string, template: string, fields: NodeFields): LabNode {
  const { startupConfig: config } = fields;
  const optional: { -readonly [K in "image" | "pull" | "icon" | "cpu" | "ram" | "ethernet" | "start" | "position"]?: unknown } = {};
  for (const name of ["image", "pull", "icon", "cpu", "ram", "ethernet", "start", "position"] as const) {
    if (fields[name] != null) optional[name] = fields[name];
  }
  return {
    key,
    name: fields.name ?? key,
    template,
    ...(optional as {
      image?: string;
      pull?: PullPolicy;
      icon?: string;
      cpu?: number;
      ram?: number;
      ethernet?: number;
      start?: boolean;
      position?: Position;
    }),
    ...(config == null || config.template !== undefined
      ? {}
      : { startupConfig: config.text, ...(config.file === undefined ? {} : { startupConfigFile: config.file }) }),
    ...(fields.kernel === "own" && { kernel: fields.kernel }),
    ...filesOf(fields.binds, fields.files),
    ...bindsOf(fields.machineBinds, fields.files),
    ...(fields.switching == null ? {} : { switching: fields.switching }),
    ...(fields.ports == null || fields.ports.length === 0 ? {} : { ports: fields.ports }),
    ...(fields.mgmtIpv4 != null && { mgmtIpv4: fields.mgmtIpv4 }),
    ...(fields.mgmtIpv6 != null && { mgmtIpv6: fields.mgmtIpv6 }),
    ...(fields.sshKeys == null || fields.sshKeys.length === 0 ? {} : { sshKeys: fields.sshKeys }),
    exec: fields.exec ?? [],
    env: record(fields.env),
    attributes: record<Scalar>(fields.attributes),
    labels: record(fields.labels),
  };
}

const records = new WeakMap<object, Readonly<Record<string, unknown>>>();

/** Removes the values that were reset. Nodes that inherit the same share the record. */
function record<T>(map: MapField<T> | null | undefined): Readonly<Record<string, T>> {
  if (map == null) return {};
  let known = records.get(map);
  if (known === undefined) {
    const entries = [...map].filter((entry): entry is [string, T] & [string, T | null] => entry[1] !== null);
    known = sortedRecord(Object.fromEntries(entries.sort(([a], [b]) => order(a, b))));
    records.set(map, known);
  }
  return known as Readonly<Record<string, T>>;
}
