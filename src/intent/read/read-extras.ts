import { didYouMean } from "../diagnostics/nearest.ts";
import {
  checkKeys,
  type Field,
  field,
  fieldOf,
  isNull,
  readLine,
  readList,
  readMap,
  readNumber,
  readText,
  spot,
} from "../fields/fields.ts";
import { readVxlan } from "../fields/read-vxlan.ts";
import { order } from "../lab/canonical.ts";
import type { LabNetwork, LabText, TrafficFilter, Vxlan } from "../lab/lab.ts";
import { filterVocabulary, networkVocabulary, textVocabulary } from "../lab/vocabulary.ts";
import type { Entry, MapValue, Value } from "../parse/parse.ts";
import { type ReadContext, readName, readPosition } from "./node-fields.ts";
import { checkKey } from "./read-nodes.ts";

export interface ReadNetwork {
  readonly entry: Entry;
  readonly network: LabNetwork;
}

export function readNetworks(context: ReadContext, at: Field): Map<string, ReadNetwork> {
  const { problems } = context;
  const networks = new Map<string, ReadNetwork>();
  for (const entry of readMap(problems, at)?.entries.values() ?? []) {
    const here = field(entry, at.path);
    checkKey(context, entry, here.path, "network");
    const map = isNull(entry.value) ? undefined : readMap(problems, here);
    if (map === undefined) {
      if (isNull(entry.value)) networks.set(entry.key, { entry, network: { key: entry.key, name: entry.key, type: "bridge" } });
      continue;
    }
    checkKeys(problems, map, here.path, networkVocabulary);
    const [nameField, typeField, iconField, positionField] = ["name", "type", "icon", "position"].map((key) =>
      fieldOf(map, key, here.path),
    );
    const vxlan = readNetworkVxlan(context, map, here, typeField);
    const icon = iconField && readLine(problems, iconField);
    const position = positionField && readPosition(problems, positionField);
    const network: LabNetwork = {
      key: entry.key,
      name: (nameField && readLine(problems, nameField, { loose: true, max: 64 })) ?? entry.key,
      type: vxlan === undefined ? ((typeField && readName(problems, typeField)) ?? "bridge") : "vxlan",
      ...(icon === undefined ? {} : { icon }),
      ...(position === undefined ? {} : { position }),
      ...(vxlan === undefined ? {} : { vxlan }),
    };
    networks.set(entry.key, { entry, network });
  }
  return networks;
}

/** Reads `vxlan`, which goes with `type: vxlan` only. */
function readNetworkVxlan({ problems }: ReadContext, map: MapValue, here: Field, typeField: Field | undefined): Vxlan | undefined {
  const at = fieldOf(map, "vxlan", here.path);
  const type = typeField?.value.kind === "scalar" ? typeField.value.value : undefined;
  if (at === undefined) {
    if (type === "vxlan")
      problems.error("missing_key", here.place, here.path, "a network of type vxlan needs vxlan", "vxlan: {remote: 192.0.2.7, vni: 1001}");
    return undefined;
  }
  if (typeField !== undefined && !isNull(typeField.value) && type !== "vxlan")
    problems.error("invalid_value", spot(typeField), typeField.path, "a network with vxlan has the type vxlan", "leave type out");
  return readVxlan(problems, at);
}

export interface ReadFilter {
  readonly index: number;
  readonly value: Value;
  readonly filter: TrafficFilter;
}

