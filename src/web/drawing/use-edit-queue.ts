import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

/** An edit that waits for the page. */
export interface QueuedEdit {
  readonly run: () => void;
}

export interface EditQueue {
  /** Runs the edit, at once if none waits. */
  readonly add: (edit: QueuedEdit) => void;
  /** Returns the waiting edits, and removes them. */
  readonly takeAll: () => readonly QueuedEdit[];
}

/**
 * Runs edits one after the other, each when the page has rendered the result of the one before: a gesture names parts as the drawing shows them.
 * @param isReady whether edits can run
 */
export function useEditQueue(isReady: boolean): EditQueue {
  const waiting = useRef<QueuedEdit[]>([]);
  const isBehind = useRef(false);
  const latestReady = useRef(isReady);
  latestReady.current = isReady;
  const [, renderAgain] = useReducer((renders: number) => renders + 1, 0);
  const advance = () => {
    if (!latestReady.current || isBehind.current) return;
    const next = waiting.current.shift();
    if (next === undefined) return;
    isBehind.current = true;
    next.run();
    // Also an edit that changes nothing is followed by a render.
    renderAgain(undefined);
  };
  useLayoutEffect(() => {
    isBehind.current = false;
    advance();
  });
  return {
    add: (edit) => {
      waiting.current.push(edit);
      advance();
    },
    takeAll: () => waiting.current.splice(0),
  };
}
