import type { Place, Problems } from "../diagnostics/problems.ts";
import type { NodeFields } from "./node-fields.ts";
import type { ReadFile } from "./node-files.ts";

/** Template → the file in its nodes that is written from startup-config. */
const configFiles: Readonly<Record<string, string>> = { frr: "/etc/frr/frr.conf" };
/** Files that choose daemons in other systems. */
const daemonFiles: Readonly<Record<string, string>> = { frr: "/etc/frr/daemons" };

/**
 * Takes a file or bind that is the configuration of the node as its startup-config, as labs for containerlab have it. Otherwise the node would replace the
 * file when it boots. Warns if there is a startup-config too, and of a file that chooses the daemons.
 */
export function takeConfigFile(problems: Problems, template: string, fields: NodeFields, place: Place, path: string): NodeFields {
  const daemons = daemonFiles[template] ?? "";
  if (fileAt(fields, daemons) !== undefined) {
    const message = `the file ${daemons} chooses no daemons: a node starts those that its configuration uses`;
    problems.warn("ignored_key", place, path, message, "for others: attributes: {daemons: ospfd bgpd}");
  }
  const name = configFiles[template] ?? "";
  const file = fileAt(fields, name);
  if (file === undefined) return fields;
  const without = {
    ...fields,
    ...(fields.files != null && { files: withoutFile(fields.files, name) }),
    ...(fields.binds != null && { binds: withoutFile(fields.binds, name) }),
  };
  if (fields.startupConfig == null)
    return { ...without, startupConfig: { text: file.text, ...(file.from !== undefined && { file: file.from }) } };
  const message = `the file ${name} has no effect, because the node has a startup-config, which becomes this file`;
  problems.warn("ignored_key", place, path, message, "remove one of the two");
  return without;
}

function fileAt({ files, binds }: NodeFields, name: string): ReadFile | undefined {
  const own = files?.get(name);
  return own === undefined ? (binds?.get(name) ?? undefined) : (own ?? undefined);
}

function withoutFile<T>(files: ReadonlyMap<string, T>, name: string): ReadonlyMap<string, T> {
  return new Map([...files].filter(([path]) => path !== name));
}
