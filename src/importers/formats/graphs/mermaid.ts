import type { Importer, Reading, ReadOptions } from "../../reading/importer.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { interfaceOf } from "./dot.ts";
import { GraphDraft, type GraphEdge } from "./graph-draft.ts";
import { flowchartOf, mermaidTree } from "./mermaid-parser.ts";

/** Flowcharts of Mermaid, alone or in a Markdown page: nodes and edges. */
export const mermaid: Importer = {
  format: "mermaid",
  title: "Mermaid flowchart",
  recognize: (files, path) => (flowchartOf(files.text(path) ?? "") === undefined ? 0 : 0.8),
  read,
};

function read(files: SourceFiles, path: string, options: ReadOptions): Reading {
  const root = Part.of(mermaidTree(files.text(path) ?? "", path), path);
  const graph = new GraphDraft(options);
  const title = root.get("title");
  graph.draft.setName(title?.text ?? path.slice(path.lastIndexOf("/") + 1).replace(/\.[a-z0-9]+$/i, ""), title);
  root.get("kind")?.mapped("a lab");
  const statements = root.get("statements")?.items ?? [];
  const classes = new Map<string, Part>();
  const labels = new Map<string, Part>();
  for (const statement of statements) {
    for (const node of statement.get("nodes")?.items ?? []) {
      const [id, label, kind] = [node.get("id")?.text ?? "", node.get("label"), node.get("class")];
      if (label !== undefined && !labels.has(id)) labels.set(id, label);
      if (kind !== undefined && !classes.has(id)) classes.set(id, kind);
    }
    for (const id of statement.get("class")?.items ?? []) {
      const name = statement.get("name");
      if (id.text !== undefined && name !== undefined && !classes.has(id.text)) classes.set(id.text, name);
      id.mapped("the type of the node");
    }
  }
  const drawn: { readonly edge: Part; readonly ends: Part }[] = [];
  for (const statement of statements) {
    for (const node of statement.get("nodes")?.items ?? []) {
      const id = node.get("id");
      if (id?.text === undefined) continue;
      const kind = classes.get(id.text);
      const shape = node.get("shape");
      graph.node({ id: id.text, label: labels.get(id.text)?.text, style: kind?.text?.toLowerCase(), typePart: kind, part: id });
      id.kept();
      node.get("label")?.mapped("a label of the node");
      shape?.dropped("the template has a picture");
    }
    for (const edge of statement.get("edges")?.items ?? []) {
      const ends = edge.get("ends");
      if (ends === undefined) edge.get("label")?.dropped("links have no names");
      else drawn.push({ edge, ends });
    }
  }
  // Only now it is known which ends are networks.
  graph.edges(drawn.map(({ edge, ends }) => readEdge(graph, edge, ends)));
  return { draft: graph.draft, parts: [root] };
}

function readEdge(graph: GraphDraft, edge: Part, ends: Part): GraphEdge {
  const [from = "", to = ""] = ends.items.map(({ text }) => text);
  const label = edge.get("label");
  const [first, second] = interfacesOf(label?.text);
  // A network has no interfaces: if the label names one interface, it belongs to the node.
  const [fromNetwork, toNetwork] = [graph.isNetwork(from), graph.isNetwork(to)];
  const only = first === undefined && fromNetwork !== toNetwork ? onlyInterface(label?.text) : undefined;
  if (first === undefined && only === undefined) label?.dropped("links have no names");
  else label?.mapped(only === undefined ? "the interfaces" : "the interface");
  edge.get("line")?.dropped("links have one look");
  return {
    from,
    to,
    fromInterface: first ?? (toNetwork ? only : undefined),
    toInterface: second ?? (fromNetwork ? only : undefined),
    part: ends,
  };
}

/** Reads "eth1", with anything behind a line break. Other words with a number, such as 10G, are not interfaces. */
function onlyInterface(label: string | undefined): string | undefined {
  const [line = ""] = (label ?? "").split(/<br\s*\/?>|\n/i);
  return /^[A-Za-z][A-Za-z-]*\d+(?:[./:]\d+){0,4}$/.test(line.trim()) ? interfaceOf(line.trim()) : undefined;
}

/** Reads "eth1 - eth2" and "eth1 <--> eth2", with anything behind a line break. */
export function interfacesOf(label: string | undefined): readonly [string, string] | readonly [undefined, undefined] {
  const [line = ""] = (label ?? "").split(/<br\s*\/?>|\n/i);
  const words = line.trim().split(/\s*(?:<-{1,2}>|-{1,2}>|↔|–|—|\s-{1,2}\s|\s:\s|\s\/\s)\s*/);
  const [a, b] = words.map(interfaceOf);
  const looksLike = (name: string | undefined) => name !== undefined && /\d/.test(name);
  return words.length === 2 && a !== undefined && b !== undefined && looksLike(a) && looksLike(b) ? [a, b] : [undefined, undefined];
}
