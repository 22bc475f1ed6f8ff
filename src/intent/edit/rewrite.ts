import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { sameData } from "../lab/canonical.ts";
import { CannotRewrite, type Collection, Layout } from "../write/layout.ts";
import {
  blockText,
  type Data,
  isList,
  isRecord,
  MAX_FLOW_WIDTH,
  MERGE_KEY,
  type Quote,
  type Style,
  writeAfterKey,
  writeFlow,
  writeItem,
  writeKey,
  writePair,
  writeScalar,
} from "../write/write.ts";

/** The target of a map: keys that are not listed stay as they are, byte for byte. */
export class Changes {
  readonly entries: ReadonlyMap<string, Target | typeof remove>;
  /** Keys in front of a new key: it goes behind the nearest one that exists, otherwise at the end. */
  readonly order: readonly string[];

  constructor(entries: ReadonlyMap<string, Target | typeof remove>, order: readonly string[] = []) {
    this.entries = entries;
    this.order = order;
  }
}

/** The target of a list: items of the old list by index (in rising order), unchanged or changed, and new items. */
export class Items {
  readonly items: readonly { readonly from?: number; readonly to?: Target }[];

  constructor(items: readonly { readonly from?: number; readonly to?: Target }[]) {
    this.items = items;
  }
}

export const remove = Symbol("remove");

export type Target = Data | Changes | Items;

/**
 * Returns the text with the targets written into it. All other bytes stay, including comments, order, quotes and blank lines. The document must have
 * been parsed from the text with source tokens.
 */
export function rewrite(text: string, document: Document.Parsed, target: Changes): string {
  const rewriter = new Rewriter(text, document);
  if (!isMap(document.contents)) throw new CannotRewrite("the document is not a map");
  rewriter.changeMap(document.contents, target, true);
  return rewriter.result();
}

/** Returns the text with every alias replaced by its value, so that each place can be changed separately. */
export function expandAliases(text: string, document: Document.Parsed): string {
  const rewriter = new Rewriter(text, document);
  rewriter.expandAliases();
  return rewriter.result();
}

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

class Rewriter {
  readonly #text: string;
  readonly #document: Document.Parsed;
  readonly #splices: Splice[] = [];
  readonly #eol: string;
  #targets: ReadonlyMap<Alias, Node> | undefined;
  readonly #layout: Layout;

  constructor(text: string, document: Document.Parsed) {
    this.#text = text;
    this.#document = document;
    this.#layout = new Layout(text, document);
    this.#eol = /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
  }

