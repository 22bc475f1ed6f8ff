import { Failure } from "../../contract/errors.ts";
import { mayReadSecrets } from "./allow.ts";
import type { Target } from "./target.ts";

/**
 * Runs work on a text that is not the caller's own. If the text has errors and the caller may not read its secrets, the failure quotes nothing of it: neither
 * its lines, nor messages that repeat values. Throws invalid_intent.
 */
export async function unquoted<T>(target: Pick<Target, "record" | "caller" | "path">, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "invalid_intent" || mayReadSecrets(target)) throw error;
    const message = `lab ${target.path} has something that its text cannot hold or its host does not take; someone with the right to edit the lab is shown where and why`;
    throw new Failure("invalid_intent", message, { data: { diagnostics: [] }, cause: error });
  }
}
