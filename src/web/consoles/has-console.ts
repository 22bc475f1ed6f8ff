import type { InspectedNode } from "../../contract/schemas/observe.ts";

/** Whether a node has a console that is a stream of bytes. */
export function hasConsole({ console }: InspectedNode): boolean {
  return console.type !== "none" && console.type !== "vnc";
}
