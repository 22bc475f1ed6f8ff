import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { type DrawerSize, keyStep, readSize, type SizeEvent, sizeReducer, storeSize } from "./drawer-size.ts";

export interface DrawerSizeControl {
  readonly size: DrawerSize;
  /** The drawer: its parent contains the drawing, too. */
  readonly element: RefObject<HTMLDivElement | null>;
  readonly toggleMaximised: () => void;
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/** The height of the drawer, changed by dragging its upper edge or with the arrow keys, and kept in this browser. */
export function useDrawerSize(): DrawerSizeControl {
  const [size, setSize] = useState(readSize);
  const element = useRef<HTMLDivElement>(null);
  const send = (event: SizeEvent) =>
    setSize((before) => {
      const next = sizeReducer(before, event, element.current!.parentElement!.clientHeight);
      storeSize(next);
      return next;
    });
  const onPointerDown = (event: PointerEvent) => {
    const edge = event.currentTarget as HTMLElement;
    const bottom = element.current!.getBoundingClientRect().bottom;
    event.preventDefault();
    edge.setPointerCapture(event.pointerId);
    const moved = ({ clientY }: PointerEvent) => send({ type: "resized", height: bottom - clientY });
    edge.addEventListener("pointermove", moved);
    edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", moved), { once: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    send({ type: "stepped", by: event.key === "ArrowUp" ? keyStep : -keyStep });
  };
  return { size, element, toggleMaximised: () => send({ type: "maximised-toggled" }), onPointerDown, onKeyDown };
}
