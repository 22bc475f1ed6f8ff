import { shellWord } from "../../base/shell-word.ts";
import { Failure } from "../../contract/errors.ts";
import type { Target } from "./address.ts";
import type { Context } from "./context.ts";

/**
 * Returns the path at which the host now has the lab of a record, if somebody moved or renamed it on the host and nobody manages it there. undefined: the host
 * has no such lab, or cannot find a lab by its id. Called for a record whose path has no lab.
 */
export async function movedTo(
  { store }: Pick<Context, "store">,
  { host, path, record }: Pick<Target, "host" | "path" | "record">,
): Promise<string | undefined> {
  if (record?.labId === undefined || host.findLab === undefined) return undefined;
  const found = await host.findLab(record.labId);
  return found === undefined || found === path || store.labs.get(found) !== undefined ? undefined : found;
}

/** Before a change that would make the lab a second time at its old path. Throws operation_not_allowed. */
export async function refuseMoved(context: Pick<Context, "store">, target: Pick<Target, "host" | "path" | "record">): Promise<void> {
  const to = await movedTo(context, target);
  if (to === undefined) return;
  throw new Failure("operation_not_allowed", `${movedText(target.path, to)} Nothing was changed`, { data: { moved_to: to } });
}

/** Returns the new path and the next step, for people. */
export function movedText(path: string, to: string): string {
  return (
    `The lab ${path} was moved or renamed on the host and is now ${to}. Move it back on the host; or make it managed at its new path with ` +
    `labwright adopt ${shellWord(to)}, and remove the old entry with labwright destroy --lab ${shellWord(path)}.`
  );
}
