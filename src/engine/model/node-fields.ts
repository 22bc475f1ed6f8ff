import type { LabNode } from "../../intent/lab/lab.ts";

/**
 * The fields of a node that are compared one by one. Left out: key (its identity), template (always recreates), start (power), pull (only for the next start),
 * startupConfigFile and fileSources (the sources of texts; the texts are compared).
 */
export const nodeFields = [
  "name",
  "image",
  "icon",
  "kernel",
  "startupConfig",
  "files",
  "binds",
  "switching",
  "ports",
  "mgmtIpv4",
  "mgmtIpv6",
  "sshKeys",
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

// A field added to LabNode does not compile until it is compared above or listed here.
type Handled = NodeField | "key" | "template" | "start" | "pull" | "startupConfigFile" | "fileSources";
const everyFieldIsHandled: [Exclude<keyof LabNode, Handled>] extends [never] ? true : never = true;
void everyFieldIsHandled;

/** Returns a field's name as in the YAML. */
export function fieldWord(field: string): string {
  return words[field] ?? field;
}

const words: Readonly<Record<string, string>> = {
  startupConfig: "startup-config",
  trafficFilters: "traffic_filters",
  mgmtIpv4: "mgmt-ipv4",
  mgmtIpv6: "mgmt-ipv6",
  sshKeys: "ssh-keys",
};
