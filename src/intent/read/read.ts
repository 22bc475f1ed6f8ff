import type { Document } from "yaml";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { Problems, pointer } from "../diagnostics/problems.ts";
import { checkKeys, type Field, fieldOf, readMap, readText } from "../fields/fields.ts";
import { readLease } from "../fields/read-lease.ts";
import { readPlace } from "../fields/read-place.ts";
import { type ReadShape, readShapes } from "../fields/read-shapes.ts";
import { canonicalLab } from "../lab/canonical.ts";
import { endpointText, type Lab, type LabLink, type LabNode } from "../lab/lab.ts";
import { labVocabulary, type Section, topologyVocabulary } from "../lab/vocabulary.ts";
import { expandHelpers } from "../parse/expand.ts";
import { checkFiles } from "../parse/files.ts";
import { type MapValue, parseYaml } from "../parse/parse.ts";
import { plainYaml } from "../parse/plain-yaml.ts";
import { NameCount } from "../parse/ranges.ts";
import { variablesEntry } from "../parse/variables.ts";
import { withGeneratedNodes } from "./generate.ts";
import { NAME, type ReadContext, readName } from "./node-fields.ts";
import { readBoots } from "./read-boot.ts";
import { type ReadFilter, type ReadNetwork, type ReadText, readFilters, readNetworks, readTexts } from "./read-extras.ts";
import { linkNames, type ReadLink, readLinks } from "./read-links.ts";
import { readManagement, withManagement } from "./read-management.ts";
import { type Inheritance, type ReadNode, readInheritance, readNodes } from "./read-nodes.ts";
import { checkSwitching } from "./read-switching.ts";
import { readTests } from "./read-tests.ts";

