import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import type { Place } from "../../layout/layout.ts";
import type { Stage } from "./use-stage.ts";

/** Converts points of the window to positions in the drawing. */
export interface DrawingPlaces {
  /** undefined: the point is outside of the drawing. */
  readonly placeAt: (clientX: number, clientY: number) => Place | undefined;
  readonly middle: () => Place;
  /** Shows the whole drawing after its next change. */
  readonly fitNext: () => void;
}

/** Sets `places` while the drawing is shown. */
export function useDrawingPlaces(stage: Stage, places: RefObject<DrawingPlaces | null> | undefined): void {
  useLayoutEffect(() => {
    if (places === undefined) return undefined;
    places.current = {
      middle: stage.middle,
      fitNext: stage.fitNext,
      placeAt: (x, y) => {
        const box = stage.stage.current!.getBoundingClientRect();
        return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom ? stage.placeAt(x, y) : undefined;
      },
    };
    return () => {
      places.current = null;
    };
  }, []);
}
