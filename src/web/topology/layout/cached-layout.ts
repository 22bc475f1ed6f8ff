import { layoutOf, type Place } from "./layout.ts";

/** Returns a `layoutOf` that keeps its last result: a lab is inspected far more often than its shape changes. */
export function cachedLayout(): typeof layoutOf {
  let lastInput = "";
  let result: ReadonlyMap<string, Place> = new Map();
  return (members, links) => {
    const input = JSON.stringify([members.map(({ id, position }) => [id, position]), links]);
    if (input !== lastInput) [lastInput, result] = [input, layoutOf(members, links)];
    return result;
  };
}
