import Type, { type Static } from "typebox";
import { integer, list, optionalFiles, text, word } from "./shapes.ts";

/**
 * saved: `file` of the answer's files holds the configuration. unchanged: as saved, but the intent already has this configuration. skipped: the node does not run,
 * or has no way to save. failed: it should have worked. code and error: why, of the last two.
 */
export const SavedNode = Type.Object({
  node: text,
  name: text,
  outcome: word(["saved", "unchanged", "skipped", "failed"]),
  file: Type.Optional(text),
  code: Type.Optional(text),
  error: Type.Optional(text),
});
export type SavedNode = Static<typeof SavedNode>;

/** files: a configuration for each node that was saved or is unchanged, named <node>.cfg. They may hold secrets, so jobs leave them out. */
export const SaveConfigsData = Type.Object({
  lab: text,
  saved: integer,
  failed: integer,
  nodes: list(SavedNode),
  files: optionalFiles,
});
export type SaveConfigsData = Static<typeof SaveConfigsData>;
