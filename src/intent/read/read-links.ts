import { didYouMean } from "../diagnostics/nearest.ts";
import {
  checkKeys,
  type Field,
  field,
  fieldOf,
  invalid,
  isNull,
  readBoolean,
  readList,
  readMap,
  readNumber,
  readText,
  spot,
  wrongType,
} from "../fields/fields.ts";
import { canonicalLink, canonicalQuality } from "../lab/canonical.ts";
import { type Endpoint, endpointText, type LabLink, type Quality } from "../lab/lab.ts";
import { qualityFields, qualityLimits, qualityPresets } from "../lab/quality.ts";
import { endpointVocabulary, linkGroups, linkVocabulary, qualityVocabulary, sidesVocabulary } from "../lab/vocabulary.ts";
import type { Value } from "../parse/parse.ts";
import type { NameCount } from "../parse/ranges.ts";
import { groupOf, rangeNames, readGroup } from "./link-groups.ts";
import type { ReadContext } from "./node-fields.ts";

/** A link of the document, with its list item. */
export interface ReadLink {
  readonly index: number;
  readonly value: Value;
  /** Whether the text has the network first: its side a is the lab's side b. */
  readonly turned: boolean;
  /** Whether the list item stands for other links too: it has a range, or is a group of links. */
  readonly isOneOfSeveral: boolean;
  readonly link: LabLink;
}

export interface Ends {
  readonly nodes: { has(key: string): boolean; keys(): Iterable<string> };
  readonly networks: { has(key: string): boolean; keys(): Iterable<string> };
  /** Returns the nodes of a group. */
  members(group: string): readonly string[];
  /** Counts the names of ranges and groups. */
  readonly names: NameCount;
}

export const INTERFACE = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,63}$/;
const INTERFACE_RULE = "1–64 letters, digits, dots, underscores, slashes or hyphens, beginning with a letter or digit";

/** Maximum number of links that a lab with ranges or groups of links has. */
const maxLinks = 50_000;

/** An end as written; the interface of the short form "r1-r2" is assigned later. */
export type RawEnd = { readonly node: string; readonly interface: string | undefined } | { readonly network: string };

interface RawLink {
  readonly index: number;
  readonly at: Field;
  readonly ends: readonly [RawEnd, RawEnd];
  readonly isOneOfSeveral: boolean;
  readonly quality?: { readonly a?: Quality; readonly b?: Quality };
  readonly suspended?: { readonly a: boolean; readonly b: boolean };
  readonly mtu?: number;
}

export function readLinks(context: ReadContext, at: Field, ends: Ends): readonly ReadLink[] {
  const { problems } = context;
  const raw: RawLink[] = [];
  for (const [index, item] of (readList(problems, at) ?? []).entries()) {
    for (const link of readLink(context, item, index, ends)) raw.push(link);
    if (raw.length > maxLinks && raw.length > index + 1) {
      problems.error("too_large", item.place, item.path, `ranges and groups make more than ${maxLinks} links`);
      break;
    }
  }

  const used = new Map<string, RawLink>();
  for (const link of raw) {
    for (const end of link.ends) {
      if ("network" in end || end.interface === undefined) continue;
      const name = `${end.node}:${end.interface}`;
      const first = used.get(name);
      if (first === link) {
        problems.error("self_link", spot(link.at), link.at.path, `the interface ${name} is linked with itself`);
      } else if (first !== undefined) {
        const line = problems.line(first.at.place.start);
        problems.error(
          "interface_in_use",
          spot(link.at),
          link.at.path,
          `the interface ${name} is used by the link in line ${line} already`,
        );
      } else used.set(name, link);
    }
  }

  const free = new FreeInterfaces(used);
  return raw.map(({ index, at: { value }, ends: [a, b], isOneOfSeveral, ...effects }) => {
    const endpoints = [free.complete(a), free.complete(b)] as const;
    return { index, value, turned: "network" in a, isOneOfSeveral, link: canonicalLink({ key: "", endpoints, ...effects }) };
  });
}

/** Assigns eth1, eth2 … in the order of the links, skipping used interfaces. */
class FreeInterfaces {
  readonly #used: { has(name: string): boolean };
  readonly #next = new Map<string, number>();

  constructor(used: { has(name: string): boolean }) {
    this.#used = used;
  }

