import type { KnownInterfaces } from "../../drawing/interface-names.ts";
import type { IntentText } from "../../intent/intent-text.ts";
import { call } from "../../service/api.ts";

/** Reads the free interfaces of the nodes of a text, as its host names them. */
export async function freeInterfaces({ yaml, files }: IntentText): Promise<KnownInterfaces> {
  const { items = [] } = await call("completeLinkInterfaces", { yaml, files, excludeUsed: true });
  const names = new Map<string, string[]>();
  for (const { node, name, type } of items) if (type === "ethernet") names.set(node, [...(names.get(node) ?? []), name]);
  return names;
}
