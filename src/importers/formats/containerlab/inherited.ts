import type { Part } from "../../tree/part.ts";

/** The fields of a node: its own, and the ones it inherits from its group, its kind and the defaults. */
export class NodeForm {
  readonly node: Part;
  readonly kind: Part | undefined;
  /** The weakest first. */
  readonly #layers: readonly Part[];

  constructor(topology: Part, node: Part) {
    const defaults = topology.get("defaults");
    const group = node.get("group") ?? defaults?.get("group");
    const inGroup = group?.text === undefined ? undefined : topology.at("groups", group.text);
    this.node = node;
    this.kind = node.get("kind") ?? inGroup?.get("kind") ?? defaults?.get("kind");
    const ofKind = this.kind?.text === undefined ? undefined : topology.at("kinds", this.kind.text);
    this.#layers = [defaults, ofKind, inGroup, node].filter((layer) => layer !== undefined);
  }

  /** Returns the effective value of a field, and marks the values that it overrides. */
  one(key: string): Part | undefined {
    const found = this.#layers.flatMap((layer) => layer.get(key) ?? []).filter((part) => !part.isNull);
    return found.at(-1);
  }

  /** Returns the values of all layers, the weakest first. */
  every(key: string): readonly Part[] {
    return this.#layers.flatMap((layer) => layer.get(key) ?? []);
  }

  /** Returns the entries of a map that is merged by key, the strongest of each. */
  merged(key: string): ReadonlyMap<string, Part> {
    return new Map(this.every(key).flatMap(({ entries }) => entries));
  }
}
