import { Failure } from "../../contract/errors.ts";
import { editIntent } from "../../intent/edit/edit.ts";
import { canonicalLab, sameData } from "../../intent/lab/canonical.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { readIntent } from "../../intent/read/read.ts";
import type { IntentText } from "../intent/intent-text.ts";
import { CannotDraw, type DrawnEdit, editedAll } from "./lab-edits.ts";
import { mergedLabs } from "./merge-labs.ts";

export { copied } from "./lab-edits.ts";

type ReadIntent = ReturnType<typeof readIntent>;

/** The lab and the diagnostics of each text: the drawing and each edit read the same text. */
const readCache = new WeakMap<IntentText, ReadIntent>();

function readText(text: IntentText): ReadIntent {
  const known = readCache.get(text);
  if (known !== undefined) return known;
  const read = readIntent(text.yaml, text.files);
  readCache.set(text, read);
  return read;
}

/** Reads the lab of a text; undefined if the text has an error. */
export function labOf(text: IntentText): Lab | undefined {
  return readText(text).lab;
}

/** Reads the lab of a text. Throws CannotDraw for a text with an error. */
export function readableLab(text: IntentText): Lab {
  const { lab, diagnostics } = readText(text);
  if (lab !== undefined) return lab;
  const first = diagnostics.find(({ severity }) => severity === "error");
  throw new CannotDraw(`The text has an error in line ${first?.line ?? 1}: ${first?.message ?? ""}. Correct it first.`);
}

/** Returns the text after edits; its comments, order and style are kept. Throws CannotDraw, and Failure invalid_intent. */
export function draw(text: IntentText, edits: readonly DrawnEdit[]): IntentText {
  return editIntent(text.yaml, text.files, editedAll(readableLab(text), edits));
}

/** Returns the text of `theirs` with the changes of `mine` since `base`; undefined if both changed the same part, or the result cannot be written. */
export function mergedText(base: IntentText, mine: IntentText, theirs: IntentText): IntentText | undefined {
  const labs = [base, mine, theirs].map(labOf);
  const [from, a, b] = labs;
  if (from === undefined || a === undefined || b === undefined) return undefined;
  const lab = mergedLabs(from, a, b);
  const files = mergedFiles(base.files, mine.files, theirs.files);
  if (lab === undefined || files === undefined) return undefined;
  try {
    const merged = editIntent(theirs.yaml, files, lab);
    const written = labOf(merged);
    // The edit of a text keeps its tests and lease, and does not know the comments of the other one: nothing may be lost.
    const isWhole = written !== undefined && sameData(canonicalLab(written), canonicalLab(lab));
    return isWhole && hasComments(merged.yaml, newComments(base.yaml, mine.yaml)) ? merged : undefined;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function newComments(base: string, mine: string): readonly string[] {
  const before = new Set(commentsOf(base));
  return commentsOf(mine).filter((comment) => !before.has(comment));
}

function hasComments(text: string, comments: readonly string[]): boolean {
  const present = new Set(commentsOf(text));
  return comments.every((comment) => present.has(comment));
}

/** Returns what follows the first # of each line, also in a quoted text. */
function commentsOf(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => /#.*/.exec(line)?.[0] ?? []);
}

function mergedFiles(base: Files, mine: Files, theirs: Files): Files | undefined {
  const merged: Record<string, string> = {};
  for (const path of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
    const [from, a, b] = [base[path], mine[path], theirs[path]];
    if (a !== b && a !== from && b !== from) return undefined;
    const content = a === from ? b : a;
    if (content !== undefined) merged[path] = content;
  }
  return merged;
}

type Files = IntentText["files"];
