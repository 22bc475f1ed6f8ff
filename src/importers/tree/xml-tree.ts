import { readXml, type XmlElement } from "../../formats/xml/xml.ts";
import { XmlError } from "../../formats/xml/xml-shape.ts";
import { refuse } from "./refuse.ts";
import { type SourceEntry, type SourceMap, type SourceNode, scalar } from "./source-tree.ts";

/** Key of an element's text. */
export const textKey = "#text";

/**
 * Parses XML into a tree: an element is a map with `@name` for each attribute, `#text` for its text, and for each name of child elements the list of them.
 * The root is a map with one entry. Throws invalid_source, also for document types and entities.
 */
export function xmlTree(text: string, file: string): SourceMap {
  let root: XmlElement;
  try {
    root = readXml(text, { lines: true });
  } catch (error) {
    const message = error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : String(error);
    const line = error instanceof XmlError ? error.line : undefined;
    return refuse(`the XML cannot be read: ${message}`, { file, ...(line !== undefined && { line }) });
  }
  const line = root.line ?? 1;
  return { kind: "map", entries: new Map([[root.name, { node: element(root), line }]]), line };
}

function element({ attributes, children, line = 1 }: XmlElement): SourceMap {
  const entries = new Map<string, SourceEntry>();
  for (const [name, value, at = line] of attributes) entries.set(`@${name}`, { node: scalar(value, at), line: at });
  const lists = new Map<string, { readonly items: SourceNode[]; readonly line: number }>();
  const texts: string[] = [];
  for (const child of children) {
    if (typeof child === "string") texts.push(child);
    else {
      const list = lists.get(child.name) ?? { items: [], line: child.line ?? line };
      lists.set(child.name, list);
      list.items.push(element(child));
    }
  }
  for (const [name, { items, line: at }] of lists) entries.set(name, { node: { kind: "list", items, line: at }, line: at });
  const whole = texts.join("");
  if (whole.trim() !== "") entries.set(textKey, { node: scalar(whole, line), line });
  return { kind: "map", entries, line };
}
