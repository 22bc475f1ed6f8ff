import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Sets the height of an element as `--bars-height` of its parent: a panel beside the text ends above the bars. */
export function useBarsHeight(): RefObject<HTMLDivElement | null> {
  const bars = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = bars.current!;
    const resized = new ResizeObserver(() => element.parentElement?.style.setProperty("--bars-height", `${element.offsetHeight}px`));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  return bars;
}
