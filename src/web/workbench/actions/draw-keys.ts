import type { DrawActions } from "./use-draw-actions.ts";
import type { Selection } from "./use-selection.ts";

type Key = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

interface KeyContext {
  readonly actions: DrawActions;
  readonly selection: Selection;
  /** The part that has the focus: keys apply to it if nothing is selected. */
  readonly focused: string | undefined;
  /** All parts that can be selected. */
  readonly ids: readonly string[];
}

/** Runs the edit of a key in the drawing. Returns whether the key has one. */
export function runDrawKey(event: Key, { actions, selection, focused, ids }: KeyContext): boolean {
  const command = commandOf(event);
  const selected = selection.selected.size > 0 || focused === undefined ? selection.selected : new Set([focused]);
  switch (command) {
    case "undo":
      actions.undo?.();
      return true;
    case "redo":
      actions.redo?.();
      return true;
    case "remove":
      actions.remove(selected);
      return true;
    case "rename":
      if (selected.size === 1) actions.beginRename([...selected][0]);
      return true;
    case "copy":
      actions.copy(selected);
      return true;
    case "paste":
      actions.paste();
      return true;
    case "duplicate":
      actions.duplicate(selected);
      return true;
    case "link": {
      const [from, to] = selected;
      if (selected.size === 2) actions.link(from!, to!);
      return true;
    }
    case "all":
      selection.selectAll(ids);
      return true;
    default:
      return false;
  }
}

type Command = "undo" | "redo" | "remove" | "rename" | "copy" | "paste" | "duplicate" | "link" | "all";

function commandOf({ key, ctrlKey, metaKey, shiftKey, altKey }: Key): Command | undefined {
  if (altKey) return undefined;
  if (!ctrlKey && !metaKey) return plainKeys[key];
  if (key.toLowerCase() === "z") return shiftKey ? "redo" : "undo";
  return controlKeys[key.toLowerCase()];
}

const plainKeys: Readonly<Record<string, Command>> = { Delete: "remove", Backspace: "remove", F2: "rename", l: "link" };
const controlKeys: Readonly<Record<string, Command>> = { y: "redo", c: "copy", v: "paste", d: "duplicate", a: "all" };
