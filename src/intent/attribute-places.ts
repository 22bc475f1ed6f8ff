import { Lines } from "./lines.ts";
import { pointer } from "./problems.ts";
import { readDocument } from "./read.ts";
import { type ValuePlace, valuePlace } from "./value-place.ts";

/** An attribute of a node, by the node's key. */
export interface NodeAttribute {
  readonly node: string;
  readonly attribute: string;
}

/**
 * Where each of these attributes gets its value: at the node itself, or at the group, kind or defaults that it inherits it from. Undefined for what is
 * not there; all of them where the text does not read.
 */
export function attributePlaces(
  yaml: string,
  files: Readonly<Record<string, string>>,
  wanted: readonly NodeAttribute[],
): readonly (ValuePlace | undefined)[] {
  const { reading } = readDocument(yaml, files);
  if (reading === undefined) return wanted.map(() => undefined);
  const lines = new Lines(yaml);
  const { defaults, kinds, groups } = reading.inheritance;
  return wanted.map(({ node, attribute }) => {
    const read = reading.nodes.get(node);
    if (read === undefined) return undefined;
    const inherited = [...read.groups.map((name) => groups.get(name)).reverse(), kinds.get(read.kind ?? ""), defaults];
    for (const source of [read.source, ...inherited.map((form) => form?.source)]) {
      const attributes = source?.map.entries.get("attributes");
      const entry = attributes?.value.kind === "map" ? attributes.value.entries.get(attribute) : undefined;
      if (source !== undefined && entry !== undefined)
        return valuePlace(lines, entry, pointer(pointer(source.path, "attributes"), attribute));
    }
    return undefined;
  });
}
