import type { Place } from "../../../layout/layout.ts";
import { type View, zoomed } from "./view.ts";

export interface PanZoomOptions {
  readonly view: () => View;
  readonly show: (view: View) => void;
  /** Called for a press of the pointer. Returns true if it handled the press, so that it does not pan. */
  readonly onPress: (event: PointerEvent) => boolean;
  /** Called for a press that `onPress` did not handle, and that ends where it began. */
  readonly onClick: (event: PointerEvent) => void;
}

/** A click may move the pointer by less, px. */
const clickDistance = 4;

/** Pans and zooms the drawing by mouse, wheel, trackpad and touch. Returns a function that removes the listeners. */
export function panAndZoom(stage: HTMLElement, { view, show, onPress, onClick }: PanZoomOptions): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const pointers = new Map<number, Place>();
  /** The press that is a click until the pointer moves, or a second finger comes. */
  let pressed: { readonly id: number; readonly at: Place } | undefined;
  const placeOf = ({ clientX, clientY }: MouseEvent): Place => {
    const { left, top } = stage.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  stage.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0 || (pointers.size === 0 && onPress(event))) return;
      pressed = pointers.size === 0 ? { id: event.pointerId, at: placeOf(event) } : undefined;
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
      if (pressed !== undefined && Math.hypot(now.x - pressed.at.x, now.y - pressed.at.y) >= clickDistance) pressed = undefined;
      const { x, y, scale } = view();
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other === undefined) {
        show({ scale, x: x + now.x - before.x, y: y + now.y - before.y });
        return;
      }
      // Two fingers: the point between them stays between them.
      const [was, is] = [Math.hypot(before.x - other.x, before.y - other.y), Math.hypot(now.x - other.x, now.y - other.y)];
      const shifted = { scale, x: x + (now.x - before.x) / 2, y: y + (now.y - before.y) / 2 };
      show(zoomed(shifted, is / Math.max(was, 1), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 }));
    },
    { signal },
  );
  const release = (event: PointerEvent) => {
    pointers.delete(event.pointerId);
    const isClick = event.type === "pointerup" && pressed?.id === event.pointerId;
    pressed = undefined;
    if (isClick) onClick(event);
  };
  // On the window: the pointer may be released outside of the stage.
  addEventListener("pointerup", release, { signal });
  addEventListener("pointercancel", release, { signal });
  stage.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      // Browsers report a pinch on a trackpad as a wheel event with Ctrl, in small steps.
      show(zoomed(view(), Math.exp(-event.deltaY / (event.ctrlKey ? 100 : 500)), placeOf(event)));
    },
    // Not passive: preventDefault() must stop the page from scrolling.
    { signal, passive: false },
  );
  return () => ended.abort();
}
