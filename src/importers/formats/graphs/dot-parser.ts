import { refuse } from "../../tree/refuse.ts";
import { maxDepth, type SourceEntry, type SourceMap, type SourceNode, scalar } from "../../tree/source-tree.ts";

type Attributes = ReadonlyMap<string, SourceEntry>;

/** Statements, and edges that a statement with subgraphs stands for. */
const maxStatements = 100_000;

interface Token {
  readonly kind: "id" | "mark" | "end";
  readonly text: string;
  readonly line: number;
  /** Written in quotes: no keyword. */
  readonly isQuoted?: boolean;
}

interface Place {
  readonly node: string;
  readonly port: string | undefined;
  readonly line: number;
}

/**
 * Parses a graph of Graphviz into a tree: `kind`, `name`, and `statements`, each with `node` or `edge` and `attributes`. Attributes that a graph sets for all
 * its nodes or edges are a statement of their own. Throws invalid_source.
 */
export function dotTree(text: string, file: string): SourceMap {
  return new DotReader(text, file).graph();
}

class DotReader {
  readonly #text: string;
  readonly #file: string;
  #at = 0;
  #line = 1;
  #token: Token;
  readonly #statements: SourceNode[] = [];

  constructor(text: string, file: string) {
    this.#text = text.startsWith("\ufeff") ? text.slice(1) : text;
    this.#file = file;
    this.#token = this.#read();
  }

