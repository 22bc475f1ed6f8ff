import { usePageKeys } from "./actions/use-page-keys.ts";
import type { Selection } from "./actions/use-selection.ts";
import type { DrawActions } from "./edits/draw-actions.ts";
import { runDrawKey } from "./edits/draw-keys.ts";

interface DrawKeysInput {
  /** undefined: the user may not edit the lab. */
  readonly actions: DrawActions | undefined;
  readonly selection: Selection;
  /** All parts that can be selected. */
  readonly ids: readonly string[];
  /** Shows the keys of the drawing. */
  readonly onHelp: () => void;
}

/** Returns the function that runs the action of a key in the drawing, and runs those of keys that no part of the page has. */
export function useDrawKeys({
  actions,
  selection,
  ids,
  onHelp,
}: DrawKeysInput): (event: KeyboardEvent, focused: string | undefined) => boolean {
  const onKey = (event: KeyboardEvent, focused: string | undefined) => {
    if (event.key === "?") onHelp();
    return event.key === "?" || (actions !== undefined && runDrawKey(event, { actions, selection, focused, ids }));
  };
  usePageKeys((event) => {
    const isUsed = onKey(event, undefined);
    // Further keys, such as the arrows, belong to the drawing, too.
    if (isUsed && event.key !== "?") selection.container.current?.querySelector<HTMLElement>(".stage")?.focus({ preventScroll: true });
    return isUsed;
  });
  return onKey;
}
