import type { InspectedNode } from "../../contract/schemas/observe.ts";

/** Whether a node has a text console. */
export function hasConsole({ console }: InspectedNode): boolean {
  return console.type !== "none" && console.type !== "vnc";
}
