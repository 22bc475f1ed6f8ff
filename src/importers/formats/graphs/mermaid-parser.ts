import { refuse } from "../../tree/refuse.ts";
import { type SourceEntry, type SourceMap, type SourceNode, scalar } from "../../tree/source-tree.ts";

/** A flowchart in a text: its lines, and the number of the first one. */
interface Flowchart {
  readonly text: string;
  readonly line: number;
  readonly title?: { readonly text: string; readonly line: number };
}

const header = /^(?:flowchart(?:-elk)?|graph)(?:\s+(?:TB|TD|BT|RL|LR))?\s*;?\s*$/i;
const maxStatements = 100_000;

/** Finds the flowchart of a file: the whole file, or the first one in a Markdown page. */
export function flowchartOf(text: string): Flowchart | undefined {
  const lines = text.split(/\r?\n/);
  let at = 0;
  let title: Flowchart["title"];
  if (!header.test(firstLine(lines))) {
    const fence = lines.findIndex(
      (line, index) => /^\s*(?:```|~~~|:::)\s*\{?mermaid\}?\s*$/.test(line) && header.test(firstLine(lines.slice(index + 1))),
    );
    if (fence === -1) return undefined;
    at = fence + 1;
  }
  for (let index = at; index < lines.length && !isHeader(lines[index] ?? ""); index++) {
    const found = /^title:\s*["']?(.*?)["']?\s*$/.exec(lines[index]?.trim() ?? "")?.[1];
    if (found !== undefined && found !== "") title = { text: found, line: index + 1 };
    at = index + 1;
  }
  const end = lines.findIndex((line, index) => index > at && /^\s*(?:```|~~~|:::)\s*$/.test(line));
  return { text: lines.slice(at, end === -1 ? lines.length : end).join("\n"), line: at + 1, ...(title !== undefined && { title }) };
}

function isHeader(line: string): boolean {
  return header.test(line.split(";", 1)[0]?.trim() ?? "");
}

/** Returns the first line behind blank lines, comments, directives and a front matter. */
function firstLine(lines: readonly string[]): string {
  let isMatter = false;
  for (const [index, line] of lines.slice(0, 1000).entries()) {
    const text = line.trim();
    if (text === "---" && (isMatter || lines.slice(0, index).every((each) => each.trim() === ""))) isMatter = !isMatter;
    else if (!isMatter && text !== "" && !text.startsWith("%%")) return text.split(";", 1)[0]?.trim() ?? "";
  }
  return "";
}

/**
 * Parses a flowchart into a tree: `title`, `kind` and `statements`, each with `nodes` and `edges`, with `class` and `name`, or with the `text` of a statement of
 * another kind. Throws invalid_source.
 */
export function mermaidTree(text: string, file: string): SourceMap {
  const chart = flowchartOf(text);
  if (chart === undefined) return refuse("the file has no flowchart of Mermaid", { file });
  const statements: SourceNode[] = [];
  const entries = new Map<string, SourceEntry>();
  const put = (key: string, node: SourceNode) => entries.set(key, { node, line: node.line });
  if (chart.title !== undefined) put("title", scalar(chart.title.text, chart.title.line));
  const [first = "", ...rest] = chart.text.split(/\r?\n/);
  put("kind", scalar(first.trim(), chart.line));
  const [, ...behind] = first.split(";");
  const edgeIds = new Set([...chart.text.matchAll(/\s([\w-]{1,64})@(?=[-=<])/g)].map(([, id]) => id));
  for (const [index, line] of wholeLines([behind.join(";"), ...rest])) {
    for (const statement of statementsOf(line)) {
      const ofEdge = /^([\w-]+)@\{/.exec(statement)?.[1];
      const at = chart.line + index;
      statements.push(ofEdge !== undefined && edgeIds.has(ofEdge) ? rawStatement(statement, at) : statementTree(statement, file, at));
      if (statements.length > maxStatements) refuse(`more than ${maxStatements} statements`, { file, line: at });
    }
  }
  put("statements", { kind: "list", items: statements, line: chart.line });
  return { kind: "map", entries, line: chart.line };
}

/** Longest label in quotes, in lines. */
const maxLabelLines = 50;

/** Joins the lines of a label in quotes, which may have several. */
function* wholeLines(lines: readonly string[]): Generator<readonly [index: number, line: string]> {
  for (let index = 0; index < lines.length; index++) {
    const start = index;
    let line = lines[index] ?? "";
    const isOpen = () => (line.split('"').length - 1) % 2 === 1;
    if (isOpen() && !line.trim().startsWith("%%")) {
      const last = Math.min(lines.length, index + maxLabelLines);
      const end = lines.findIndex((each, at) => at > start && at < last && each.includes('"'));
      if (end !== -1) {
        line = lines.slice(start, end + 1).join("\n");
        index = end;
      }
    }
    yield [start, line];
  }
}

/** Splits a line at semicolons outside of quotes and brackets. */
function statementsOf(line: string): readonly string[] {
  const text = line.trim();
  if (text === "" || text.startsWith("%%")) return [];
  if (!text.includes(";")) return [text];
  const parts: string[] = [];
  let start = 0;
  let isQuoted = false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && "[({".includes(character ?? "")) depth++;
    else if (!isQuoted && "])}".includes(character ?? "")) depth--;
    // #quot; is an entity.
    else if (!isQuoted && depth <= 0 && character === ";" && !/#\w{1,8}$/.test(text.slice(Math.max(0, at - 9), at))) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim()).filter((part) => part !== "");
}

const other = /^(?:subgraph|end|direction|style|linkStyle|classDef|click|accTitle|accDescr|title)\b/;
/** Longest statement that is read. */
const maxLength = 20_000;

function rawStatement(text: string, line: number): SourceNode {
  return { kind: "map", entries: new Map([["text", { node: scalar(text.slice(0, maxLength), line), line }]]), line };
}

function statementTree(text: string, file: string, line: number): SourceNode {
  const map = (pairs: readonly (readonly [string, SourceNode])[]): SourceMap => ({
    kind: "map",
    entries: new Map(pairs.map(([key, node]) => [key, { node, line }])),
    line,
  });
  const list = (items: readonly SourceNode[]): SourceNode => ({ kind: "list", items, line });
  const raw = rawStatement(text, line);
  if (other.test(text) || text.length > maxLength) return raw;
  const classed = /^class\s+([\w.,\s-]+?)\s+([\w-]+)$/.exec(text);
  if (classed !== null) {
    const ids = (classed[1] ?? "").split(",").map((id) => scalar(id.trim(), line));
    return map([
      ["class", list(ids)],
      ["name", scalar(classed[2] ?? "", line)],
    ]);
  }
  const chain = new ChainReader(text, file, line).read();
  if (chain === undefined) return raw;
  const nodes = chain.nodes.map(({ id, label, shape, kind }) =>
    map([
      ["id", scalar(id, line)],
      ...(label === undefined ? [] : [["label", scalar(label, line)] as const]),
      ...(shape === undefined ? [] : [["shape", scalar(shape, line)] as const]),
      ...(kind === undefined ? [] : [["class", scalar(kind, line)] as const]),
    ]),
  );
  const edges = chain.edges.map(({ from, to, label, mark }) =>
    map([
      ["ends", list([scalar(from, line), scalar(to, line)])],
      ["line", scalar(mark, line)],
      ...(label === undefined ? [] : [["label", scalar(label, line)] as const]),
    ]),
  );
  return map([["nodes", list(nodes)], ...(edges.length === 0 ? [] : [["edges", list(edges)] as const])]);
}

interface ChainNode {
  readonly id: string;
  readonly label?: string | undefined;
  readonly shape?: string | undefined;
  readonly kind?: string | undefined;
}

interface ChainEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string | undefined;
  readonly mark: string;
}

const idPattern = /[\p{L}\p{N}_](?:[\p{L}\p{N}_./]|:(?!:)|-(?![-.>]))*/uy;
const arrow = /\s*(?:[<ox](?=[-=]))?(?:-{2,}[>ox-]?|={2,}[>ox=]?|-\.+-[>ox]?|~{3,})\s*/y;
/** The beginning of an edge with its text in it: A -- text --> B. */
const opening = /\s*(?:[<ox](?=[-=]))?(?:--|==|-\.)\s+(?=[^-=\s])/y;
const closing = /\s+(?:-{2,}[>ox-]?|={2,}[>ox=]?|\.+-[>ox]?)\s*/g;
const brackets: readonly (readonly [open: string, close: string, shape: string])[] = [
  ["(((", ")))", "double circle"],
  ["((", "))", "circle"],
  ["([", "])", "stadium"],
  ["[(", ")]", "cylinder"],
  ["[[", "]]", "subroutine"],
  ["[/", "/]", "parallelogram"],
  ["[/", "\\]", "trapezoid"],
  ["[\\", "\\]", "parallelogram"],
  ["[\\", "/]", "trapezoid"],
  ["{{", "}}", "hexagon"],
  ["(", ")", "round"],
  ["[", "]", "box"],
  ["{", "}", "diamond"],
  [">", "]", "flag"],
];

/** Longest chain that a statement can be: A & B --> C & D has four edges. */
const maxEdges = 10_000;

/** Reads "A[label] & B --> C -->|text| D". */
class ChainReader {
  readonly #text: string;
  readonly #file: string;
  readonly #line: number;
  #at = 0;

  constructor(text: string, file: string, line: number) {
    [this.#text, this.#file, this.#line] = [text, file, line];
  }

  /** Returns undefined for a text that is not a chain. Throws invalid_source for one of too many edges. */
  read(): { readonly nodes: readonly ChainNode[]; readonly edges: readonly ChainEdge[] } | undefined {
    const nodes: ChainNode[] = [];
    const edges: ChainEdge[] = [];
    let before = this.#group();
    if (before === undefined) return undefined;
    for (const node of before) nodes.push(node);
    while (this.#at < this.#text.length) {
      const edge = this.#edge();
      const next = edge && this.#group();
      if (edge === undefined || next === undefined) return undefined;
      for (const node of next) nodes.push(node);
      if (edges.length + before.length * next.length > maxEdges)
        refuse(`a statement with more than ${maxEdges} links`, { file: this.#file, line: this.#line });
      for (const from of before) for (const to of next) edges.push({ from: from.id, to: to.id, ...edge });
      before = next;
    }
    return { nodes, edges: edges.filter(({ mark }) => !mark.startsWith("~")) };
  }

  #group(): readonly ChainNode[] | undefined {
    const group: ChainNode[] = [];
    do {
      const node = this.#node();
      if (node === undefined) return undefined;
      group.push(node);
    } while (this.#take(/\s*&\s*/y) !== undefined);
    this.#take(/\s+$/y);
    return group;
  }

  #node(): ChainNode | undefined {
    // An edge may have an id of its own: e1@-->.
    const id = this.#take(idPattern);
    if (id === undefined) return undefined;
    let label: string | undefined;
    let shape: string | undefined;
    const modern = this.#take(/@\{([^{}]*)\}/y);
    if (modern !== undefined) {
      label = /\blabel:\s*"([^"]*)"/.exec(modern)?.[1];
      shape = /\bshape:\s*([\w-]+)/.exec(modern)?.[1];
    } else {
      const closed = brackets
        .filter(([open]) => this.#text.startsWith(open, this.#at))
        .map(([open, close, name]) => {
          const start = this.#at + open.length;
          const quote = this.#text[start] === '"' ? this.#text.indexOf('"', start + 1) : -1;
          return { start, end: this.#text.indexOf(close, quote === -1 ? start : quote), close, name };
        });
      const found = closed.find(({ end }) => end !== -1);
      if (found !== undefined) {
        label = unquoted(this.#text.slice(found.start, found.end));
        shape = found.name;
        this.#at = found.end + found.close.length;
      } else if (closed.length > 0) return undefined;
    }
    const kind = this.#take(/:::[\w-]+/y)?.slice(3);
    return { id, label, shape, kind };
  }

  #edge(): { readonly label: string | undefined; readonly mark: string } | undefined {
    const start = this.#at;
    const named = this.#take(/\s+[\w-]+@(?=[-=<])/y);
    if (named === undefined) this.#at = start;
    const mark = this.#take(arrow);
    if (mark !== undefined && !/^\s*[<ox]?(?:--|==)\s+$/.test(mark)) {
      const label = this.#take(/\s*\|(?:"[^"]*"|[^|]*)\|\s*/y);
      return { label: label === undefined ? undefined : unquoted(label.trim().slice(1, -1)), mark: mark.trim() };
    }
    this.#at = start;
    if (this.#take(opening) === undefined) return undefined;
    closing.lastIndex = this.#at;
    const end = closing.exec(this.#text);
    if (end === null) return undefined;
    const label = unquoted(this.#text.slice(this.#at, end.index));
    this.#at = end.index + end[0].length;
    return { label, mark: end[0].trim() };
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

const entities: Readonly<Record<string, string>> = { quot: '"', amp: "&", lt: "<", gt: ">", nbsp: " " };

function unquoted(text: string): string {
  const inner = text
    .trim()
    .replace(/^"(.*)"$/s, "$1")
    .replace(/^`(.*)`$/s, "$1");
  return inner.replace(/#(\w{1,8});/g, (whole, name: string) => {
    if (/^\d+$/.test(name)) return Number(name) > 0 && Number(name) <= 0x10ffff ? String.fromCodePoint(Number(name)) : whole;
    return Object.hasOwn(entities, name) ? (entities[name] ?? whole) : whole;
  });
}
