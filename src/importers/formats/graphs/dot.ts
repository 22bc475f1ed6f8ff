import type { Importer, Reading, ReadOptions } from "../../reading/importer.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { dotTree } from "./dot-parser.ts";
import { GraphDraft, type GraphEdge } from "./graph-draft.ts";

/** A graph has one name at most, which may be in quotes. */
const beginning =
  /^\s*(?:strict\s+)?(?:di)?graph(?:\s*"(?:[^"\\]|\\.){0,500}"|\s+[\w.\u0080-\uffff-]{1,500}|\s*<[^{}]{0,500}>)?\s*(?:(?:\/\/|#)[^\n]{0,500}\n\s*|\/\*[^*]{0,500}\*\/\s*)*\{/i;

/** Graphs of Graphviz: nodes and edges. Also reads the topologies that Cumulus's tools make of them, whose ports are interfaces. */
export const dot: Importer = {
  format: "dot",
  title: "Graphviz graph",
  recognize: (files, path) => (beginning.test(withoutComments(files.text(path)?.slice(0, 100_000) ?? "")) ? 0.9 : 0),
  read,
};

/** Removes comments before the graph; not those within texts, which come later. */
function withoutComments(text: string): string {
  let rest = text.trimStart();
  for (;;) {
    const end = rest.startsWith("//") || rest.startsWith("#") ? rest.indexOf("\n") : rest.startsWith("/*") ? rest.indexOf("*/") + 1 : -1;
    if (end <= 0) return rest;
    rest = rest.slice(end + 1).trimStart();
  }
}

/** Attributes that name the type of a node, the first that is there counts. */
const typeKeys = ["template", "network", "kind", "device", "function", "role", "type"];

/** Shapes that name a type. */
const shapeTypes: Readonly<Record<string, string>> = { cloud: "cloud" };

const compass = new Set(["n", "ne", "e", "se", "s", "sw", "w", "nw", "c", "_"]);

function read(files: SourceFiles, path: string, options: ReadOptions): Reading {
  const root = Part.of(dotTree(files.text(path) ?? "", path), path);
  const graph = new GraphDraft(options);
  graph.draft.setName(root.get("name")?.text ?? path.slice(path.lastIndexOf("/") + 1).replace(/\.(dot|gv)$/i, ""), root.get("name"));
  root.get("kind")?.mapped("a lab");
  const declared = new Map<string, Part>();
  const edges: GraphEdge[] = [];
  const statements = root.get("statements")?.items ?? [];
  const isDirected = root.get("kind")?.text === "digraph";
  for (const statement of statements) {
    const id = statement.get("node")?.text;
    if (id !== undefined) declared.set(id, statement);
  }
  const add = (id: string, part?: Part) => {
    const statement = declared.get(id);
    const attributes = statement?.get("attributes");
    const typed = typeKeys.map((key) => attributes?.get(key)).find((each) => (each?.text ?? "") !== "");
    const shape = attributes?.get("shape");
    const label = attributes?.get("label");
    const pos = attributes?.get("pos");
    const at = /^\s*(-?[\d.]+),(-?[\d.]+)!?\s*$/.exec(pos?.text ?? "");
    graph.node({
      id,
      label: label?.text,
      type: typed?.text?.toLowerCase() ?? (Object.hasOwn(shapeTypes, shape?.text ?? "") ? shapeTypes[shape?.text ?? ""] : undefined),
      typePart: typed,
      position: at === null ? undefined : { x: Number(at[1]), y: -Number(at[2]) + 0 },
      part: statement?.get("node") ?? part,
    });
    if (at !== null) pos?.mapped("the position");
    label?.mapped("a label of the node");
    for (const key of ["os", "image", "memory", "cpu", "config", "version"])
      attributes?.get(key)?.dropped("of other software: a graph gives nodes and links only");
  };
  for (const statement of statements) {
    const node = statement.get("node");
    if (node?.text !== undefined) add(node.text, node);
    const [from, to] = [statement.at("edge", "from"), statement.at("edge", "to")];
    if (from === undefined || to === undefined) continue;
    const attributes = statement.get("attributes");
    const [tail, head] = [attributes?.get("taillabel"), attributes?.get("headlabel")];
    for (const end of [from, to]) {
      const name = end.get("node");
      if (name?.text !== undefined) add(name.text, name);
      name?.kept();
      end.get("port")?.mapped(compass.has(end.get("port")?.text ?? "") ? "a side of the drawing" : "the interface");
    }
    for (const label of [tail, head]) if (interfaceOf(label?.text) !== undefined) label?.mapped("the interface");
    const edge = statement.get("edge");
    if (edge === undefined) continue;
    const label = isDirected ? labelledPort(attributes?.get("label")) : undefined;
    edges.push({
      from: from.get("node")?.text ?? "",
      to: to.get("node")?.text ?? "",
      fromInterface: portOf(from) ?? interfaceOf(tail?.text) ?? label,
      toInterface: portOf(to) ?? interfaceOf(head?.text),
      part: edge,
    });
  }
  graph.edges(isDirected ? linksOfDirections(edges) : edges);
  return { draft: graph.draft, parts: [root] };
}

/** In a digraph that draws both directions of a link, each edge names the interface at which it begins. */
function labelledPort(label: Part | undefined): string | undefined {
  const name = interfaceOf(label?.text);
  if (name === undefined || !/^[A-Za-z]+[-_]?\d/.test(name)) return undefined;
  label?.mapped("the interface");
  return name;
}

/** Makes one link of an edge and the edge back, unless both name the same side's interface. */
function linksOfDirections(edges: readonly GraphEdge[]): readonly GraphEdge[] {
  const open = new Map<string, number[]>();
  const links: GraphEdge[] = [];
  for (const edge of edges) {
    const { from, to, fromInterface, toInterface, part } = edge;
    const back = open.get(JSON.stringify([to, from]))?.shift();
    const other = back === undefined || from === to ? undefined : links[back];
    if (back === undefined || other === undefined || toInterface !== undefined || other.toInterface !== undefined) {
      const key = JSON.stringify([from, to]);
      open.set(key, [...(open.get(key) ?? []), links.length]);
      links.push(edge);
      continue;
    }
    part.mapped(`the other direction of the link in line ${other.part.line}`);
    links[back] = { ...other, toInterface: fromInterface };
  }
  return links;
}

function portOf(end: Part): string | undefined {
  const port = end.get("port")?.text;
  return port === undefined || compass.has(port) ? undefined : port;
}

/** Returns the interface that a label names: one word. */
export function interfaceOf(label: string | undefined): string | undefined {
  const word = label?.trim();
  const isAddress = /^\d{1,3}(?:\.\d{1,3}){3}/.test(word ?? "");
  return word !== undefined && !isAddress && /^[A-Za-z0-9][A-Za-z0-9._/-]{0,63}$/.test(word) ? word : undefined;
}
