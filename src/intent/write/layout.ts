import { type Document, isMap, isPair, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from "yaml";

/** Thrown if the text has a form that cannot be changed in place, such as a section that is an alias. */
export class CannotRewrite extends Error {}

interface Token {
  readonly type: string;
  readonly offset: number;
  readonly source?: string;
  readonly indent?: number;
}

interface TokenItem {
  readonly start: readonly Token[];
  readonly key?: Token | null;
  readonly sep?: readonly Token[];
  readonly value?: Token;
}

export type Collection = YAMLMap | YAMLSeq;

/** The positions in a text: the entries of its collections with their comments, its lines and indents. */
export class Layout {
  /** Spaces that indent the maps below the top keys. */
  readonly step: number;
  readonly #text: string;

  /** The document must have been parsed from the text with source tokens. */
  constructor(text: string, document: Document.Parsed) {
    this.#text = text;
    this.step = this.#findStep(document.contents);
  }

  #item(collection: Collection, index: number): TokenItem {
    const token = (collection as { srcToken?: { items: TokenItem[] } }).srcToken;
    const item = isMap(collection) ? (collection.items[index] as { srcToken?: TokenItem }).srcToken : token?.items[index];
    if (item === undefined) throw new CannotRewrite("no source tokens");
    return item;
  }

  /** Returns the start of an entry: its hyphen, anchor, tag or key. */
  entryStart(collection: Collection, index: number): number {
    const { start, key, value } = this.#item(collection, index);
    const prop = start.find(({ type }) => ["seq-item-ind", "explicit-key-ind", "anchor", "tag"].includes(type));
    const at = prop?.offset ?? key?.offset ?? value?.offset;
    if (at === undefined) throw new CannotRewrite("an entry without a beginning");
    return at;
  }

  /** Returns the end of an entry's text. Comments and blank lines behind it do not belong to it. */
  entryEnd(collection: Collection, index: number): number {
    const { start, key, sep } = this.#item(collection, index);
    const item = collection.items[index];
    const node = (isPair(item) ? item.value : item) as Node | null;
    const end = node === null ? undefined : this.#nodeEnd(node);
    if (end !== undefined) return end;
    const before = [...(sep ?? []), ...(sep === undefined ? start : [])].findLast(
      ({ type }) => !["space", "comment", "newline"].includes(type),
    );
    if (before !== undefined) return before.offset + (before.source?.length ?? 0);
    return (key?.offset ?? 0) + (key?.source?.length ?? 0);
  }

  #nodeEnd(node: Node): number | undefined {
    if ((isMap(node) || isSeq(node)) && !node.flow && node.items.length > 0)
      return this.entryEnd(node as Collection, node.items.length - 1);
    const [start, end] = node.range as [number, number, number];
    if (isScalar(node) && (node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED")) {
      const text = this.#text.slice(start, end);
      // Blank lines at the end of a block scalar that keeps them belong to it.
      return start + (/^[|>][-0-9]*\+/.test(text) ? text.replace(/\r?\n$/, "").length : text.trimEnd().length);
    }
    return start === end ? undefined : end;
  }

  /** Returns the start of the line below an entry, and below comments that are indented deeper than it. */
  afterEntry(collection: Collection, index: number): number {
    const column = this.indent(collection);
    let at = this.lineEnd(this.entryEnd(collection, index));
    for (let look = at; look < this.#text.length; ) {
      const line = this.line(look);
      const next = this.lineEnd(look);
      if (line.trim().startsWith("#") && line.length - line.trimStart().length > column) at = next;
      else if (line.trim() !== "") break;
      look = next;
    }
    return at;
  }

  colonEnd(pair: Pair<unknown, unknown>): number {
    const colon = (pair as { srcToken?: TokenItem }).srcToken?.sep?.find(({ type }) => type === "map-value-ind");
    if (colon === undefined) throw new CannotRewrite("a key without a colon");
    return colon.offset + 1;
  }

  indent(collection: Collection): number {
    const first = this.entryStart(collection, 0);
    return first - this.lineStart(first);
  }

  #findStep(root: unknown): number {
    const below = isMap(root)
      ? root.items.map(({ value }) => value).find((value) => isMap(value) && !value.flow && value.items.length > 0)
      : undefined;
    return below === undefined ? 2 : this.indent(below as YAMLMap);
  }

  /** Whether a comment or another entry follows on the same line: a text of several lines cannot begin there. */
  isFollowed(end: number): boolean {
    return this.#text.slice(end, this.lineEnd(end)).trim() !== "";
  }

  isBlankAbove(start: number): boolean {
    const lineStart = this.lineStart(start);
    return lineStart > 0 && this.line(this.lineStart(lineStart - 1)).trim() === "";
  }

  lineStart(offset: number): number {
    return this.#text.lastIndexOf("\n", offset - 1) + 1;
  }

  lineEnd(offset: number): number {
    const end = this.#text.indexOf("\n", offset);
    return end === -1 ? this.#text.length : end + 1;
  }

  line(start: number): string {
    return this.#text.slice(start, this.lineEnd(start)).replace(/\r?\n$/, "");
  }
}
