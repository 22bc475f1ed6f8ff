/**
 * Returns a function that reports whether the user points at an element now. A pointer that only rests there while the user types does not count.
 * @param ended removes the listeners
 */
export function followMouse(element: HTMLElement, ended: AbortSignal): () => boolean {
  let at: { readonly x: number; readonly y: number; readonly isInside: boolean } | undefined;
  const options = { signal: ended, capture: true, passive: true };
  const moved = ({ clientX, clientY, target }: PointerEvent) => {
    at = { x: clientX, y: clientY, isInside: target instanceof Node && element.contains(target) };
  };
  addEventListener("pointermove", moved, options);
  addEventListener("pointerdown", moved, options);
  addEventListener("keydown", () => (at = undefined), options);
  return () => {
    if (at === undefined) return false;
    // A panel that opens under the pointer does not end the pointing.
    if (at.isInside) return true;
    // Not :hover, which is not up to date after the element has changed its size.
    return element.contains(document.elementFromPoint(at.x, at.y));
  };
}
