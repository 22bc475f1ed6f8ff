import { Draft, type DraftPlace, positionOf } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import { chooseTemplate } from "../../mapping/choose-template.ts";
import { ruleFor } from "../../mapping/mapping.ts";
import type { ReadOptions } from "../../reading/importer.ts";
import type { Part } from "../../tree/part.ts";

/** A node of a graph, and its properties in the notation. */
export interface GraphNode {
  readonly id: string;
  readonly label?: string | undefined;
  /** A type that the graph names: a template, a network type or a word such as router. */
  readonly type?: string | undefined;
  /** A class of the drawing. It may be a colour only, so that it counts only if it is the word for a type. */
  readonly style?: string | undefined;
  readonly position?: { readonly x: number; readonly y: number } | undefined;
  readonly part?: Part | undefined;
  readonly typePart?: Part | undefined;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly fromInterface?: string | undefined;
  readonly toInterface?: string | undefined;
  readonly part: Part;
}

/** Builds the lab of a graph: its nodes and edges. A node without a type gets one by its name: r1 is a router, sw1 a switch, everything else a host. */
export class GraphDraft {
  readonly draft = new Draft();
  readonly #options: ReadOptions;
  readonly #places = new Map<string, DraftPlace>();
  readonly #next = new Map<string, number>();
  readonly #used = new Map<string, Set<string>>();

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  node({ id, label, type, style, position, part, typePart }: GraphNode): void {
    if (this.#places.has(id)) return;
    const choice = chooseTemplate(this.#options, "graph", type ?? this.#typeOf(stemSource(id, label), style), undefined);
    const shown = oneLineLabel(label);
    // A letter is a name of the notation, not of the node.
    const name = shown !== undefined && /^(?:[A-Za-z]|n_?\d+|node_?\d+)$/i.test(id) ? shown : firstLine(id);
    const place = this.draft.place(name, choice, { name: part, type: typePart });
    if (name !== id) part?.mapped(`the node ${place.key}, by its label`);
    if (place instanceof DraftNode && shown !== undefined && shown !== name) place.put("labels", "label", shown);
    if (position !== undefined) {
      const at = positionOf(position.x, position.y);
      if (place instanceof DraftNode) place.set("position", { ...at });
      else place.position = at;
    }
    this.#places.set(id, place);
    this.#used.set(id, new Set());
  }

  /** Returns the first word that stands for a type: the class, or a word of the name. */
  #typeOf(name: string, style: string | undefined): string {
    const ruleOf = (word: string) => ruleFor(this.#options.mapping, "graph", word, undefined);
    const isType = (word: string) => ruleOf(word)?.types.includes("*") === false;
    // "vlan10" as a class colours the members of a VLAN.
    if (style !== undefined && isType(style) && (ruleOf(style)?.network === undefined || !/\d/.test(style))) return style;
    const words = firstLine(name)
      .split(/[^A-Za-z]+/)
      .filter((word) => word !== "")
      .map((word) => word.toLowerCase());
    return words.find(isType) ?? words[0] ?? name;
  }

  /** Returns whether a node of the graph is a network of the lab. */
  isNetwork(id: string): boolean {
    const place = this.#places.get(id);
    return place !== undefined && !(place instanceof DraftNode);
  }

  /** Interfaces that edges name are taken first, so that the others get free ones. */
  edges(edges: readonly GraphEdge[]): void {
    for (const { from, to, fromInterface, toInterface } of edges) {
      for (const [id, name] of [
        [from, fromInterface],
        [to, toInterface],
      ] as const)
        if (name !== undefined) this.#used.get(id)?.add(name);
    }
    for (const edge of edges) {
      const [a, b] = [this.#places.get(edge.from), this.#places.get(edge.to)];
      const isLoop = a === b && (edge.fromInterface === undefined || edge.fromInterface === edge.toInterface || !(a instanceof DraftNode));
      if (a === undefined || b === undefined || isLoop) {
        edge.part.refused(isLoop && a !== undefined ? "both ends are the same node of the graph" : "an end is not a node of the graph");
        continue;
      }
      const ends = [
        { at: a, interface: edge.fromInterface ?? this.#free(edge.from, a) },
        { at: b, interface: edge.toInterface ?? this.#free(edge.to, b) },
      ] as const;
      edge.part.mapped(
        `the link ${ends.map((end) => (end.at instanceof DraftNode ? `${end.at.key}:${end.interface}` : end.at.key)).join(" – ")}`,
      );
      this.draft.link({ ends, part: edge.part });
    }
  }

  #free(id: string, place: DraftPlace): string {
    if (!(place instanceof DraftNode)) return "";
    const used = this.#used.get(id) ?? new Set();
    let number = this.#next.get(id) ?? 1;
    while (used.has(`eth${number}`)) number++;
    this.#next.set(id, number + 1);
    return `eth${number}`;
  }
}

/** The label names a node whose id is a letter only. */
function stemSource(id: string, label: string | undefined): string {
  return id.length === 1 && label !== undefined ? label.trim() : id;
}

/** Ids of Graphviz may have several lines. */
function firstLine(id: string): string {
  return id.split(/<br\s*\/?>|\\[nlr]|\n/i)[0] || id;
}

function oneLineLabel(label: string | undefined): string | undefined {
  const line = label
    ?.replace(/<br\s*\/?>|\\[nlr]/gi, " ")
    .replace(/\s+/g, " ")
    .trim();
  return line === undefined || line === "" ? undefined : line.slice(0, 200);
}