/** Names of `nodes` that exist; `links`: every notation of a link → its key. */
export function readFilters(
  { problems }: ReadContext,
  at: Field,
  nodes: { has(key: string): boolean; keys(): Iterable<string> },
  links: ReadonlyMap<string, string>,
): readonly ReadFilter[] {
  const filters: ReadFilter[] = [];
  const names = new Map<string, number>();
  for (const [index, item] of (readList(problems, at) ?? []).entries()) {
    const map = readMap(problems, item);
    if (map === undefined) continue;
    checkKeys(problems, map, item.path, filterVocabulary);
    const [nameField, matchField, colorField, nodesField, linksField] = ["name", "match", "color", "nodes", "links"].map((key) =>
      fieldOf(map, key, item.path),
    );
    for (const [key, found] of [
      ["name", nameField],
      ["match", matchField],
    ] as const) {
      if (found === undefined) problems.error("missing_key", item.place, item.path, `the traffic filter has no ${key}`);
    }
    const name = nameField && readLine(problems, nameField, { loose: true, max: 64 });
    const match = matchField && readLine(problems, matchField, { max: 4096 });
    const color = colorField && readLine(problems, colorField, { max: 32 });
    const ofNodes = nodesField && readNodeNames(problems, nodesField, nodes);
    const ofLinks = linksField && readLinkNames(problems, linksField, links);
    if (name === undefined || match === undefined) continue;
    const first = names.get(name);
    if (first !== undefined && nameField !== undefined) {
      problems.error(
        "duplicate_name",
        spot(nameField),
        nameField.path,
        `the traffic filter ${JSON.stringify(name)} is already defined in line ${first}`,
      );
      continue;
    }
    names.set(name, problems.line(item.place.start));
    const filter: TrafficFilter = {
      name,
      match,
      ...(color === undefined ? {} : { color }),
      ...(ofNodes === undefined || ofNodes.length === 0 ? {} : { nodes: ofNodes }),
      ...(ofLinks === undefined || ofLinks.length === 0 ? {} : { links: ofLinks }),
    };
    filters.push({ index, value: item.value, filter });
  }
  return filters;
}

function readNodeNames(
  problems: ReadContext["problems"],
  at: Field,
  nodes: { has(key: string): boolean; keys(): Iterable<string> },
): readonly string[] {
  const names = new Set<string>();
  for (const item of readList(problems, at) ?? []) {
    const name = readText(problems, item, { loose: true });
    if (name === undefined) continue;
    if (nodes.has(name)) names.add(name);
    else
      problems.error(
        "unknown_node",
        spot(item),
        item.path,
        `no node ${JSON.stringify(name.slice(0, 80))}`,
        didYouMean(name, nodes.keys(), problems.effort),
      );
  }
  return [...names].sort(order);
}

/** Reads a link by its key text ("r1:eth1 -- r2:eth1"), by both endpoints as a list, or by one of its interfaces. */
function readLinkNames(problems: ReadContext["problems"], at: Field, links: ReadonlyMap<string, string>): readonly string[] {
  const keys = new Set<string>();
  for (const item of readList(problems, at) ?? []) {
    const parts = item.value.kind === "list" ? readList(problems, item) : [item];
    const texts = parts?.map((part) => readText(problems, part));
    if (texts === undefined || texts.includes(undefined)) continue;
    const text = texts.join(" -- ");
    const key = links.get(text);
    if (key !== undefined) keys.add(key);
    else
      problems.error(
        "unknown_link",
        spot(item),
        item.path,
        `no link ${JSON.stringify(text.slice(0, 280))}`,
        didYouMean(text, links.keys(), problems.effort),
      );
  }
  return [...keys].sort(order);
}

export interface ReadText {
  readonly index: number;
  readonly value: Value;
  readonly text: LabText;
}

export function readTexts({ problems }: ReadContext, at: Field): readonly ReadText[] {
  const texts: ReadText[] = [];
  for (const [index, item] of (readList(problems, at) ?? []).entries()) {
    const map = readMap(problems, item);
    if (map === undefined) continue;
    checkKeys(problems, map, item.path, textVocabulary);
    for (const key of ["text", "x", "y"]) {
      if (fieldOf(map, key, item.path) === undefined) problems.error("missing_key", item.place, item.path, `the text has no ${key}`);
    }
    const [textField, xField, yField] = ["text", "x", "y"].map((key) => fieldOf(map, key, item.path));
    const text = textField && readText(problems, textField, { loose: true });
    const [x, y] = [xField, yField].map((one) => one && readNumber(problems, one, { min: -1_000_000, max: 1_000_000 }));
    if (text !== undefined && x !== undefined && y !== undefined) texts.push({ index, value: item.value, text: { text, x, y } });
  }
  return texts;
}
