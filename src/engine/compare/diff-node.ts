import { compareNatural } from "../../base/natural-order.ts";
import type { LabFile, LabNode } from "../../intent/lab/lab.ts";
import { fieldWord, type NodeField, nodeFields } from "../model/node-fields.ts";
import type { Change } from "../model/plan.ts";
import { hidden, isSensitive } from "../model/sensitive.ts";
import { sameValue } from "../shared/canonical.ts";
import { switchingChanges } from "./diff-switching.ts";

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
    const changes =
      field === "files"
        ? fileChanges(before.files ?? {}, after.files ?? {})
        : field === "switching"
          ? switchingChanges(before.switching, after.switching)
          : maps.has(field)
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

/** One change for each file whose text differs, and one for its mode and owner. */
function fileChanges(before: Files, after: Files): readonly Change[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort(compareNatural);
  return paths.flatMap((path) => {
    const [a, b] = [before[path], after[path]];
    const word = `files.${path}`;
    const text = a?.text === b?.text ? [] : [{ field: word, before: a?.text ?? null, after: b?.text ?? null }];
    const [was, is] = [attributesOf(a), attributesOf(b)];
    return was === is || a === undefined || b === undefined ? text : [...text, { field: `${word} (mode, owner)`, before: was, after: is }];
  });
}

function attributesOf({ mode = 0o644, owner = "root" }: Partial<LabFile> = {}): string {
  return `0${mode.toString(8)} ${owner}`;
}

type Files = Readonly<Record<string, LabFile>>;

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
