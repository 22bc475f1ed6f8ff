import { type Document, isMap, parseDocument } from "yaml";
import { Failure } from "../../contract/errors.ts";
import { type ReadResult, readIntent } from "../read/read.ts";

/** The sections that can be replaced as a whole. */
export const editableSections = ["traffic_filters", "description", "texts", "links", "nodes", "networks"] as const;
export type EditableSection = (typeof editableSections)[number];

/**
 * What the intent would say with another content of one section, in the words of the language; null takes the section away. The answer's
 * diagnostics speak of `text`. The intent must be one that reads. Throws invalid_intent where an anchor goes that the rest refers to.
 */
export function replaceSection(
  yaml: string,
  files: Readonly<Record<string, string>>,
  section: EditableSection,
  value: unknown,
): ReadResult & { readonly text: string } {
  const document = parseDocument(yaml, { version: "1.2", schema: "core", merge: false, logLevel: "error" });
  // A section stays where it is, in the wrapper or outside it.
  // A wrapper that is empty, or an alias, can hold nothing.
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
    throw new Failure("invalid_intent", `the rest of the intent needs what stands in this section: ${(error as Error).message}`, {
      data: { diagnostics: [] },
      cause: error,
    });
  }
}