  graph(): SourceMap {
    const line = this.#token.line;
    const entries = new Map<string, SourceEntry>();
    if (this.#isWord("strict")) this.#next();
    const kind = this.#token;
    if (!this.#isWord("graph") && !this.#isWord("digraph")) this.#refuse("a graph begins with graph or digraph");
    this.#next();
    entries.set("kind", { node: scalar(kind.text, kind.line), line: kind.line });
    if (this.#token.kind === "id") {
      entries.set("name", { node: scalar(this.#token.text, this.#token.line), line: this.#token.line });
      this.#next();
    }
    this.#expect("{");
    this.#list(1);
    this.#expect("}");
    entries.set("statements", { node: { kind: "list", items: this.#statements, line }, line });
    return { kind: "map", entries, line };
  }

  /** Reads statements up to the closing brace. Returns the nodes that they name. */
  #list(depth: number): readonly Place[] {
    if (depth > maxDepth) this.#refuse(`nested deeper than ${maxDepth} levels`);
    const places = new Map<string, Place>();
    while (!this.#isMark("}")) {
      if (this.#token.kind === "end") this.#refuse("a closing brace is missing");
      for (const place of this.#statement(depth)) if (!places.has(place.node)) places.set(place.node, place);
      while (this.#isMark(";") || this.#isMark(",")) this.#next();
    }
    return [...places.values()];
  }

  #statement(depth: number): readonly Place[] {
    const { line } = this.#token;
    if (this.#isWord("graph") || this.#isWord("node") || this.#isWord("edge")) {
      const word = this.#token.text.toLowerCase();
      this.#next();
      const attributes = this.#attributes();
      this.#add({ kind: "map", entries: new Map([[`all ${word}s`, { node: this.#map(attributes, line), line }]]), line });
      return [];
    }
    let places = this.#operand(depth);
    if (places === undefined) {
      // name = value
      const name = this.#token;
      this.#next();
      if (this.#isMark("=")) {
        this.#next();
        const value = this.#id("a value");
        this.#next();
        this.#add({ kind: "map", entries: new Map([[name.text, { node: scalar(value.text, value.line), line }]]), line });
        return [];
      }
      places = [this.#place(name)];
    }
    return this.#rest(places, depth, line);
  }

  /** Reads the edges behind the first operand, and the attributes. */
  #rest(first: readonly Place[], depth: number, line: number): readonly Place[] {
    const chain: (readonly Place[])[] = [first];
    while (this.#isMark("--") || this.#isMark("->")) {
      this.#next();
      const places = this.#operand(depth);
      if (places !== undefined) chain.push(places);
      else {
        const name = this.#id("a node");
        this.#next();
        chain.push([this.#place(name)]);
      }
    }
    const attributes = this.#attributes();
    if (chain.length === 1) {
      if (first.length === 1 && first[0] !== undefined && !this.#wasSubgraph) this.#addNode(first[0], attributes, line);
      this.#wasSubgraph = false;
      return first;
    }
    for (let at = 1; at < chain.length; at++) {
      for (const from of chain[at - 1] ?? []) for (const to of chain[at] ?? []) this.#addEdge(from, to, attributes, line);
    }
    this.#wasSubgraph = false;
    return chain.flat();
  }

  #wasSubgraph = false;

  /** Reads a subgraph; undefined: an id follows. */
  #operand(depth: number): readonly Place[] | undefined {
    if (this.#isWord("subgraph")) {
      this.#next();
      if (this.#token.kind === "id") this.#next();
      if (!this.#isMark("{")) return [];
    }
    if (!this.#isMark("{")) {
      if (this.#token.kind !== "id") this.#refuse(`${JSON.stringify(this.#token.text)} is not expected here`);
      return undefined;
    }
    this.#next();
    const places = this.#list(depth + 1);
    this.#expect("}");
    this.#wasSubgraph = true;
    return places;
  }

  /** Reads the port behind the name of a node. */
  #place(name: Token): Place {
    let port: string | undefined;
    if (this.#isMark(":")) {
      this.#next();
      port = this.#id("a port").text;
      this.#next();
      if (this.#isMark(":")) {
        this.#next();
        this.#id("a side");
        this.#next();
      }
    }
    return { node: name.text, port, line: name.line };
  }

  #attributes(): Attributes {
    const attributes = new Map<string, SourceEntry>();
    while (this.#isMark("[")) {
      this.#next();
      while (!this.#isMark("]")) {
        const name = this.#id("an attribute");
        this.#next();
        let value = scalar(true, name.line, "true");
        if (this.#isMark("=")) {
          this.#next();
          const token = this.#id("a value");
          value = scalar(token.text, token.line);
          this.#next();
        }
        attributes.set(name.text, { node: value, line: name.line });
        while (this.#isMark(",") || this.#isMark(";")) this.#next();
      }
      this.#next();
    }
    return attributes;
  }

  #map(entries: Attributes, line: number): SourceMap {
    return { kind: "map", entries, line };
  }

  #addNode({ node, line }: Place, attributes: Attributes, at: number): void {
    const entries = new Map<string, SourceEntry>([["node", { node: scalar(node, line), line }]]);
    if (attributes.size > 0) entries.set("attributes", { node: this.#map(attributes, at), line: at });
    this.#add({ kind: "map", entries, line });
  }

  #addEdge(from: Place, to: Place, attributes: Attributes, line: number): void {
    const end = ({ node, port, line: at }: Place): SourceEntry => {
      const entries = new Map<string, SourceEntry>([["node", { node: scalar(node, at), line: at }]]);
      if (port !== undefined) entries.set("port", { node: scalar(port, at), line: at });
      return { node: this.#map(entries, at), line: at };
    };
    const edge = this.#map(
      new Map([
        ["from", end(from)],
        ["to", end(to)],
      ]),
      line,
    );
    const entries = new Map<string, SourceEntry>([["edge", { node: edge, line }]]);
    if (attributes.size > 0) entries.set("attributes", { node: this.#map(attributes, line), line });
    this.#add({ kind: "map", entries, line });
  }

  #add(statement: SourceNode): void {
    if (this.#statements.push(statement) > maxStatements) this.#refuse(`more than ${maxStatements} nodes and edges`);
  }

  #isWord(word: string): boolean {
    return this.#token.kind === "id" && this.#token.isQuoted !== true && this.#token.text.toLowerCase() === word;
  }

  #isMark(mark: string): boolean {
    return this.#token.kind === "mark" && this.#token.text === mark;
  }

  #expect(mark: string): void {
    if (!this.#isMark(mark)) this.#refuse(`${mark} is missing`);
    this.#next();
  }

  #id(what: string): Token {
    if (this.#token.kind !== "id") this.#refuse(`${what} is missing`);
    return this.#token;
  }

  #next(): void {
    this.#token = this.#read();
  }

  #read(): Token {
    this.#blanks();
    const line = this.#line;
    const next = this.#text[this.#at];
    if (next === undefined) return { kind: "end", text: "the end of the file", line };
    if (next === '"') return { kind: "id", text: this.#strings(), line, isQuoted: true };
    if (next === "<") return { kind: "id", text: this.#html(), line, isQuoted: true };
    const two = this.#text.slice(this.#at, this.#at + 2);
    if (two === "--" || two === "->") {
      this.#at += 2;
      return { kind: "mark", text: two, line };
    }
    word.lastIndex = this.#at;
    const found = word.exec(this.#text)?.[0];
    this.#at += found?.length ?? 1;
    return found === undefined ? { kind: "mark", text: next, line } : { kind: "id", text: found, line };
  }

  /** Reads texts in quotes that + joins. */
  #strings(): string {
    const parts = [this.#string()];
    for (;;) {
      const [at, line] = [this.#at, this.#line];
      this.#blanks();
      if (this.#text[this.#at] === "+") {
        this.#at++;
        this.#blanks();
        if (this.#text[this.#at] === '"') {
          parts.push(this.#string());
          continue;
        }
      }
      [this.#at, this.#line] = [at, line];
      return parts.join("");
    }
  }

  #string(): string {
    const start = ++this.#at;
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at];
      if (character === "\\") this.#at++;
      if (this.#text[this.#at] === "\n") this.#line++;
      if (character === '"')
        return this.#text.slice(start, this.#at++).replace(/\\(["\\\n])/g, (_, one: string) => (one === "\n" ? "" : one));
    }
    return this.#refuse("a text in quotes does not end");
  }

  #html(): string {
    const start = ++this.#at;
    let depth = 1;
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at];
      if (character === "\n") this.#line++;
      if (character === "<") depth++;
      if (character === ">" && --depth === 0) {
        const inner = this.#text.slice(start, this.#at++);
        return inner
          .replace(/<[^<>]*>/g, " ")
          .replace(/\s+/g, " ")
          .trim();
      }
    }
    return this.#refuse("a text in angle brackets does not end");
  }

  #blanks(): void {
    for (;;) {
      const character = this.#text[this.#at];
      if (character === "\n") this.#line++;
      if (character !== undefined && /\s/.test(character)) this.#at++;
      else if (this.#text.startsWith("//", this.#at) || character === "#") this.#skipTo("\n");
      else if (this.#text.startsWith("/*", this.#at)) {
        const end = this.#text.indexOf("*/", this.#at + 2);
        if (end === -1) this.#refuse("a comment does not end");
        this.#line += count(this.#text, this.#at, end);
        this.#at = end + 2;
      } else return;
    }
  }

  #skipTo(end: string): void {
    const found = this.#text.indexOf(end, this.#at);
    this.#at = found === -1 ? this.#text.length : found;
  }

  #refuse(message: string): never {
    return refuse(`the graph cannot be read: ${message}`, { file: this.#file, line: this.#line });
  }
}

const word = /[A-Za-z_\u0080-\u{10ffff}][\w\u0080-\u{10ffff}]*|-?(?:\.\d+|\d+(?:\.\d*)?)/uy;

function count(text: string, start: number, end: number): number {
  let lines = 0;
  for (let at = text.indexOf("\n", start); at !== -1 && at < end; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}