  result(): string {
    const parts: string[] = [];
    let at = 0;
    const sorted = this.#splices
      .map((splice, index) => ({ ...splice, index }))
      .sort((a, b) => a.start - b.start || a.end - b.end || a.index - b.index);
    for (const { start, end, text } of sorted) {
      if (start < at) throw new CannotRewrite("changes overlap");
      parts.push(this.#text.slice(at, start), text);
      at = end;
    }
    parts.push(this.#text.slice(at));
    return parts.join("");
  }

  expandAliases(): void {
    visit(this.#document, {
      Alias: (_, alias) => {
        const [start, end] = alias.range as [number, number, number];
        this.#replace(start, end, writeFlow(this.#data(alias)));
      },
    });
  }

  changeMap(map: YAMLMap, { entries, order }: Changes, isBody: boolean): void {
    const pairs = new Map(map.items.map((pair, index) => [this.#key(pair), index]));
    const removed: number[] = [];
    const added: [string, Data][] = [];
    const changed: [number, Target][] = [];
    for (const [key, target] of entries) {
      const index = pairs.get(key);
      if (index === undefined) {
        if (target !== remove) added.push([key, materialise(target)]);
      } else if (target === remove) removed.push(index);
      else changed.push([index, target]);
    }
    if (map.flow && (removed.length > 0 || added.length > 0)) {
      const entryTexts = map.items.flatMap((pair, index) => {
        const target = entries.get(this.#key(pair));
        if (target === remove) return [];
        const from = this.#layout.entryStart(map, index);
        if (target === undefined) return [this.#text.slice(from, this.#layout.entryEnd(map, index))];
        return [`${this.#text.slice(from, this.#layout.colonEnd(pair))} ${writeFlow(this.#merged(pair.value as Node, target))}`];
      });
      this.#flow(map, [...entryTexts, ...added.map(([key, data]) => `${writeKey(key)}: ${writeFlow(data)}`)]);
      return;
    }
    for (const [index, target] of changed) this.#changeValue(map, index, target, isBody);
    for (const index of removed) this.#removeEntry(map, index, new Set(removed));
    for (const [key, data] of added) this.#addPair(map, key, data, order, isBody);
  }

  changeList(list: YAMLSeq, { items }: Items): void {
    const kept = new Set(items.map((item) => item.from).filter((from) => from !== undefined));
    const dropped = new Set([...list.items.keys()].filter((index) => !kept.has(index)));
    if (list.flow && (dropped.size > 0 || items.some((item) => item.from === undefined))) {
      const quote = this.#quoteOf(list.items.at(-1));
      const texts = items.map(({ from, to }) => {
        if (from === undefined) return writeFlow(materialise(to as Target), quote);
        if (to !== undefined) return writeFlow(this.#merged(list.items[from] as Node, to), quote);
        return this.#text.slice(this.#layout.entryStart(list, from), this.#layout.entryEnd(list, from));
      });
      this.#flow(list, texts);
      return;
    }
    let last = -1;
    for (const { from, to } of items) {
      if (from === undefined) this.#addItem(list, last, materialise(to as Target));
      else {
        last = from;
        if (to !== undefined) this.#changeItem(list, from, to);
      }
    }
    for (const index of dropped) this.#removeEntry(list, index, dropped);
  }

  // ---- values

  #changeValue(map: YAMLMap, index: number, target: Target, isBody: boolean): void {
    const pair = map.items[index] as Pair<unknown, unknown>;
    const node = pair.value as Node | null;
    if (this.#unfolded(map, index, target) || this.#inside(node, target, isBody)) return;
    const data = this.#merged(node, target);
    const start = this.#layout.colonEnd(pair);
    const end = this.#layout.entryEnd(map, index);
    if (this.#scalar(node, data)) return;
    const indent = map.flow ? 0 : this.#layout.indent(map) + this.#layout.step;
    this.#replace(
      start,
      end,
      map.flow || this.#layout.isFollowed(end) ? ` ${writeFlow(data)}` : writeAfterKey(data, indent, { step: this.#layout.step }),
    );
  }

  #changeItem(list: YAMLSeq, index: number, target: Target): void {
    const node = list.items[index] as Node;
    if (this.#inside(node, target, false)) return;
    const data = this.#merged(node, target);
    if (this.#scalar(node, data)) return;
    const end = this.#layout.entryEnd(list, index);
    const quote = this.#quoteOf(node);
    if (list.flow || this.#layout.isFollowed(end)) {
      const range = node.range as [number, number, number];
      this.#replace(range[0], end, writeFlow(data, quote));
    } else {
      const from = this.#layout.entryStart(list, index);
      this.#replace(from, end, writeItem(data, this.#layout.indent(list), { quote, step: this.#layout.step }).trimStart());
    }
  }

  /** Whether a map of one line became a map of lines: a text of several lines, such as a configuration, cannot be read in one line. */
  #unfolded(map: YAMLMap, index: number, target: Target): boolean {
    const pair = map.items[index] as Pair<unknown, unknown>;
    const node = pair.value as Node | null;
    if (map.flow || !isMap(node) || node.flow !== true || !(target instanceof Changes)) return false;
    const start = this.#layout.colonEnd(pair);
    const end = this.#layout.entryEnd(map, index);
    // Line breaks and comments in the map, and anything around it, are the author's.
    if (/[\n#]/.test(this.#text.slice(start, end)) || this.#text.slice(start, node.range![0]).trim() !== "") return false;
    if (this.#layout.isFollowed(end)) return false;
    const before = new Map(node.items.map((entry, at) => [this.#key(entry), at]));
    const texts = [...target.entries].flatMap(([key, value]) => {
      if (value === remove) return [];
      const at = before.get(key);
      return [[key, at === undefined ? materialise(value) : this.#merged(node.items[at]!.value as Node, value)] as const];
    });
    if (!texts.some(([, data]) => typeof data === "string" && blockText(data, 2) !== undefined)) return false;
    const changed = new Map<string, Data>(texts);
    const indent = this.#layout.indent(map) + this.#layout.step;
    const write = (key: string, data: Data) => writePair(key, data, indent, { step: this.#layout.step });
    const kept = node.items.flatMap((entry, at) => {
      const key = this.#key(entry);
      if (target.entries.get(key) === remove) return [];
      if (changed.has(key)) return [write(key, changed.get(key)!)];
      return [" ".repeat(indent) + this.#text.slice(this.#layout.entryStart(node, at), this.#layout.entryEnd(node, at))];
    });
    const added = texts.filter(([key]) => !before.has(key)).map(([key, data]) => write(key, data));
    this.#replace(start, end, `\n${[...kept, ...added].join("\n")}`);
    return true;
  }

  /** Whether the value is a collection of the wanted kind, which is changed inside and stays. */
  #inside(node: Node | null, target: Target, isBody: boolean): boolean {
    if (isMap(node) && (target instanceof Changes || (isRecord(target as Data) && Object.keys(target as object).length > 0))) {
      const changes = target instanceof Changes ? target : this.#differences(node, target as { readonly [key: string]: Data | undefined });
      // A section may be left without entries and keep its comments; any other empty map becomes {}.
      if (!isBody && !node.flow && this.#isEmptied(node, changes)) return false;
      this.changeMap(node, changes, isBody && target instanceof Changes && target.order.length > 0);
      return true;
    }
    if (isSeq(node) && (target instanceof Items || (isList(target as Data) && (target as readonly Data[]).length > 0))) {
      this.changeList(node, target instanceof Items ? target : this.#moves(node, target as readonly Data[]));
      return true;
    }
    return false;
  }

  /** Whether a scalar of one line replaced another one, in its quotes. */
  #scalar(node: Node | null, data: Data): boolean {
    if (!isScalar(node) || isList(data) || isRecord(data)) return false;
    const [start, end] = node.range as [number, number, number];
    if (start === end || node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED") return false;
    if (typeof data === "string" && blockText(data, 2) !== undefined) return false;
    this.#replace(start, end, writeScalar(data, this.#quoteOf(node)));
    return true;
  }

  #differences(map: YAMLMap, after: { readonly [key: string]: Data | undefined }): Changes {
    const entries = new Map<string, Target | typeof remove>();
    const before = new Map(map.items.map((pair) => [this.#key(pair), pair.value as Node | null]));
    for (const key of before.keys()) if (!Object.hasOwn(after, key) || after[key] === undefined) entries.set(key, remove);
    for (const [key, data] of Object.entries(after)) {
      if (data === undefined) continue;
      const node = before.get(key);
      if (node === undefined || !sameData(this.#data(node), data)) entries.set(key, data);
    }
    return new Changes(entries);
  }

  /** Keeps equal items at the beginning and at the end, and changes the items in between. */
  #moves(list: YAMLSeq, after: readonly Data[]): Items {
    const before = list.items.map((item) => this.#data(item as Node));
    let head = 0;
    while (head < before.length && head < after.length && sameData(before[head], after[head])) head++;
    let tail = 0;
    while (tail < before.length - head && tail < after.length - head && sameData(before.at(-1 - tail), after.at(-1 - tail))) tail++;
    const items = after.map((data, index) => {
      if (index < head) return { from: index };
      if (index >= after.length - tail) return { from: before.length - after.length + index };
      return index < before.length - tail ? { from: index, to: data } : { to: data };
    });
    return new Items(items);
  }

  #isEmptied(map: YAMLMap, { entries }: Changes): boolean {
    const left = map.items.filter((pair) => entries.get(this.#key(pair)) !== remove).length;
    return left === 0 && ![...entries.values()].some((target) => target !== remove);
  }

  /** Returns the value after a target, as data. */
  #merged(written: Node | null, target: Target): Data {
    const node = isAlias(written) ? this.#target(written) : written;
    const before = this.#data(node);
    if (target instanceof Items) {
      const old = isList(before) ? before : [];
      return target.items.map(({ from, to }) => {
        if (to === undefined) return old[from as number] as Data;
        return from === undefined ? materialise(to) : this.#merged((node as YAMLSeq).items[from] as Node, to);
      });
    }
    if (!(target instanceof Changes)) return target;
    const result: Record<string, Data | undefined> = Object.fromEntries(isRecord(before) ? Object.entries(before) : []);
    for (const [key, change] of target.entries) {
      if (change === remove) delete result[key];
      else {
        const pair = isMap(node) ? node.items.find((some) => this.#key(some) === key) : undefined;
        const value = pair === undefined ? materialise(change) : this.#merged(pair.value as Node, change);
        Object.defineProperty(result, key, { value, enumerable: true, configurable: true, writable: true });
      }
    }
    return result;
  }

  /** Returns the value of an alias. All aliases are resolved at once, because the library searches the whole document for each. */
  #target(alias: Alias): Node | null {
    if (this.#targets === undefined) {
      const targets = new Map<Alias, Node>();
      const anchors = new Map<string, Node>();
      visit(this.#document, {
        Node: (_, node) => {
          if (isAlias(node)) {
            const target = anchors.get(node.source);
            if (target !== undefined) targets.set(node, target);
          } else if (node.anchor !== undefined) anchors.set(node.anchor, node);
        },
      });
      this.#targets = targets;
    }
    return this.#targets.get(alias) ?? null;
  }

  /** Returns a node as data, with aliases resolved. */
  #data(node: Node | null): Data {
    if (isAlias(node)) return this.#data(this.#target(node));
    if (isMap(node)) return Object.fromEntries(node.items.map((pair) => [this.#key(pair), this.#data(pair.value as Node | null)]));
    if (isSeq(node)) return node.items.map((item) => this.#data(isPair(item) ? null : (item as Node)));
    return isScalar(node) ? (node.value as Data) : null;
  }

  // ---- entries of collections

  #addPair(map: YAMLMap, key: string, data: Data, order: readonly string[], isBody: boolean): void {
    const index = this.#placeFor(map, key, order);
    const neighbour = map.items.at(-1)?.value;
    const isSection = isBody && (isRecord(data) || isList(data));
    const like: Style = isMap(neighbour) && !isBody && isRecord(data) ? (neighbour.flow && isNarrow(data) ? "flow" : "block") : "auto";
    const text = writePair(key, data, this.#layout.indent(map), { style: isSection ? "block" : like, step: this.#layout.step });
    const apart = isSection && map.items.some((_, some) => some > 0 && this.#layout.isBlankAbove(this.#layout.entryStart(map, some)));
    this.#insert(this.#layout.afterEntry(map, index), apart ? `\n${text}` : text);
  }

  /** Returns the entry that a new key goes behind. */
  #placeFor(map: YAMLMap, key: string, order: readonly string[]): number {
    const before = order.slice(0, Math.max(0, order.indexOf(key)));
    const found = before.length === 0 ? -1 : map.items.findLastIndex((pair) => before.includes(this.#key(pair)));
    return found === -1 ? map.items.length - 1 : found;
  }

  #addItem(list: YAMLSeq, after: number, data: Data): void {
    const sample = list.items.at(after === -1 ? 0 : after);
    const style: Style = isMap(sample) && isRecord(data) ? (sample.flow && isNarrow(data) ? "flow" : "block") : "auto";
    const text = writeItem(data, this.#layout.indent(list), { quote: this.#quoteOf(sample), style, step: this.#layout.step });
    this.#insert(after === -1 ? this.#layout.lineStart(this.#layout.entryStart(list, 0)) : this.#layout.afterEntry(list, after), text);
  }

  #removeEntry(collection: Collection, index: number, removed: ReadonlySet<number>): void {
    const start = this.#layout.entryStart(collection, index);
    const lineStart = this.#layout.lineStart(start);
    if (this.#text.slice(lineStart, start).trim() !== "") {
      // The entry is behind a hyphen: the next entry that stays takes its place.
      const next = collection.items.findIndex((_, some) => some > index && !removed.has(some));
      if (next !== index + 1) throw new CannotRewrite("the first entries of a compact map are removed");
      this.#replace(start, this.#layout.entryStart(collection, next), "");
      return;
    }
    const stop = this.#layout.afterEntry(collection, index);
    this.#replace(this.#withOwnComment(lineStart, stop, start - lineStart), stop, "");
  }

  /** Includes comment lines right above, unless they seem to be a heading of the entries below as well. */
  #withOwnComment(lineStart: number, stop: number, column: number): number {
    const below = this.#layout.line(stop);
    const alone = below.trim() === "" || below.trim().startsWith("#") || below.length - below.trimStart().length !== column;
    if (!alone) return lineStart;
    let from = lineStart;
    while (from > 0) {
      const above = this.#layout.lineStart(from - 1);
      const line = this.#layout.line(above);
      if (!line.trim().startsWith("#") || line.length - line.trimStart().length !== column) break;
      from = above;
    }
    return from;
  }

  /** Replaces a flow collection by one with these entries, and keeps its spacing. */
  #flow(collection: Collection, texts: readonly string[]): void {
    const [start, end] = collection.range as [number, number, number];
    const count = collection.items.length;
    const clean = (text: string, otherwise: string) => (text.includes("#") ? otherwise : text);
    const first = count === 0 ? start + 1 : this.#layout.entryStart(collection, 0);
    const last = count === 0 ? end - 1 : this.#layout.entryEnd(collection, count - 1);
    const open = clean(this.#text.slice(start + 1, first), "");
    const close = count === 0 ? "" : clean(this.#text.slice(last, end - 1), "");
    const between =
      count > 1
        ? clean(this.#text.slice(this.#layout.entryEnd(collection, 0), this.#layout.entryStart(collection, 1)), ", ")
        : open.includes("\n")
          ? `,${open}`
          : ", ";
    const inner = texts.length === 0 ? "" : `${open}${texts.join(between)}${close}`;
    this.#splices.push({ start, end, text: this.#text[start] + inner + this.#text[end - 1] });
  }

  #quoteOf(node: unknown): Quote {
    const scalar = isSeq(node) ? node.items.at(-1) : isMap(node) ? undefined : node;
    if (isMap(node)) return this.#quoteOf(node.get("endpoints", true));
    if (!isScalar(scalar)) return "";
    return scalar.type === "QUOTE_DOUBLE" ? '"' : scalar.type === "QUOTE_SINGLE" ? "'" : "";
  }

  #key(pair: Pair<unknown, unknown>): string {
    const key = isAlias(pair.key) ? this.#target(pair.key) : pair.key;
    if (!isScalar(key)) return "";
    if (key.value === "<<" && key.type === "PLAIN") return MERGE_KEY;
    return typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
  }

  // ---- splices

  #replace(start: number, end: number, text: string): void {
    this.#splices.push({ start, end, text: text.replaceAll("\n", this.#eol) });
  }

  /** Inserts whole lines at the beginning of a line. */
  #insert(at: number, text: string): void {
    const lines = text.replaceAll("\n", this.#eol);
    const atEnd = at === this.#text.length && at > 0 && this.#text[at - 1] !== "\n";
    this.#splices.push({ start: at, end: at, text: atEnd ? this.#eol + lines : lines + this.#eol });
  }
}

function isNarrow(data: Data): boolean {
  const text = writeFlow(data);
  return text.length <= MAX_FLOW_WIDTH && !text.includes("\\n");
}

/** A target for a value that does not exist yet. */
export function materialise(target: Target): Data {
  if (target instanceof Items) return target.items.flatMap(({ to }) => (to === undefined ? [] : [materialise(to)]));
  if (!(target instanceof Changes)) return target;
  return Object.fromEntries([...target.entries].flatMap(([key, value]) => (value === remove ? [] : [[key, materialise(value)]])));
}
