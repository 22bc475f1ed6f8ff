import type { Field } from "../fields/fields.ts";
import { bindText, type MachineBind } from "../lab/machine-bind.ts";

/** Path in the node → the bind. */
export type MachineBinds = ReadonlyMap<string, MachineBind>;

/** Returns the binds of paths of the machine in a list of binds. readBinds reports problems, also of these. */
export function readMachineBinds({ value }: Field): MachineBinds {
  const texts = value.kind === "list" ? value.items.flatMap((item) => (item.kind === "scalar" ? [item.text] : [])) : [];
  return new Map(texts.flatMap((text) => machineBindOf(text) ?? []).map((bind) => [bind.target, bind]));
}

/** Returns the bind of containerlab's SOURCE:TARGET[:OPTIONS] if SOURCE is a plain absolute path and TARGET one of a node. Only the option rw has an effect. */
export function machineBindOf(text: string): MachineBind | undefined {
  const [from = "", to = "", options = "", ...more] = text.split(":");
  const [source, target] = [from, to].map((path) => path.replace(/(.)\/+$/, "$1")) as [string, string];
  if (more.length > 0 || !isPlainPath(source) || !isNodePath(target)) return undefined;
  return { source, target, writable: options.split(",").includes("rw") };
}

/** Returns whether a node can have a file of its own there. */
export function isNodePath(path: string): boolean {
  return isPlainPath(path) && !/^\/(proc|sys|dev|etc\/labwright)(\/|$)/.test(path);
}

/** Absolute, without . and .. and without control characters; not the root. */
function isPlainPath(path: string): boolean {
  const parts = path.split("/").slice(1);
  if (!path.startsWith("/") || path.length > 1024 || parts.some((part) => part === "" || part === "." || part === "..")) return false;
  return [...path].every((character) => character >= " " && character !== "\u007f");
}

/** Returns the field of a node for its binds. A file of the same path wins. */
export function bindsOf(
  binds: MachineBinds | null | undefined,
  files: ReadonlyMap<string, unknown> | null | undefined,
): { readonly binds?: readonly string[] } {
  const texts = [...(binds ?? [])].flatMap(([target, bind]) => (files?.get(target) == null ? [bindText(bind)] : []));
  return texts.length === 0 ? {} : { binds: texts.sort() };
}
