import { editIntent } from "../../intent/edit/edit.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { readIntent } from "../../intent/read/read.ts";
import type { IntentText } from "../intent/intent-text.ts";
import { CannotDraw, type DrawnEdit, editedAll } from "./lab-edits.ts";

export { copied } from "./lab-edits.ts";

/** Reads the lab of a text; undefined if the text has an error. */
export function labOf({ yaml, files }: IntentText): Lab | undefined {
  return readIntent(yaml, files).lab;
}

/** Reads the lab of a text. Throws CannotDraw for a text with an error. */
export function readableLab({ yaml, files }: IntentText): Lab {
  const { lab, diagnostics } = readIntent(yaml, files);
  if (lab !== undefined) return lab;
  const first = diagnostics.find(({ severity }) => severity === "error");
  throw new CannotDraw(`The text has an error in line ${first?.line ?? 1}: ${first?.message ?? ""}. Correct it first.`);
}

/** Returns the text after edits; its comments, order and style are kept. Throws CannotDraw, and Failure invalid_intent. */
export function draw(text: IntentText, edits: readonly DrawnEdit[]): IntentText {
  return editIntent(text.yaml, text.files, editedAll(readableLab(text), edits));
}
