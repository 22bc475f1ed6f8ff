import { type Document, isMap, parseDocument } from "yaml";
import { Failure } from "../../contract/errors.ts";
import { type ReadResult, readIntent } from "../read/read.ts";

/** The sections that can be replaced as a whole. */
export const editableSections = ["traffic_filters", "description", "texts", "shapes", "links", "nodes", "networks"] as const;
export type EditableSection = (typeof editableSections)[number];

/**
 * Returns the intent with another content of one section; null removes the section. Diagnostics refer to places in `text`. The intent must be
 * readable. Throws invalid_intent if the rest of the intent refers to an anchor that is removed.
 */
export function replaceSection(
  yaml: string,
  files: Readonly<Record<string, string>>,
  section: EditableSection,
  value: unknown,
): ReadResult & { readonly text: string } {
  const document = parseDocument(yaml, { version: "1.2", schema: "core", merge: false, logLevel: "error" });
  // A section stays at its level, inside or outside the wrapper.
  // An empty wrapper, or an alias, cannot hold sections.
  const wrapped = isMap(document.get("topology", true)) && !document.has(section) && section !== "description";
  const path = wrapped ? ["topology", section] : [section];
  if (value === null) document.deleteIn(path);
  else document.setIn(path, document.createNode(value, { aliasDuplicateObjects: false }));
  const text = textOf(document);
  return { ...readIntent(text, files), text };
}

function textOf(document: Document): string {
  try {
    return document.toString({ lineWidth: 0 });
  } catch (error) {
    throw new Failure("invalid_intent", `the rest of the intent refers to an anchor in this section: ${(error as Error).message}`, {
      data: { diagnostics: [] },
      cause: error,
    });
  }
}
