import type { LabDefinition } from "../definitions/definition.ts";
import type { Definitions, PutOptions } from "../definitions/definitions.ts";

/** Writes the definition, with the lock that it has on disk now. */
export function put(definitions: Definitions, after: LabDefinition, options?: PutOptions): Promise<void> {
  return definitions.change(after.path, (now) => ({ ...after, locked: now.locked }), options);
}
