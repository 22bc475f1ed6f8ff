import { compareNatural } from "../../base/natural-order.ts";
import type { LabNode } from "../../intent/lab/lab.ts";
import { fieldWord, type NodeField, nodeFields } from "../model/node-fields.ts";
import type { Change } from "../model/plan.ts";
import { hidden, isSensitive } from "../model/sensitive.ts";
import { sameValue } from "../shared/canonical.ts";

/** The difference of one field: several changes if the field is a map. */
export interface FieldDifference {
  readonly field: NodeField;
  readonly changes: readonly Change[];
}

/** Returns every field in which two nodes differ, in the order of nodeFields. */
export function diffNode(before: LabNode, after: LabNode): readonly FieldDifference[] {
  const differences: FieldDifference[] = [];
  for (const field of nodeFields) {
    const a = before[field];
    const b = after[field];
    if (a === b) continue;
    const changes = maps.has(field)
      ? mapChanges(field, a as Scalars, b as Scalars)
      : sameValue(meaning(a), meaning(b))
        ? []
        : [{ field: fieldWord(field), before: meaning(a), after: meaning(b) }];
    if (changes.length > 0) differences.push({ field, changes });
  }
  return differences;
}

/** Returns the fields that are set, as changes from nothing. */
export function nodeChanges(node: LabNode): readonly Change[] {
  return [
    { field: "template", before: null, after: node.template },
    ...diffNode({ key: node.key, name: "", template: "", exec: [], env: {}, attributes: {}, labels: {} }, node).flatMap((d) => d.changes),
    ...(node.start === undefined ? [] : [{ field: "start", before: null, after: node.start }]),
  ];
}

/** Returns null for absent values, so that absent, empty text and empty list are equal. */
export function meaning(value: unknown): unknown {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0) ? null : value;
}

const maps: ReadonlySet<string> = new Set<NodeField>(["env", "attributes", "labels"]);

type Scalars = Readonly<Record<string, string | number | boolean>>;

function mapChanges(field: NodeField, before: Scalars, after: Scalars): readonly Change[] {
  const changes: Change[] = [];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const name of [...names].sort(compareNatural)) {
    const a = Object.hasOwn(before, name) ? before[name] : null;
    const b = Object.hasOwn(after, name) ? after[name] : null;
    if (a === b) continue;
    const sensitive = field !== "labels" && isSensitive(name);
    const word = `${field}.${name}`;
    changes.push(
      sensitive
        ? { field: word, before: a === null ? null : hidden, after: b === null ? null : hidden, sensitive }
        : { field: word, before: a, after: b },
    );
  }
  return changes;
}
