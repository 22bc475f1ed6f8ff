import type { LabNode } from "../../intent/lab/lab.ts";

/**
 * The fields of a node that are compared one by one. Not among them: key (its identity), template (always recreates), start (power) and
 * startupConfigFile (where the text came from; the text is compared).
 */
export const nodeFields = [
  "name",
  "image",
  "icon",
  "startupConfig",
  "exec",
  "cpu",
  "ram",
  "ethernet",
  "position",
  "env",
  "attributes",
  "labels",
] as const satisfies readonly (keyof LabNode)[];

export type NodeField = (typeof nodeFields)[number];

// A field added to LabNode does not compile until it is compared above or named here.
type Handled = NodeField | "key" | "template" | "start" | "startupConfigFile";
const everyFieldIsHandled: [Exclude<keyof LabNode, Handled>] extends [never] ? true : never = true;
void everyFieldIsHandled;

/** The user's word for a field of Lab, as in the YAML. */
export function fieldWord(field: string): string {
  return words[field] ?? field;
}

const words: Readonly<Record<string, string>> = { startupConfig: "startup-config", trafficFilters: "traffic_filters" };
