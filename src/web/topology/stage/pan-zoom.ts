import type { Place } from "../layout/layout.ts";
import { type View, zoomed } from "./view.ts";

export interface Hand {
  readonly view: () => View;
  readonly show: (view: View) => void;
  /** A press on something of the picture; true: it is taken, and moves nothing here. */
  readonly press: (event: PointerEvent) => boolean;
}

/** Moves and zooms the picture by mouse, wheel, trackpad and fingers. Answers the function that ends it. */
export function handOn(stage: HTMLElement, { view, show, press }: Hand): () => void {
  const over = new AbortController();
  const { signal } = over;
  const pointers = new Map<number, Place>();
  const placeOf = ({ clientX, clientY }: MouseEvent): Place => {
    const { left, top } = stage.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  stage.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0 || (pointers.size === 0 && press(event))) return;
      pointers.set(event.pointerId, placeOf(event));
      stage.setPointerCapture(event.pointerId);
    },
    { signal },
  );
  stage.addEventListener(
    "pointermove",
    (event) => {
      const before = pointers.get(event.pointerId);
      if (before === undefined) return;
      const now = placeOf(event);
      pointers.set(event.pointerId, now);
      const { x, y, scale } = view();
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other === undefined) {
        show({ scale, x: x + now.x - before.x, y: y + now.y - before.y });
        return;
      }
      // Two fingers: what is between them stays between them.
      const [was, is] = [Math.hypot(before.x - other.x, before.y - other.y), Math.hypot(now.x - other.x, now.y - other.y)];
      const shifted = { scale, x: x + (now.x - before.x) / 2, y: y + (now.y - before.y) / 2 };
      show(zoomed(shifted, is / Math.max(was, 1), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 }));
    },
    { signal },
  );
  const letGo = ({ pointerId }: PointerEvent) => pointers.delete(pointerId);
  // Wherever it is let go.
  addEventListener("pointerup", letGo, { signal });
  addEventListener("pointercancel", letGo, { signal });
  stage.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      // A pinch on a trackpad comes as a wheel with Ctrl, in small steps.
      show(zoomed(view(), Math.exp(-event.deltaY / (event.ctrlKey ? 100 : 500)), placeOf(event)));
    },
    // Not passive: the page must not scroll meanwhile.
    { signal, passive: false },
  );
  return () => over.abort();
}