export interface ReadResult {
  /** Undefined if any diagnostic is an error. */
  readonly lab: Lab | undefined;
  /** Every problem, in the order of the text. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Reads an intent: YAML text and the files that it names (relative path → text). Never throws because of the text: all problems are in `diagnostics`.
 * Work and memory are bounded for every text.
 */
export function readIntent(yaml: string, files: Readonly<Record<string, string>> = {}): ReadResult {
  const sound = readPlain(yaml, files);
  if (sound !== undefined) return { lab: sound, diagnostics: [] };
  const { lab, diagnostics } = readDocument(yaml, files);
  return { lab, diagnostics };
}

/** Returns the lab of a plainly written text without problems; undefined for any other. */
function readPlain(yaml: string, files: Readonly<Record<string, string>>): Lab | undefined {
  const root = plainYaml(yaml);
  const checked = checkFiles(files);
  // A key of plain YAML is not a range.
  if (root?.kind !== "map" || variablesEntry(root) !== undefined || checked.problems.length > 0) return undefined;
  const problems = new Problems(yaml);
  const { lab } = readLab({ problems, files: checked.files, names: new NameCount() }, root);
  return problems.list().length > 0 ? undefined : lab;
}

/** The data that the editor needs besides the lab: the document, and the place of each part of the lab in it. */
export interface Reading {
  readonly document: Document.Parsed;
  /** The lab without what addressing, routing and templates make: the part that an edit can change. */
  readonly authored: Lab;
  /** By node key, the nodes with what these make. Absent if the lab has none of them. */
  readonly generated?: ReadonlyMap<string, LabNode>;
  readonly root: MapValue;
  /** "" or "/topology". */
  readonly bodyPath: string;
  readonly inheritance: Inheritance;
  readonly nodes: ReadonlyMap<string, ReadNode>;
  /** Includes networks that are written as nodes of a bridge kind. */
  readonly networks: ReadonlyMap<string, ReadNetwork>;
  readonly bridges: ReadonlySet<string>;
  readonly links: readonly ReadLink[];
  readonly filters: readonly ReadFilter[];
  readonly texts: readonly ReadText[];
  readonly shapes: readonly ReadShape[];
}

export function readDocument(
  yaml: string,
  files: Readonly<Record<string, string>>,
  options: { readonly keepTokens?: boolean } = {},
): ReadResult & { readonly reading?: Reading } {
  const problems = new Problems(yaml);
  const checked = checkFiles(files);
  for (const { file, message } of checked.problems) problems.fileError("invalid_path", file, message);
  const parsed = parseYaml(yaml, problems, options);
  if (parsed === undefined) return { lab: undefined, diagnostics: problems.list() };
  const { root, document } = parsed;
  if (root.kind !== "map") {
    const what = root.kind === "list" ? "a list" : "a single value";
    problems.error("wrong_type", root, "", `the intent must be a map, not ${what}`, "it begins with name: …");
    return { lab: undefined, diagnostics: problems.list() };
  }
  const names = new NameCount();
  const expanded = expandHelpers(root, checked.files, problems, names);
  // A missing value would only cause further diagnostics.
  if (expanded !== root && problems.hasErrors) return { lab: undefined, diagnostics: problems.list() };
  const { lab, ...parts } = readLab({ problems, files: checked.files, names }, expanded);
  const diagnostics = problems.list();
  return problems.hasErrors ? { lab: undefined, diagnostics } : { lab, diagnostics, reading: { document, ...parts } };
}

function readLab(context: ReadContext, root: MapValue): { readonly lab: Lab } & Omit<Reading, "document"> {
  const { problems } = context;
  checkKeys(problems, root, "", labVocabulary);
  const nameField = fieldOf(root, "name", "");
  if (nameField === undefined) problems.error("missing_key", { start: 0, end: 1 }, "", "the lab has no name", "write name: … at the top");
  const name = nameField && readName(problems, nameField);
  const descriptionField = fieldOf(root, "description", "");
  const description = descriptionField && readText(problems, descriptionField);

  const topology = fieldOf(root, "topology", "");
  const body = topology && readMap(problems, topology);
  if (body !== undefined) checkKeys(problems, body, "/topology", topologyVocabulary);
  const section = (key: Section): Field | undefined => {
    const inside = body && fieldOf(body, key, "/topology");
    const outside = fieldOf(root, key, "");
    if (inside !== undefined && outside !== undefined) {
      problems.error(
        "duplicate_key",
        outside.place,
        pointer("", key),
        `${JSON.stringify(key)} is here and under topology: keep one of them`,
      );
    }
    return inside ?? outside;
  };

  const inheritance = readInheritance(context, { defaults: section("defaults"), kinds: section("kinds"), groups: section("groups") });
  const nodesField = section("nodes");
  const { nodes: readable, bridges } =
    nodesField === undefined
      ? { nodes: new Map<string, ReadNode>(), bridges: new Map<string, ReadNetwork>() }
      : readNodes(context, nodesField, inheritance);
  const management = readManagement(context, root);
  const nodes = withManagement(context, readable, management);
  const networksField = section("networks");
  const networks = new Map<string, ReadNetwork>(bridges);
  for (const [key, network] of networksField === undefined ? [] : readNetworks(context, networksField)) {
    if (nodes.has(key) || bridges.has(key)) {
      const path = pointer(networksField?.path ?? "", key);
      problems.error(
        "name_collision",
        network.entry.place,
        path,
        `${JSON.stringify(key)} is the key of a node already`,
        "give the network another key",
      );
    }
    networks.set(key, network);
  }

  // Invalid nodes and networks still count as ends, so that one mistake gives one message.
  const keysOf = (at: Field | undefined) => new Set(at?.value.kind === "map" ? at.value.entries.keys() : []);
  const nodeKeys = keysOf(nodesField);
  for (const key of bridges.keys()) nodeKeys.delete(key);
  const networkKeys = keysOf(networksField);
  for (const key of bridges.keys()) networkKeys.add(key);
  const linksField = section("links");
  const links =
    linksField === undefined
      ? []
      : readLinks(context, linksField, { nodes: nodeKeys, networks: networkKeys, members: groupMembers(nodes), names: context.names });
  checkEthernet(context, nodes, links);
  checkSwitches(context, nodes, links);
  checkPorts(context, nodes, management !== undefined);

  const filtersField = section("traffic_filters");
  const filters = filtersField === undefined ? [] : readFilters(context, filtersField, nodeKeys, linkNames(links));
  const textsField = section("texts");
  const texts = textsField === undefined ? [] : readTexts(context, textsField);
  const shapesField = section("shapes");
  const shapes = shapesField === undefined ? [] : readShapes(context, shapesField);

  const testsField = fieldOf(root, "tests", "");
  const selectable = [...nodes].map(([key, { node, kind, groups }]) => ({
    key,
    kinds: [node.template, ...(kind === undefined ? [] : [kind])],
    groups,
    labels: node.labels ?? {},
  }));
  const names = { nodes: nodeKeys, selectable, ends: new Set(links.flatMap(({ link }) => link.endpoints.map(endpointText))) };
  const tests = testsField === undefined ? [] : readTests(context, testsField, names);

  const leaseField = fieldOf(root, "lease", "");
  const lease = leaseField && readLease(problems, leaseField);

  const placeField = fieldOf(root, "place", "");
  const place = placeField && readPlace(problems, placeField);
  if (placeField !== undefined && place?.spread !== undefined && management !== undefined) {
    const message = "a lab that is spread over machines has no management network";
    problems.error("invalid_value", placeField.place, placeField.path, message, "remove management, or give the lab one machine");
  }

  const boots = readBoots(context, nodes, nodeKeys);

  const linksPath = linksField?.path ?? "/links";
  const generated = withGeneratedNodes(context, { root, nodes, networks, links, linksPath });
  const authored = canonicalLab({
    name: name ?? "",
    ...(description === undefined ? {} : { description }),
    ...(management === undefined ? {} : { management }),
    nodes: [...nodes.values()].map(({ node }) => node),
    networks: [...networks.values()].map(({ network }) => network),
    links: links.map(({ link }) => link),
    trafficFilters: filters.map(({ filter }) => filter),
    texts: texts.map(({ text }) => text),
    shapes: shapes.map(({ shape }) => shape),
    ...(lease === undefined ? {} : { lease }),
    ...(place === undefined ? {} : { place }),
    tests,
    boots,
  });
  const lab = generated === undefined ? authored : canonicalLab({ ...authored, nodes: [...generated.values()] });
  const bodyPath = body === undefined ? "" : "/topology";
  return {
    lab: withInherited(lab, nodes),
    authored: withInherited(authored, nodes),
    ...(generated !== undefined && { generated }),
    root,
    bodyPath,
    inheritance,
    nodes,
    networks,
    bridges: new Set(bridges.keys()),
    links,
    filters,
    texts,
    shapes,
  };
}

/** Returns a function that lists the nodes of a group, which link groups name. */
function groupMembers(nodes: ReadonlyMap<string, ReadNode>): (group: string) => readonly string[] {
  let members: Map<string, string[]> | undefined;
  return (group) => {
    if (members === undefined) {
      members = new Map();
      for (const [key, node] of nodes) {
        for (const name of new Set(node.groups)) {
          const own = members.get(name) ?? [];
          own.push(key);
          members.set(name, own);
        }
      }
    }
    return members.get(group) ?? [];
  };
}

function withInherited(lab: Lab, nodes: ReadonlyMap<string, ReadNode>): Lab {
  const entries = [...nodes].filter(([, { inheritedFields }]) => inheritedFields.length > 0);
  if (entries.length === 0) return lab;
  return { ...lab, inherited: Object.fromEntries(entries.map(([key, { inheritedFields }]) => [key, inheritedFields])) };
}

/**
 * Refuses a port of the machine that two nodes publish; paths of the machine for nodes with a kernel of their own, which the machine's cannot join, and UDP
 * ports for them without a management network, over which they are published.
 */
function checkPorts({ problems }: ReadContext, nodes: ReadonlyMap<string, ReadNode>, hasManagement: boolean): void {
  const owners = new Map<string, string>();
  for (const { entry, path, node } of nodes.values()) {
    const field = entry.value.kind === "map" ? entry.value.entries.get("ports") : undefined;
    if (node.binds !== undefined && node.kernel === "own") {
      const message = `${node.binds[0]}: a node with a kernel of its own sees no paths of the machine`;
      problems.error("invalid_value", entry.place, `${path}/binds`, message, "remove this bind, or kernel: own");
    }
    for (const text of node.ports ?? []) {
      const isUdp = text.endsWith("/udp");
      const at = field?.place ?? entry.place;
      if (isUdp && node.kernel === "own" && !hasManagement) {
        const message = `${text}: a node with a kernel of its own publishes UDP ports over its management interface`;
        problems.error(
          "invalid_value",
          at,
          `${path}/ports`,
          message,
          "write management: true in the lab, or remove this port, or kernel: own",
        );
      }
      const place = `${text.slice(0, text.lastIndexOf(":"))}${isUdp ? "/udp" : ""}`;
      const owner = owners.get(place);
      owners.set(place, node.key);
      if (owner === undefined) continue;
      problems.error("invalid_value", at, `${path}/ports`, `node ${owner} publishes the port ${place} too`, "choose another port");
    }
  }
}

/** Warns of interfaces of switches that no link uses. */
function checkSwitches({ problems }: ReadContext, nodes: ReadonlyMap<string, ReadNode>, links: readonly ReadLink[]): void {
  const switches = [...nodes.values()].filter(({ node }) => node.switching !== undefined);
  if (switches.length === 0) return;
  const linked = new Map<string, Set<string>>();
  for (const end of links.flatMap(({ link }: { readonly link: LabLink }) => link.endpoints)) {
    if ("node" in end) linked.set(end.node, (linked.get(end.node) ?? new Set()).add(end.interface));
  }
  for (const { entry, path, node } of switches) {
    const own = entry.value.kind === "map" ? entry.value.entries.get("switching") : undefined;
    const at = { value: entry.value, path, place: own?.place ?? entry.place };
    checkSwitching(problems, at, node.switching ?? {}, linked.get(node.key) ?? new Set());
  }
}

/** Checks that a node with a declared number of interfaces has those that its links use. */
function checkEthernet({ problems }: ReadContext, nodes: ReadonlyMap<string, ReadNode>, links: readonly ReadLink[]): void {
  const used = new Map<string, number>();
  for (const end of links.flatMap(({ link }: { readonly link: LabLink }) => link.endpoints)) {
    if ("node" in end) used.set(end.node, (used.get(end.node) ?? 0) + 1);
  }
  for (const { entry, path, node } of nodes.values()) {
    const needed = used.get(node.key) ?? 0;
    if (node.ethernet === undefined || node.ethernet >= needed) continue;
    const own = entry.value.kind === "map" ? entry.value.entries.get("ethernet") : undefined;
    const message = `${JSON.stringify(node.key)} has ${node.ethernet} interfaces, but links use ${needed}`;
    problems.error("out_of_range", own?.place ?? entry.place, own === undefined ? path : pointer(path, "ethernet"), message);
  }
}

/** A key `name` at the left margin, with its value on the same line. */
const nameLine = /^name:[ \t]+(?:"([^"\n]*)"|'([^'\n]*)'|([^"'#\s][^#\n]*?))[ \t]*(?:[ \t]#.*)?\r?$/gm;

/** Returns the lab's name in a text that may have errors, also in its YAML. `undefined` if the text has no name, an invalid one or several. */
export function labNameIn(yaml: string, files: Readonly<Record<string, string>> = {}): string | undefined {
  const [only, another] = [...yaml.matchAll(nameLine)];
  if (another !== undefined) return undefined;
  const root = parseYaml(yaml, new Problems(yaml))?.root;
  if (root !== undefined) {
    const problems = new Problems(yaml);
    const field =
      root.kind === "map"
        ? fieldOf(expandHelpers(nameAndVariables(root), checkFiles(files).files, problems, new NameCount()), "name", "")
        : undefined;
    return field && readName(problems, field);
  }
  const text = only?.[1] ?? only?.[2] ?? only?.[3] ?? "";
  return NAME.test(text) ? text : undefined;
}

/** Problems of other parts must not hide the name. */
function nameAndVariables(root: MapValue): MapValue {
  const entries = new Map([...root.entries].filter(([key]) => ["name", "vars", "vars-files"].includes(key)));
  return { ...root, entries };
}
