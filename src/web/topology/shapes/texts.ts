import type { Place } from "../../../layout/layout.ts";
import { keptIds } from "./kept-ids.ts";

/** A text on the drawing. */
export interface GraphText {
  /** "text:" and a number, which stays while the text is moved or changed. */
  readonly id: string;
  readonly text: string;
  readonly at: Place;
}

interface LabText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

const textPrefix = "text:";

export function isTextId(id: string): boolean {
  return id.startsWith(textPrefix);
}

/** Returns the texts with their ids, in the order of the lab. A text that was moved or changed keeps its id. */
export function textsWithIds(before: readonly GraphText[], texts: readonly LabText[]): readonly GraphText[] {
  const named = before.map(({ id, text, at }) => ({ id, value: { text, x: at.x, y: at.y } }));
  const values = texts.map(({ text, x, y }) => ({ text, x, y }));
  const likeness = [(a: LabText, b: LabText) => a.text === b.text, (a: LabText, b: LabText) => a.x === b.x && a.y === b.y];
  return keptIds(textPrefix, named, values, likeness).map(({ id, value: { text, x, y } }) => ({ id, text, at: { x, y } }));
}
