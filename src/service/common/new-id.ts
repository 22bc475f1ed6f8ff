import { randomBytes } from "node:crypto";

/** Returns a new id for a job, or for the identity of a lab's record. */
export function newId(): string {
  return randomBytes(12).toString("hex");
}
