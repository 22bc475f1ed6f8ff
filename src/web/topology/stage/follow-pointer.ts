export interface Follow {
  readonly onMove: (event: PointerEvent) => void;
  /** Not called for a click without a move. */
  readonly onDrop: (event: PointerEvent) => void;
  /** Called if Escape or the browser ends the drag. */
  readonly onCancel: () => void;
}

/** A pointer that moves less than this, px, is a click and not a drag. */
const threshold = 4;

/** Follows a pressed pointer until its button is released. The click that the browser sends after a drag is not passed on. */
export function followPointer(begin: PointerEvent, { onMove, onDrop, onCancel }: Follow): void {
  let moving = false;
  const ended = new AbortController();
  const { signal } = ended;
  const isMine = ({ pointerId }: PointerEvent) => pointerId === begin.pointerId;
  const cancel = () => {
    ended.abort();
    if (moving) onCancel();
  };
  const move = (event: PointerEvent) => {
    if (!isMine(event)) return;
    moving ||= Math.hypot(event.clientX - begin.clientX, event.clientY - begin.clientY) > threshold;
    if (moving) onMove(event);
  };
  const drop = (event: PointerEvent) => {
    if (!isMine(event)) return;
    ended.abort();
    if (!moving) return;
    // The browser sends a click after the drop, which must not select anything.
    const click = new AbortController();
    addEventListener("click", (event) => event.stopPropagation(), { capture: true, signal: click.signal });
    setTimeout(() => click.abort(), 0);
    onDrop(event);
  };
  addEventListener("pointermove", move, { signal });
  addEventListener("pointerup", drop, { signal });
  addEventListener("pointercancel", (event) => isMine(event) && cancel(), { signal });
  addEventListener("keydown", (event) => event.key === "Escape" && cancel(), { signal });
}
