import { type Box, touches } from "./labels.ts";

/** Side of a cell, px: boxes of labels are smaller. */
const cell = 96;

/** Boxes that are found by their position. */
export class BoxIndex {
  readonly #cells = new Map<string, Box[]>();

  add(box: Box): void {
    for (const key of keysOf(box)) {
      const boxes = this.#cells.get(key);
      if (boxes === undefined) this.#cells.set(key, [box]);
      else boxes.push(box);
    }
  }

  isTaken(box: Box): boolean {
    return keysOf(box).some((key) => this.#cells.get(key)?.some((other) => touches(other, box)) === true);
  }
}

function keysOf({ left, top, right, bottom }: Box): readonly string[] {
  const keys: string[] = [];
  for (let x = Math.floor(left / cell); x <= Math.floor(right / cell); x++) {
    for (let y = Math.floor(top / cell); y <= Math.floor(bottom / cell); y++) keys.push(`${x} ${y}`);
  }
  return keys;
}
