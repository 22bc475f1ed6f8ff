import { sameData } from "../lab/canonical.ts";
import type { Lab, LabNetwork, LabNode } from "../lab/lab.ts";
import type { Entry, MapValue } from "../parse/parse.ts";
import { variablesEntry } from "../parse/variables.ts";
import { bindsOf } from "../read/machine-binds.ts";
import { inherit, type NodeFields } from "../read/node-fields.ts";
import { filesOf } from "../read/node-files.ts";
import type { Reading } from "../read/read.ts";
import { containerOfKind, isContainerKind, type ReadNode } from "../read/read-nodes.ts";
import { authorConfig, authorNetwork, authorNode, type Fields } from "../write/author.ts";
import { type Data, isRecord } from "../write/write.ts";
import { CannotChangePart, escaped, sameTarget } from "./expanded.ts";
import { Changes, remove, type Target } from "./rewrite.ts";

type Edits = Map<string, Target | typeof remove>;

export function changeNodes(reading: Reading, before: Lab, after: Lab): Changes | undefined {
  const edits: Edits = new Map();
  const old = new Map(before.nodes.map((node) => [node.key, node]));
  const kept = new Set(after.nodes.map(({ key }) => key));
  for (const { key } of before.nodes) if (!kept.has(key)) edits.set(key, remove);
  const networks = new Map(after.networks.map((network) => [network.key, network]));
  for (const key of reading.bridges) {
    const wanted = networks.get(key);
    const { entry, network } = reading.networks.get(key) as { entry: Entry; network: LabNetwork };
    if (wanted?.type !== "bridge") edits.set(key, remove);
    else if (!sameData(wanted, network))
      edits.set(
        key,
        changeFields(entry, bridgeFields(network), bridgeFields(wanted), () => undefined),
      );
  }
  for (const node of after.nodes) {
    const current = old.get(node.key);
    if (current === undefined) edits.set(node.key, newNode(reading, node));
    else if (!sameData(current, node)) edits.set(node.key, changeNode(reading, current, node));
  }
  changeRanges(reading, old, after, edits);
  return edits.size === 0 ? undefined : new Changes(edits);
}

/**
 * A change that all nodes of a range have alike is written at the range. The change of one of them becomes an entry of its own, which wins over the range.
 * @throws CannotChangePart if some of its nodes are removed.
 */
function changeRanges(reading: Reading, old: ReadonlyMap<string, LabNode>, after: Lab, edits: Edits): void {
  const ranges = new Map<string, ReadNode[]>();
  for (const read of reading.nodes.values()) {
    const key = read.entry.range?.key;
    if (key !== undefined) ranges.set(key, [...(ranges.get(key) ?? []), read]);
  }
  const wanted = new Map(after.nodes.map((node) => [node.key, node]));
  for (const [range, reads] of ranges) {
    const first = reads[0] as ReadNode;
    const gone = reads.filter(({ node }) => edits.get(node.key) === remove);
    if (gone.length > 0 && gone.length < reads.length) {
      const message = `node ${gone[0]?.node.key} comes from ${range}: change the range by hand, or write its nodes one by one; labwright render prints them`;
      throw new CannotChangePart(first.entry.place, message);
    }
    if (!reads.every(({ node }) => edits.has(node.key))) continue;
    const targets = reads.map(({ node, entry }) => {
      const now = wanted.get(node.key);
      return now === undefined
        ? remove
        : changeNode(reading, old.get(node.key) as LabNode, now, { ...entry, value: entry.range?.value ?? entry.value });
    });
    if (!targets.every((target) => sameTarget(target, targets[0]))) continue;
    for (const { node } of reads) edits.delete(node.key);
    const target = targets[0] as Target | typeof remove;
    // References in a range are always replaced. In a lab with variables, the editor escapes all texts.
    edits.set(range, variablesEntry(reading.root) === undefined ? escaped(target) : target);
  }
}

export function changeNetworks(reading: Reading, before: Lab, after: Lab): Changes | undefined {
  const edits: Edits = new Map();
  const kept = new Set(after.networks.map(({ key }) => key));
  for (const { key } of before.networks) if (!kept.has(key) && !reading.bridges.has(key)) edits.set(key, remove);
  for (const network of after.networks) {
    const read = reading.networks.get(network.key);
    const isBridge = reading.bridges.has(network.key);
    if (isBridge && network.type === "bridge") continue;
    if (read === undefined || isBridge) edits.set(network.key, authorNetwork(network));
    else if (!sameData(read.network, network)) {
      edits.set(
        network.key,
        changeFields(read.entry, authorNetwork(read.network), authorNetwork(network), () => undefined),
      );
    }
  }
  return edits.size === 0 ? undefined : new Changes(edits);
}

/** A bridge that is written as a node: its kind is its type, so the type is not written. */
function bridgeFields(network: LabNetwork): Fields {
  return { ...authorNetwork(network), type: undefined };
}

/** Returns the fields of a new node, which inherits only from defaults. Values that it inherits are not written again. */
function newNode(reading: Reading, node: LabNode): Data {
  const { defaults, kinds, groups } = reading.inheritance;
  const ofKind = defaults.kind === undefined ? undefined : kinds.get(defaults.kind);
  let inherited = inherit(defaults.fields, ofKind?.fields ?? {});
  for (const group of ofKind?.groups ?? defaults.groups ?? []) inherited = inherit(inherited, groups.get(group)?.fields ?? {});
  return overriding(authored(inherited), authorNode(node)) as Data;
}

