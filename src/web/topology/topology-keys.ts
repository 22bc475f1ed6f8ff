/** The effect of a key in the topology. Distances are px: of the stage for `pan`, of the drawing for `moveNode` and `resize`. */
export type KeyCommand =
  | { readonly kind: "pan"; readonly dx: number; readonly dy: number }
  | { readonly kind: "resize"; readonly dx: number; readonly dy: number }
  | { readonly kind: "moveNode"; readonly dx: number; readonly dy: number }
  | { readonly kind: "zoom"; readonly by: number }
  | { readonly kind: "fit" }
  | { readonly kind: "deselect" };

type Key = Pick<KeyboardEvent, "key" | "altKey" | "ctrlKey" | "metaKey" | "shiftKey">;

const nodeStep = 20;
const panStep = 40;
export const zoomInFactor = 1.25;
export const zoomOutFactor = 0.8;

const arrows: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Returns the command of a key; undefined for any other key. @param canMoveNode whether the focus is on a part that may be moved, or selected parts may be. @param canResize whether it is a shape */
export function keyCommand(
  { key, altKey, ctrlKey, metaKey, shiftKey }: Key,
  canMoveNode: boolean,
  canResize = false,
): KeyCommand | undefined {
  const [x, y] = arrows[key] ?? [];
  if (altKey && shiftKey && x !== undefined && canResize) return { kind: "resize", dx: x * nodeStep, dy: y! * nodeStep };
  if (altKey && x !== undefined && canMoveNode) return { kind: "moveNode", dx: x * nodeStep, dy: y! * nodeStep };
  if (ctrlKey || metaKey || altKey) return undefined;
  // The drawing moves against the arrow: the arrow points to the part that becomes visible.
  if (x !== undefined) return { kind: "pan", dx: 0 - x * panStep, dy: 0 - y! * panStep };
  switch (key) {
    case "+":
      return { kind: "zoom", by: zoomInFactor };
    case "-":
      return { kind: "zoom", by: zoomOutFactor };
    case "0":
      return { kind: "fit" };
    case "Escape":
      return { kind: "deselect" };
    default:
      return undefined;
  }
}
