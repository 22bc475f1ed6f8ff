import { randomBytes } from "node:crypto";

/** Of a job, or the identity of a lab's record. */
export function newId(): string {
  return randomBytes(12).toString("hex");
}
