import { DOMParser, type Element, type Node, ParseError } from "@xmldom/xmldom";
import { checkXmlShape, maxDepth, XmlError } from "./xml-shape.ts";

/** An element as plain data. Comments and processing instructions are not kept; CDATA is text. */
export interface XmlElement {
  /** The name in the document, with its prefix if it has one. */
  readonly name: string;
  /** In the order of the file. */
  readonly attributes: readonly XmlAttribute[];
  /** Elements and text. Indentation between elements without other text is omitted. */
  readonly children: readonly (XmlElement | string)[];
  /** From 1; absent: not asked for. */
  readonly line?: number;
}

/** The line is present if it was asked for. */
export type XmlAttribute = readonly [name: string, value: string, line?: number];

export interface ReadXmlOptions {
  /** Whether elements and attributes have their lines. */
  readonly lines?: boolean;
}

/** Larger than any real file, including its pictures. */
const maxCharacters = 64 * 1024 * 1024;

const [elementNode, textNode, cdataNode] = [1, 3, 4];

/** Characters that XML 1.0 cannot hold in any notation: most control characters, half surrogate pairs, U+FFFE and U+FFFF. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this matches control characters
const unspeakable = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const elementName = /^[\p{L}_][\p{L}\p{M}\p{N}_.-]*(:[\p{L}_][\p{L}\p{M}\p{N}_.-]*)?$/u;

/**
 * Parses a document and returns its root element. Throws `SyntaxError` with the parser's message, and for content that only attackers use: document
 * types (and so entities), depth over 64, more than 20,000 elements or 64 Mi characters.
 */
export function readXml(text: string, options: ReadXmlOptions = {}): XmlElement {
  if (text.length > maxCharacters) throw new SyntaxError(`larger than ${maxCharacters} characters`);
  // "<!DOCTYPE" can occur in text only in comments and CDATA, where refusing it is the safer choice.
  if (/<!DOCTYPE/i.test(text)) throw new SyntaxError("a document type is not allowed");
  checkXmlShape(text);
  let said: string | undefined;
  const parser = new DOMParser({
    // Line ends of XML 1.0. The parser's default also converts U+0085 and U+2028, as in XML 1.1.
    normalizeLineEndings: (source) => source.replaceAll(/\r\n?/g, "\n"),
    onError: (level, message) => {
      // U+FFFD is an ordinary character. The parser's other warnings mean that the document is not XML.
      if (level === "warning" && message.includes("replacement character")) return;
      said ??= message;
      throw new SyntaxError(message);
    },
  });
  let root: Element | null;
  try {
    root = parser.parseFromString(text.replace(/^\ufeff/, ""), "text/xml").documentElement;
  } catch (error) {
    // The parser wraps what its error handler throws, and throws errors of its own.
    const message = said ?? (error instanceof Error ? error.message : String(error));
    throw new XmlError(message, error instanceof ParseError ? error.locator?.lineNumber : undefined, { cause: error });
  }
  if (root === null) throw new SyntaxError("no root element");
  return toData(root, 1, options.lines === true);
}

function toData(element: Element, depth: number, lines: boolean): XmlElement {
  if (depth > maxDepth) throw new SyntaxError(`nested deeper than ${maxDepth} elements`);
  const attributes: XmlAttribute[] = [];
  for (const { name, value, lineNumber } of element.attributes) {
    attributes.push(lines && lineNumber !== undefined ? [name, speakable(value), lineNumber] : [name, speakable(value)]);
  }
  const children: (XmlElement | string)[] = [];
  for (let node: Node | null = element.firstChild; node !== null; node = node.nextSibling) {
    if (node.nodeType === elementNode) children.push(toData(node as Element, depth + 1, lines));
    else if (node.nodeType === textNode || node.nodeType === cdataNode) {
      const text = speakable(node.nodeValue ?? "");
      const last = children.at(-1);
      if (typeof last === "string") children[children.length - 1] = last + text;
      else if (text !== "") children.push(text);
    }
  }
  const { nodeName: name, lineNumber } = element;
  return { name, attributes, children: withoutIndentation(children), ...(lines && lineNumber !== undefined && { line: lineNumber }) };
}

/** Space between elements that have nothing else beside them is layout. */
function withoutIndentation(children: readonly (XmlElement | string)[]): readonly (XmlElement | string)[] {
  const elements = children.filter((child) => typeof child !== "string");
  const layout = elements.length > 0 && children.every((child) => typeof child !== "string" || /^[ \t\r\n]*$/.test(child));
  return layout ? elements : children;
}

/** Writes the document of a root element, indented by two. Throws `SyntaxError` for names and characters that XML does not allow. */
export function writeXml(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${write(root, "")}\n`;
}

function write({ name, attributes, children }: XmlElement, indent: string): string {
  if (!elementName.test(name)) throw new SyntaxError(`not an element name: ${JSON.stringify(name)}`);
  const tag = `<${[name, ...attributes.map(writeAttribute)].join(" ")}`;
  if (children.length === 0) return `${tag}/>`;
  if (children.some((child) => typeof child === "string")) {
    return `${tag}>${children.map((child) => (typeof child === "string" ? escapeText(child) : write(child, ""))).join("")}</${name}>`;
  }
  const inner = `${indent}  `;
  const lines = children.map((child) => (typeof child === "string" ? "" : `\n${inner}${write(child, inner)}`));
  return `${tag}>${lines.join("")}\n${indent}</${name}>`;
}

function writeAttribute([name, value]: XmlAttribute): string {
  if (!elementName.test(name)) throw new SyntaxError(`not an attribute name: ${JSON.stringify(name)}`);
  return `${name}="${speakable(value).replaceAll(/[&<>"\t\n\r]/g, escapeCharacter)}"`;
}

/** A carriage return that is not escaped would be read as a line feed. */
function escapeText(text: string): string {
  return speakable(text).replaceAll(/[&<>\r]/g, escapeCharacter);
}

function escapeCharacter(character: string): string {
  const named: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return named[character] ?? `&#${character.charCodeAt(0)};`;
}

function speakable(text: string): string {
  const found = unspeakable.exec(text);
  if (found !== null) {
    throw new SyntaxError(`XML cannot carry the character U+${found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
  }
  return text;
}
