import { shellWord } from "../../base/shell-word.ts";
import { Failure } from "../../contract/errors.ts";
import type { Caller } from "../common/call.ts";
import { rightOn } from "../sessions/rights.ts";
import type { LookupParts, StorePart } from "./parts.ts";
import { pathNamed } from "./quarantine.ts";
import type { Target } from "./target.ts";

/**
 * Returns the lab's new path if it was moved or renamed on the host and is not managed there. `undefined` if the host has no such lab, or cannot find
 * a lab by its id. Called for a record whose path has no lab.
 */
export async function movedTo(
  { store }: StorePart,
  { host, path, record }: Pick<Target, "host" | "path" | "record">,
): Promise<string | undefined> {
  if (record?.labId === undefined || host.findLab === undefined) return undefined;
  const found = await host.findLab(record.labId);
  return found === undefined || found === path || store.labs.get(found) !== undefined ? undefined : found;
}

/** Throws operation_not_allowed before a change that would create the lab a second time, at its old path. */
export async function refuseMoved(context: StorePart, target: Pick<Target, "host" | "path" | "record">): Promise<void> {
  const to = await movedTo(context, target);
  if (to === undefined) return;
  throw new Failure("operation_not_allowed", `${movedText(target.path, to)} Nothing was changed`, { data: { moved_to: to } });
}

/** Returns the error to answer in place of lab_not_found: it names the new path of a lab that the caller has a right on. */
export async function explainMoved(context: LookupParts, caller: Caller, request: unknown, error: Failure): Promise<Failure> {
  const path = await pathNamed(context, request);
  const record = path === undefined ? undefined : context.store.labs.get(path);
  if (path === undefined || record === undefined || rightOn(record, caller) === undefined) return error;
  try {
    const to = await movedTo(context, { host: await context.sessions.hostSessionFor(caller, record.owner), path, record });
    if (to === undefined) return error;
    return new Failure("lab_not_found", movedText(path, to), { data: { ...error.data, moved_to: to }, cause: error });
  } catch (unread) {
    // Without the list of labs, the lab is missing.
    if (unread instanceof Failure) return error;
    throw unread;
  }
}

/** Returns the new path and the next step, for people. */
export function movedText(path: string, to: string): string {
  return (
    `The lab ${path} was moved or renamed on the host and is now ${to}. Move it back on the host; or make it managed at its new path with ` +
    `labwright adopt ${shellWord(to)}, and remove the old entry with labwright destroy --lab ${shellWord(path)}.`
  );
}
