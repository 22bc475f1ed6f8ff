import { createHash } from "node:crypto";

/**
 * Returns the address of a node's interface: locally administered, and the same at every start. Two bytes come from the lab (labs may meet behind one NAT), two
 * from the node and one from the interface, so that it is unique in the lab.
 */
export function macAddress(lab: string, node: number, index: number): string {
  if (last.lab !== lab) last = { lab, prefix: prefixOf(lab) };
  return `${last.prefix}:${byte(node >> 8)}:${byte(node)}:${byte(index)}`;
}

/** Index of the interface in the management network: no link's interface has it. */
export const managementIndex = 255;

/** Caches the prefix of the last lab, because calls come lab by lab. */
let last = { lab: "", prefix: "" };

function prefixOf(lab: string): string {
  const hash = createHash("sha256").update(lab).digest();
  return `02:${byte(hash[0]!)}:${byte(hash[1]!)}`;
}

function byte(value: number): string {
  return (value & 0xff).toString(16).padStart(2, "0");
}
