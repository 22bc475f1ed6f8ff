import { createHash } from "node:crypto";

/**
 * The address of a node's interface: locally administered, the same at every start. Two bytes tell the lab (labs may meet behind one
 * NAT), two the node, one the interface, so that no two interfaces of a lab share one.
 */
export function macAddress(lab: string, node: number, index: number): string {
  const hash = createHash("sha256").update(lab).digest();
  const bytes = [0x02, hash[0]!, hash[1]!, (node >> 8) & 0xff, node & 0xff, index & 0xff];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}
