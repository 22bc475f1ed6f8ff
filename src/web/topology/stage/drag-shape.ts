import type { LabShape } from "../../../intent/shapes/shape.ts";
import type { Place } from "../../../layout/layout.ts";
import { facing, type GraphShape, type Handle, resizedShape, shapeBetween, usualShape } from "../shapes/shapes.ts";
import { followPointer } from "./follow-pointer.ts";

export interface ShapeDrag {
  readonly placeOf: (event: PointerEvent) => Place;
  /** Shows the shape as it would become; undefined: as it is. */
  readonly onPreview: (shape: LabShape | undefined) => void;
  readonly onDrop: (shape: LabShape) => void;
}

/** Resizes a shape by one of its handles until the button is released. */
export function dragHandle(begin: PointerEvent, { shape }: GraphShape, handle: Handle, { placeOf, onPreview, onDrop }: ShapeDrag): void {
  const from = placeOf(begin);
  const resized = (event: PointerEvent) => {
    const to = placeOf(event);
    if (handle === "rotate") return shape.type === "line" ? shape : facing(shape, to);
    return resizedShape(shape, handle, to.x - from.x, to.y - from.y);
  };
  followPointer(begin, {
    onMove: (event) => onPreview(resized(event)),
    onDrop: (event) => {
      onPreview(undefined);
      onDrop(resized(event));
    },
    onCancel: () => onPreview(undefined),
  });
}

/** Draws a shape from the pressed point to the pointer until the button is released. A click draws one of the usual size. */
export function drawShape(begin: PointerEvent, type: LabShape["type"], { placeOf, onPreview, onDrop }: ShapeDrag): void {
  const from = placeOf(begin);
  const ended = new AbortController();
  const { signal } = ended;
  const drawUsual = (event: MouseEvent) => {
    // The click must not select what is below it.
    event.stopPropagation();
    ended.abort();
    onDrop(usualShape(type, from));
  };
  addEventListener("click", drawUsual, { capture: true, signal });
  addEventListener("keydown", ({ key }) => key === "Escape" && ended.abort(), { signal });
  addEventListener("pointercancel", () => ended.abort(), { signal });
  followPointer(begin, {
    onMove: (event) => {
      ended.abort();
      onPreview(shapeBetween(type, from, placeOf(event)));
    },
    onDrop: (event) => {
      onPreview(undefined);
      onDrop(shapeBetween(type, from, placeOf(event)));
    },
    onCancel: () => onPreview(undefined),
  });
}
