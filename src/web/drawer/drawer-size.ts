/** Height of the drawer below the drawing, px. */
export interface DrawerSize {
  readonly height: number;
  /** Whether it covers the drawing; closing this restores the height. */
  readonly isMaximised: boolean;
}

export type SizeEvent =
  | { readonly type: "resized"; readonly height: number }
  | { readonly type: "stepped"; readonly by: number }
  | { readonly type: "maximised-toggled" };

export const minHeight = 120;
/** The drawing keeps at least this height, px, unless the drawer is maximised. */
const minDrawing = 120;
/** Change of the height by one arrow key, px. */
export const keyStep = 32;

/** @param room height of the drawing and the drawer together, px */
export function sizeReducer(size: DrawerSize, event: SizeEvent, room: number): DrawerSize {
  switch (event.type) {
    case "resized":
      return { height: bounded(event.height, room), isMaximised: false };
    case "stepped":
      return { height: bounded(bounded(size.height, room) + event.by, room), isMaximised: false };
    case "maximised-toggled":
      return { ...size, isMaximised: !size.isMaximised };
  }
}

function bounded(height: number, room: number): number {
  return Math.round(Math.max(minHeight, Math.min(height, room - minDrawing)));
}

const storageKey = "labwright-drawer";
const initial: DrawerSize = { height: 320, isMaximised: false };

/** Reads the height that this browser used last. */
export function readSize(): DrawerSize {
  const height = Number(localStorage.getItem(storageKey) ?? Number.NaN);
  return Number.isFinite(height) && height >= minHeight ? { ...initial, height } : initial;
}

export function storeSize({ height }: DrawerSize): void {
  localStorage.setItem(storageKey, String(height));
}
