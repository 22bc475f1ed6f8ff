import type { Data } from "../../intent/write/write.ts";
import type { Choice } from "../mapping/choose-template.ts";
import type { MachineTemplate } from "../mapping/machine-template.ts";
import type { Part } from "../tree/part.ts";
import { maxInterfaces, whyWithout } from "./template-fields.ts";

/** A node as it will be written. */
export class DraftNode {
  readonly key: string;
  /** The name in the source. */
  readonly name: string;
  readonly choice: Choice;
  readonly template: string;
  /** Lines above the node. */
  readonly comments: string[] = [];
  readonly #fields = new Map<string, Data>();
  /** Fields that are maps, while entries are added. */
  readonly #maps = new Map<string, Map<string, Data>>();
  /** Fields that are lists, while items are added. */
  readonly #lists = new Map<string, Data[]>();

  constructor(key: string, name: string, choice: Choice, template: string) {
    this.key = key;
    this.name = name;
    this.choice = choice;
    this.template = template;
  }

  get(field: string): Data | undefined {
    const entries = this.#maps.get(field);
    // Not a literal: a key may be __proto__.
    return entries === undefined ? this.#fields.get(field) : Object.fromEntries(entries);
  }

  /**
   * Sets a field of the lab's language. Its part of the source is marked as kept, or as mapped with a message; if nodes of this template cannot have the
   * field, it is not set and the part is dropped with the reason.
   */
  set(field: string, value: Data | undefined, from?: Part, mapped?: string): boolean {
    if (!this.#has(field, value, from) || value === undefined) return false;
    this.#maps.delete(field);
    this.#lists.delete(field);
    this.#fields.set(field, value);
    mark(from, mapped);
    return true;
  }

  /** Adds an entry to a map, such as env or labels. */
  put(field: string, key: string, value: Data | undefined, from?: Part, mapped?: string): boolean {
    if (!this.#has(field, value, from) || value === undefined) return false;
    const entries = this.#maps.get(field) ?? new Map(Object.entries((this.#fields.get(field) ?? {}) as { readonly [key: string]: Data }));
    this.#maps.set(field, entries.set(key, value));
    mark(from, mapped);
    return true;
  }

  /** Drops the part if nodes of this template cannot have the field, or if there is no value. */
  #has(field: string, value: Data | undefined, from: Part | undefined): boolean {
    const why = value === undefined ? "its value has no counterpart here" : whyWithout(this, field);
    if (why !== undefined) from?.dropped(why);
    return why === undefined;
  }

  /** Adds items to a list, such as exec. */
  add(field: string, items: readonly Data[], from?: Part, mapped?: string): boolean {
    if (!this.#has(field, items, from)) return false;
    const list = this.#lists.get(field) ?? [...((this.#fields.get(field) ?? []) as readonly Data[])];
    this.#lists.set(field, list);
    // A list that is copied for each item takes minutes for a source with 100,000 of them.
    for (const item of items) list.push(item);
    this.#fields.set(field, list);
    mark(from, mapped);
    return true;
  }

  get takesFiles(): boolean {
    return whyWithout(this, "files") === undefined;
  }

  /** The template of a virtual machine; undefined for other nodes, also for one that stands in. */
  get machine(): MachineTemplate | undefined {
    return this.choice.template === this.template ? this.choice.machine : undefined;
  }

  /** The template of software in a container image; undefined for other nodes, also for one that stands in. */
  get kind(): MachineTemplate | undefined {
    return this.choice.template === this.template ? this.choice.kind : undefined;
  }

  get maxInterfaces(): number {
    return maxInterfaces(this);
  }

  /** The fields in the order in which people read them. */
  get fields(): { readonly [key: string]: Data | undefined } {
    const { name, key, template } = this;
    return { template, ...(name !== key && { name }), ...Object.fromEntries(order.flatMap((field) => this.#entry(field))) };
  }

  #entry(field: string): readonly (readonly [string, Data])[] {
    const value = this.get(field);
    return value === undefined ? [] : [[field, value]];
  }
}

function mark(part: Part | undefined, mapped: string | undefined): void {
  if (mapped === undefined) part?.kept();
  else part?.mapped(mapped);
}

const order = [
  "image",
  "kernel",
  "startup-config",
  "files",
  "switching",
  "ports",
  "mgmt-ipv4",
  "mgmt-ipv6",
  "ssh-keys",
  "exec",
  "cpu",
  "ram",
  "ethernet",
  "start",
  "position",
  "icon",
  "env",
  "attributes",
  "labels",
  "ready",
  "depends-on",
];