function changeNode(reading: Reading, current: LabNode, wanted: LabNode, at?: Entry): Target {
  const { entry: own, inherited, kind } = reading.nodes.get(wanted.key) as ReadNode;
  const entry = at ?? own;
  // With another image, the kind would mean another template: the wanted one is written.
  const isUnclear = isContainerKind(kind) && wanted.template !== (containerOfKind(kind, wanted.image) ?? kind);
  const unclear: Fields = isUnclear ? { template: undefined } : {};
  const below = { ...authored(inherited), ...unclear };
  return changeFields(entry, { ...authorNode(current), ...unclear }, authorNode(wanted), (key) => below[key]);
}

/** Inherited values, as the YAML has them; null for values that are reset. */
function authored(fields: NodeFields): Fields {
  const { startupConfig: config, files, binds, machineBinds, env, attributes, labels, name: _name, ready: _ready, ...plain } = fields;
  const effective = <T extends Data>(map: ReadonlyMap<string, T | null> | null | undefined): Data | undefined => {
    const entries = [...(map ?? [])].filter(([, value]) => value !== null);
    return entries.length === 0 ? undefined : Object.fromEntries(entries as [string, T][]);
  };
  const written = authorNode({
    key: "",
    name: "",
    template: plain.template ?? "",
    ...filesOf(binds, files),
    ...bindsOf(machineBinds, files),
    exec: plain.exec ?? [],
    env: {},
    attributes: {},
    labels: {},
    ...Object.fromEntries(Object.entries(plain).filter(([key, value]) => value != null && key !== "template" && key !== "exec")),
  });
  return {
    ...written,
    template: plain.template ?? undefined,
    "startup-config":
      config == null || config.template !== undefined
        ? undefined
        : authorConfig({ startupConfig: config.text, startupConfigFile: config.file } as Pick<
            LabNode,
            "startupConfig" | "startupConfigFile"
          >),
    env: effective(env),
    attributes: effective(attributes),
    labels: effective(labels),
  };
}

/** Returns the fields of a new map, without the values that it inherits. */
function overriding(below: Fields, wanted: Fields): Fields {
  const result: Record<string, Data | undefined> = {};
  for (const key of new Set([...Object.keys(wanted), ...Object.keys(below)])) result[key] = override(below[key], wanted[key]);
  return result;
}

const MAPS = ["files", "env", "attributes", "labels"];

/** Returns the value that must be written so that `wanted` takes effect; undefined if nothing must be written. */
function override(below: Data | undefined, wanted: Data | undefined, isMapField = isRecord(below) && isRecord(wanted)): Data | undefined {
  if (sameData(below, wanted)) return undefined;
  if (wanted === undefined) return null;
  if (!isMapField || !isRecord(below) || !isRecord(wanted)) return wanted;
  const entries: [string, Data][] = [];
  for (const key of new Set([...Object.keys(wanted), ...Object.keys(below)])) {
    const value = override(own(below, key), own(wanted, key), false);
    if (value !== undefined) entries.push([key, value]);
  }
  return Object.fromEntries(entries);
}

/** Returns the changes of a map of fields in the document, or its data if the document has no map there. */
function changeFields(entry: Entry, current: Fields, wanted: Fields, inherited: (key: string) => Data | undefined): Target {
  const edits: Edits = new Map();
  const value = entry.value;
  for (const key of new Set([...Object.keys(wanted), ...Object.keys(current)])) {
    if (sameData(current[key], wanted[key])) continue;
    const written = spelling(value, key);
    const merged = value.kind === "map" && (value.entries.get(written)?.merged ?? false);
    edits.set(written, changeField(value, written, { below: inherited(key), wanted: wanted[key], merged, isMap: MAPS.includes(key) }));
  }
  if (value.kind === "map") return new Changes(edits);
  return Object.fromEntries([...edits].flatMap(([key, edit]) => (edit === remove ? [] : [[key, edit as Data]])));
}

interface FieldEdit {
  readonly below: Data | undefined;
  readonly wanted: Data | undefined;
  /** The key comes from a merge key, so its values are overridden, not removed. */
  readonly merged: boolean;
  readonly isMap: boolean;
}

function changeField(value: Entry["value"], key: string, { below, wanted, merged, isMap }: FieldEdit): Target | typeof remove {
  const ownEntry = value.kind === "map" ? value.entries.get(key) : undefined;
  const data = override(below, wanted, isMap);
  if (isMap && wanted !== undefined && ownEntry?.value.kind === "map" && !merged && data !== undefined) {
    return mapEdits(ownEntry.value, isRecord(below) ? below : {}, wanted as Fields);
  }
  if (data !== undefined) return data;
  if (!merged) return remove;
  if (isMap) return {};
  return wanted ?? null;
}

/** Key by key, so that unchanged keys keep their place and comments. */
function mapEdits(map: MapValue, below: Fields, wanted: Fields): Changes {
  const edits: Edits = new Map();
  for (const key of new Set([...map.entries.keys(), ...Object.keys(wanted), ...Object.keys(below)])) {
    const entry = map.entries.get(key);
    const value = override(own(below, key), own(wanted, key), false);
    if (value !== undefined) edits.set(key, value);
    else if (entry?.merged) edits.set(key, own(wanted, key) ?? null);
    else if (entry !== undefined) edits.set(key, remove);
  }
  return new Changes(edits);
}

function own(fields: { readonly [key: string]: Data | undefined }, key: string): Data | undefined {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

/** Returns `memory` if the document uses that key. */
function spelling(value: Entry["value"], key: string): string {
  return key === "ram" && value.kind === "map" && value.entries.has("memory") ? "memory" : key;
}
