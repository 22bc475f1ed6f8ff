import type { Selection } from "../actions/use-selection.ts";
import type { DrawActions } from "./draw-actions.ts";

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
      else if (focused !== undefined && selected.has(focused)) actions.beginRename(focused);
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
    case "align-row":
      return placed(selected, 2, () => actions.align("y"));
    case "align-column":
      return placed(selected, 2, () => actions.align("x"));
    case "distribute-across":
      return placed(selected, 3, () => actions.distribute("x"));
    case "distribute-down":
      return placed(selected, 3, () => actions.distribute("y"));
    case "all":
      selection.selectAll(ids);
      return true;
    default:
      return false;
  }
}

/** Runs an edit of positions if enough parts are selected. */
function placed(selected: ReadonlySet<string>, minimum: number, run: () => void): true {
  if (selected.size >= minimum) run();
  return true;
}

const plainKeys = { Delete: "remove", Backspace: "remove", F2: "rename", l: "link" } as const;
const shiftKeys = { H: "align-row", V: "align-column", A: "distribute-across", D: "distribute-down" } as const;
const controlKeys = { y: "redo", c: "copy", v: "paste", d: "duplicate", a: "all" } as const;

type Command = "undo" | ValueOf<typeof plainKeys> | ValueOf<typeof shiftKeys> | ValueOf<typeof controlKeys>;
type ValueOf<T> = T[keyof T];

function commandOf({ key, ctrlKey, metaKey, shiftKey, altKey }: Key): Command | undefined {
  if (altKey) return undefined;
  const of = (keys: Readonly<Record<string, Command>>, name: string) => (Object.hasOwn(keys, name) ? keys[name] : undefined);
  if (!ctrlKey && !metaKey) return (shiftKey ? of(shiftKeys, key.toUpperCase()) : undefined) ?? of(plainKeys, key);
  if (key.toLowerCase() === "z") return shiftKey ? "redo" : "undo";
  return of(controlKeys, key.toLowerCase());
}
