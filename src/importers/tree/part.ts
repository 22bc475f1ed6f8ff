import { pointer } from "../../intent/diagnostics/problems.ts";
import { Marks } from "./marks.ts";
import type { SourceNode } from "./source-tree.ts";

/** A file of the source whose parts are marked as they are read. */
export interface SourceFile {
  readonly file: string;
  readonly marks: Marks;
  /** Parts of the lab whose fields all may be dropped, such as a node: the part itself is not. */
  readonly opened: Set<SourceNode>;
  /** Changes of the text before it was read, by line. */
  readonly notes?: ReadonlyMap<number, string>;
}

/**
 * A part of a source file. Looking at it leaves no trace: a reader calls `kept`, `mapped` or `dropped` for what it has used or left out, and the report lists
 * everything else as dropped. So no key of a source is silent.
 */
export class Part {
  readonly node: SourceNode;
  /** JSON pointer into the file. */
  readonly path: string;
  readonly line: number;
  readonly source: SourceFile;

  constructor(node: SourceNode, source: SourceFile, path = "", line = node.line) {
    this.node = node;
    this.source = source;
    this.path = path;
    this.line = line;
  }

  /** The whole of a file. */
  static of(node: SourceNode, file: string, notes?: ReadonlyMap<number, string>): Part {
    return new Part(node, { file, marks: new Marks(), opened: new Set(), ...(notes && { notes }) });
  }

  /** Returns the value of a key; undefined if this is not a map or has no such key. */
  get(key: string): Part | undefined {
    const entry = this.node.kind === "map" ? this.node.entries.get(key) : undefined;
    return entry && new Part(entry.node, this.source, pointer(this.path, key), entry.line);
  }

  /** Returns the part below several keys. */
  at(...keys: readonly string[]): Part | undefined {
    return keys.reduce<Part | undefined>((part, key) => part?.get(key), this);
  }

  /** Returns the entries of a map in their order; none for anything else. */
  get entries(): readonly (readonly [string, Part])[] {
    if (this.node.kind !== "map") return [];
    return [...this.node.entries.keys()].map((key) => [key, this.get(key) as Part]);
  }

  /** Returns the items of a list; none for anything else. */
  get items(): readonly Part[] {
    if (this.node.kind !== "list") return [];
    return this.node.items.map((item, index) => new Part(item, this.source, pointer(this.path, index)));
  }

  /** Returns a list's items, and anything else that is not null as the only item. */
  get all(): readonly Part[] {
    if (this.node.kind === "list") return this.items;
    return this.isNull ? [] : [this];
  }

  get isNull(): boolean {
    return this.node.kind === "scalar" && this.node.value === null;
  }

  /** The text of a scalar as it is written, also of a number or boolean; undefined for null, lists and maps. */
  get text(): string | undefined {
    return this.node.kind === "scalar" && this.node.value !== null ? this.node.text : undefined;
  }

  /** The number of a scalar, also in quotes. */
  get number(): number | undefined {
    const text = this.text?.trim() ?? "";
    const number = Number(text);
    return text === "" || !Number.isFinite(number) ? undefined : number;
  }

  /** The boolean of a scalar; also of the words of YAML 1.1, and of 0 and 1. */
  get boolean(): boolean | undefined {
    const text = this.text?.trim().toLowerCase() ?? "";
    if (["true", "yes", "on", "1"].includes(text)) return true;
    return ["false", "no", "off", "0"].includes(text) ? false : undefined;
  }

  /** This part is in the lab, even if all of its fields are dropped: the report has a line for each field. */
  open(): this {
    this.source.opened.add(this.node);
    return this;
  }

  /** This part is in the lab as it is. */
  kept(message = "as it is"): this {
    this.source.marks.set(this.node, { level: "kept", message, node: this.node });
    return this;
  }

  /** This part is in the lab in another form. */
  mapped(message: string): this {
    this.source.marks.set(this.node, { level: "mapped", message, node: this.node });
    return this;
  }

  /** This part is not in the lab. */
  dropped(message: string): this {
    this.source.marks.set(this.node, { level: "dropped", message, node: this.node });
    return this;
  }

  /** This part was marked as used, and is not in the lab after all. */
  refused(message: string): this {
    this.source.marks.replace(this.node, { level: "dropped", message, node: this.node });
    return this;
  }
}