  complete(end: RawEnd): Endpoint {
    if ("network" in end) return end;
    if (end.interface !== undefined) return { node: end.node, interface: end.interface };
    let number = this.#next.get(end.node) ?? 1;
    while (this.#used.has(`${end.node}:eth${number}`)) number++;
    this.#next.set(end.node, number + 1);
    return { node: end.node, interface: `eth${number}` };
  }
}

/** Returns the links of an item: several if it has a range or is a group. */
function readLink({ problems }: ReadContext, at: Field, index: number, ends: Ends): readonly RawLink[] {
  const { value } = at;
  const links = (pairs: readonly (readonly [RawEnd, RawEnd])[], isGroup: boolean, effects: object = {}): readonly RawLink[] => {
    const isOneOfSeveral = isGroup || pairs.length > 1;
    return pairs.flatMap((pair) => checked(problems, { index, at, ends: pair, isOneOfSeveral, ...effects }) ?? []);
  };
  if (value.kind === "scalar") {
    const text = readText(problems, at);
    return links(text === undefined ? [] : shortLinks(problems, at, text, ends), false);
  }
  if (value.kind === "list") return links(readEnds(problems, at, ends), false);
  checkKeys(problems, value, at.path, linkVocabulary);
  const endpoints = fieldOf(value, "endpoints", at.path);
  const group = groupOf(at);
  if (endpoints === undefined && group === undefined)
    problems.error("missing_key", at.place, at.path, "the link has no endpoints", 'write endpoints: ["r1:eth1", "r2:eth1"]');
  const forms = ["endpoints", ...linkGroups].filter((key) => fieldOf(value, key, at.path) !== undefined);
  if (forms.length > 1)
    problems.error("invalid_value", at.place, at.path, `${forms.join(" and ")} cannot be in one item`, "write two items");
  const pairs = endpoints !== undefined ? readEnds(problems, endpoints, ends) : group !== undefined ? readGroup(problems, group, ends) : [];
  const quality = fieldOf(value, "quality", at.path);
  const suspended = fieldOf(value, "suspended", at.path);
  const mtuField = fieldOf(value, "mtu", at.path);
  const effects = {
    quality: quality && readSides(problems, quality),
    suspended: suspended && readSuspended(problems, suspended),
    mtu: mtuField && readNumber(problems, mtuField, { min: 68, max: 65_535, integer: true, unit: "bytes" }),
  };
  const present = Object.fromEntries(Object.entries(effects).filter(([, effect]) => effect !== undefined));
  return links(pairs, group !== undefined, present);
}

/** A range in the short form: "h{1..4}-sw1". With two of them it would not be clear which nodes are linked. */
function shortLinks(problems: ReadContext["problems"], at: Field, text: string, ends: Ends): readonly (readonly [RawEnd, RawEnd])[] {
  if (text.indexOf("{") !== text.lastIndexOf("{")) {
    const hint = 'write ["a{1..2}:eth1", "b{1..2}:eth1"] for pairs, or {clos: {spines: …, leaves: …}} for all combinations';
    invalid(problems, at, "a short link has one range", hint);
    return [];
  }
  return (rangeNames(problems, at, text, ends.names) ?? []).flatMap((name) => {
    const pair = shorthand(problems, at, name, ends);
    return pair === undefined ? [] : [pair];
  });
}

function checked(problems: ReadContext["problems"], link: RawLink): RawLink | undefined {
  if (!link.ends.every((end) => "network" in end)) return link;
  problems.error("invalid_endpoint", spot(link.at), link.at.path, "a link joins two nodes or a node and a network, not two networks");
  return undefined;
}

/** Reads netlab's "r1-r2". Names may contain hyphens, so every position is tried. */
function shorthand(problems: ReadContext["problems"], at: Field, text: string, ends: Ends): readonly [RawEnd, RawEnd] | undefined {
  const cuts: (readonly [RawEnd, RawEnd])[] = [];
  for (let cut = text.indexOf("-"); cut !== -1; cut = text.indexOf("-", cut + 1)) {
    const [a, b] = [whole(text.slice(0, cut), ends), whole(text.slice(cut + 1), ends)];
    if (a !== undefined && b !== undefined) cuts.push([a, b]);
  }
  if (cuts.length === 1) return cuts[0];
  // Blanks around the dash are not part of a name.
  const tight = text.replaceAll(/\s+-\s+/g, "-");
  const hint = tight === text ? 'write ["r1:eth1", "r2:eth1"]' : `write ${JSON.stringify(tight.slice(0, 140))}, or ["r1:eth1", "r2:eth1"]`;
  const shown = JSON.stringify(text.slice(0, 140));
  const message = cuts.length === 0 ? `${shown} does not name two ends of a link` : `${shown} can be cut in ${cuts.length} ways`;
  problems.error("invalid_endpoint", spot(at), at.path, message, hint);
  return undefined;
}

function whole(name: string, ends: Ends): RawEnd | undefined {
  if (ends.nodes.has(name)) return { node: name, interface: undefined };
  return ends.networks.has(name) ? { network: name } : undefined;
}

/** Returns the pairs of ends. Ranges of the same length are paired in their order; a single end is in every pair. */
function readEnds(problems: ReadContext["problems"], at: Field, ends: Ends): readonly (readonly [RawEnd, RawEnd])[] {
  const items = readList(problems, at);
  if (items === undefined) return [];
  if (items.length !== 2) {
    invalid(problems, at, `a link has two endpoints, not ${items.length}`, items.length > 2 ? "link each node to a network" : undefined);
    return [];
  }
  const [a, b] = items.map((item) => readSide(problems, item, ends));
  if (a === undefined || b === undefined) return [];
  if (a.length !== b.length && a.length !== 1 && b.length !== 1) {
    const hint = "give both the same number, or write {clos: {spines: …, leaves: …}} for all combinations";
    invalid(problems, at, `${a.length} ends cannot be paired with ${b.length}`, hint);
    return [];
  }
  const length = Math.max(a.length, b.length);
  return Array.from({ length }, (_, index) => [a[index] ?? (a[0] as RawEnd), b[index] ?? (b[0] as RawEnd)]);
}

/** Returns the ends of one side: several if its text has a range. */
function readSide(problems: ReadContext["problems"], at: Field, ends: Ends): readonly RawEnd[] | undefined {
  if (at.value.kind === "map") {
    const end = readLongEnd(problems, at, ends);
    return end === undefined ? undefined : [end];
  }
  const text = readText(problems, at, { loose: true });
  const names = text === undefined ? undefined : rangeNames(problems, at, text, ends.names);
  const sides = names?.map((name) => readEnd(problems, at, name, ends));
  return sides?.every((end) => end !== undefined) ? sides : undefined;
}

function readEnd(problems: ReadContext["problems"], at: Field, text: string, ends: Ends): RawEnd | undefined {
  const colon = text.indexOf(":");
  if (colon !== -1) return nodeEnd(problems, at, text.slice(0, colon), text.slice(colon + 1), ends);
  if (ends.networks.has(text)) return { network: text };
  if (ends.nodes.has(text)) {
    problems.error(
      "invalid_endpoint",
      spot(at),
      at.path,
      `${JSON.stringify(text)} is a node: its interface is missing`,
      `write "${text}:eth1"`,
    );
    return undefined;
  }
  const hint = didYouMean(text, ends.networks.keys(), problems.effort) ?? "an endpoint is node:interface or the key of a network";
  problems.error("unknown_network", spot(at), at.path, `no network ${JSON.stringify(text.slice(0, 80))}`, hint);
  return undefined;
}

function readLongEnd(problems: ReadContext["problems"], at: Field, ends: Ends): RawEnd | undefined {
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, endpointVocabulary);
  const [node, face, network] = ["node", "interface", "network"].map((key) => fieldOf(map, key, at.path));
  if (network !== undefined && node === undefined) {
    const name = readText(problems, network, { loose: true });
    if (name === undefined || ends.networks.has(name)) return name === undefined ? undefined : { network: name };
    problems.error(
      "unknown_network",
      spot(network),
      network.path,
      `no network ${JSON.stringify(name.slice(0, 80))}`,
      didYouMean(name, ends.networks.keys(), problems.effort),
    );
    return undefined;
  }
  if (node === undefined || network !== undefined) {
    problems.error("missing_key", at.place, at.path, "an endpoint has node and interface, or network");
    return undefined;
  }
  const name = readText(problems, node, { loose: true });
  if (name === undefined) return undefined;
  if (face === undefined && !ends.networks.has(name)) {
    problems.error("missing_key", at.place, at.path, "the endpoint has no interface");
    return undefined;
  }
  const interfaceName = face === undefined ? "" : readText(problems, face, { loose: true });
  return interfaceName === undefined ? undefined : nodeEnd(problems, at, name, interfaceName, ends);
}

