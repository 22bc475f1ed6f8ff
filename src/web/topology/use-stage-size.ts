import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { followMouse } from "./stage/follow-mouse.ts";
import { barsOf, minHeight, sizeOf } from "./stage/stage-size.ts";

/** A banner or a second row of a bar changes the height of the stage by less, px. */
const minResize = 80;

interface StageView {
  /** Whether the view shows the whole drawing, and so follows the size of the stage. */
  readonly isFitted: RefObject<boolean>;
  readonly fitAll: () => void;
  /** Whether the whole drawing is visible. */
  readonly showsGraph: () => boolean;
}

/** Fits the drawing again when the stage changes its size. Returns whether the pointer is in the stage, in which case nothing moves. */
export function useStageSize(stage: RefObject<HTMLDivElement | null>, view: StageView): RefObject<() => boolean> {
  const latest = useRef(view);
  latest.current = view;
  const isPointedAt = useRef<() => boolean>(() => false);
  useLayoutEffect(() => {
    const ended = new AbortController();
    isPointedAt.current = followMouse(stage.current!, ended.signal);
    return () => ended.abort();
  }, []);
  // A layout effect: the clean-up of useEffect runs only after the next frame, when the stage no longer exists.
  useLayoutEffect(() => {
    const ended = new AbortController();
    let isUsed = false;
    for (const type of ["pointerdown", "keydown"]) addEventListener(type, () => (isUsed = true), { capture: true, signal: ended.signal });
    let fittedTo = sizeOf(stage.current!);
    const follow = () => {
      const now = sizeOf(stage.current!);
      const { isFitted, fitAll, showsGraph } = latest.current;
      if (isFitted.current !== true || isPointedAt.current?.() === true || now.height < minHeight) return;
      const isLarge = now.width !== fittedTo.width || Math.abs(now.height - fittedTo.height) >= minResize;
      // A banner that comes, or a bar that grows while a change runs, does not move what the user looks at.
      if (isLarge || (!isUsed && !showsGraph())) fitAll();
      fittedTo = now;
    };
    const resized = new ResizeObserver(follow);
    resized.observe(stage.current!);
    const bars = barsOf(stage.current!);
    if (bars !== null) resized.observe(bars);
    return () => {
      ended.abort();
      resized.disconnect();
    };
  }, []);
  return isPointedAt;
}
