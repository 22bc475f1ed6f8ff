import { createHash } from "node:crypto";

/**
 * The address of a node's interface: locally administered, the same at every start. Two bytes tell the lab (labs may meet behind one
 * NAT), two the node, one the interface, so that no two interfaces of a lab share one.
 */
export function macAddress(lab: string, node: number, index: number): string {
  if (last.lab !== lab) last = { lab, prefix: prefixOf(lab) };
  return `${last.prefix}:${byte(node >> 8)}:${byte(node)}:${byte(index)}`;
}

/** They are asked for lab by lab. */
let last = { lab: "", prefix: "" };

function prefixOf(lab: string): string {
  const hash = createHash("sha256").update(lab).digest();
  return `02:${byte(hash[0]!)}:${byte(hash[1]!)}`;
}

function byte(value: number): string {
  return (value & 0xff).toString(16).padStart(2, "0");
}