/** Names of containerlab for the machine itself and its networks, at the end of a link. */
const outside: ReadonlySet<string> = new Set(["host", "mgmt-net", "macvlan"]);

function nodeEnd(problems: ReadContext["problems"], at: Field, node: string, face: string, ends: Ends): RawEnd | undefined {
  // A bridge of containerlab has interfaces; a network has none.
  if (!ends.nodes.has(node) && ends.networks.has(node)) return { network: node };
  if (!ends.nodes.has(node)) {
    const out = outside.has(node) ? "what is outside of the lab is a network here: networks: {out: {type: nat}}" : undefined;
    problems.error(
      "unknown_node",
      spot(at),
      at.path,
      `no node ${JSON.stringify(node.slice(0, 80))}`,
      out ?? didYouMean(node, ends.nodes.keys(), problems.effort),
    );
    return undefined;
  }
  if (INTERFACE.test(face)) return { node, interface: face };
  problems.error("invalid_name", spot(at), at.path, `${JSON.stringify(face.slice(0, 80))} is not an interface name: ${INTERFACE_RULE}`);
  return undefined;
}

/** Reads one quality for both sides, or {a, b}. */
function readSides(problems: ReadContext["problems"], at: Field): { readonly a?: Quality; readonly b?: Quality } | undefined {
  const { value } = at;
  if (value.kind === "map" && (value.entries.has("a") || value.entries.has("b"))) {
    checkKeys(problems, value, at.path, sidesVocabulary);
    const [a, b] = ["a", "b"].map((side) => {
      const one = fieldOf(value, side, at.path);
      return one && readQuality(problems, one);
    });
    return { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
  }
  const both = readQuality(problems, at);
  return both === undefined ? undefined : { a: both, b: both };
}

/** Reads a map of impairments, or the name of a preset. */
function readQuality(problems: ReadContext["problems"], at: Field): Quality | undefined {
  const { value } = at;
  if (value.kind === "list") return wrongType(problems, at, "a map or the name of a preset");
  if (value.kind === "scalar") {
    const text = readText(problems, at, { loose: true });
    if (text === undefined) return undefined;
    if (Object.hasOwn(qualityPresets, text)) return qualityPresets[text];
    const names = Object.keys(qualityPresets);
    const hint = didYouMean(text, names, problems.effort) ?? `presets: ${names.join(", ")}`;
    problems.error("unknown_preset", spot(at), at.path, `no quality preset ${JSON.stringify(text.slice(0, 80))}`, hint);
    return undefined;
  }
  checkKeys(problems, value, at.path, qualityVocabulary);
  const quality: { -readonly [K in keyof Quality]: Quality[K] } = {};
  const units = { delay: "ms", jitter: "ms", loss: "%", bandwidth: "kbit/s" };
  for (const name of qualityFields) {
    const one = fieldOf(value, name, at.path);
    const number = one && readNumber(problems, one, { min: 0, max: qualityLimits[name], unit: units[name] });
    if (number !== undefined) quality[name] = number;
  }
  return canonicalQuality(quality) ?? {};
}

function readSuspended(problems: ReadContext["problems"], at: Field): { readonly a: boolean; readonly b: boolean } | undefined {
  const { value } = at;
  if (value.kind !== "map") {
    const both = readBoolean(problems, at);
    return both === undefined ? undefined : { a: both, b: both };
  }
  checkKeys(problems, value, at.path, sidesVocabulary);
  const [a, b] = ["a", "b"].map((side) => {
    const entry = value.entries.get(side);
    return entry === undefined || isNull(entry.value) ? false : readBoolean(problems, field(entry, at.path));
  });
  return a === undefined || b === undefined ? undefined : { a, b };
}

/** Returns the notations of a link that filters may use. */
export function linkNames(links: readonly ReadLink[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { link } of links) {
    const [a, b] = [endpointText(link.endpoints[0]), endpointText(link.endpoints[1])];
    names.set(`${a} -- ${b}`, link.key);
    names.set(`${b} -- ${a}`, link.key);
    for (const end of link.endpoints) if ("node" in end) names.set(endpointText(end), link.key);
  }
  return names;
}
