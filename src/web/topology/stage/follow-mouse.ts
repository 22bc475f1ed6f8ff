/**
 * Returns a function that reports whether the user points at an element now. A pointer that only rests there while the user types does not count.
 * @param ended removes the listeners
 */
export function followMouse(element: HTMLElement, ended: AbortSignal): () => boolean {
  let at: { readonly x: number; readonly y: number } | undefined;
  const options = { signal: ended, capture: true, passive: true };
  const moved = ({ clientX, clientY }: PointerEvent) => {
    at = { x: clientX, y: clientY };
  };
  addEventListener("pointermove", moved, options);
  addEventListener("pointerdown", moved, options);
  addEventListener("keydown", () => (at = undefined), options);
  return () => {
    if (at === undefined) return false;
    // Not :hover, which is not up to date after the element has changed its size.
    return element.contains(document.elementFromPoint(at.x, at.y));
  };
}
