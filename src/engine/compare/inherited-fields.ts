import type { Lab } from "../../intent/lab/lab.ts";
import { fieldWord } from "../model/node-fields.ts";
import type { HostRules } from "../model/plan.ts";
import { type UnsupportedField, unsupportedOnHost } from "../model/support.ts";

/** Sorts out the fields that nodes inherit and cannot take: each goes without silently, if another node takes the field. */
export class InheritedFields {
  readonly #inherited: NonNullable<Lab["inherited"]>;
  readonly #rules: HostRules;
  readonly #taken = new Set<string>();
  readonly #missing: UnsupportedField[] = [];

  constructor({ desired, rules }: { readonly desired: Lab; readonly rules: HostRules }) {
    this.#inherited = desired.inherited ?? {};
    this.#rules = rules;
  }

  /** Returns the fields of a node that it declares itself, or that no node of the host can have. */
  declared(key: string, missing: readonly UnsupportedField[]): readonly UnsupportedField[] {
    const names = Object.hasOwn(this.#inherited, key) ? (this.#inherited[key] ?? []) : [];
    const open = new Map(missing.map((one) => [one.field, one]));
    for (const name of names) {
      const one = open.get(fieldWord(name));
      if (one === undefined) this.#taken.add(fieldWord(name));
      else if (unsupportedOnHost(this.#rules, "node", name) === undefined) {
        this.#missing.push(one);
        open.delete(one.field);
      }
    }
    return [...open.values()];
  }

  /** Returns the inherited fields that no node takes, once all nodes are compared. */
  withoutEffect(): readonly UnsupportedField[] {
    return this.#missing.filter(({ field }) => !this.#taken.has(field));
  }
}
