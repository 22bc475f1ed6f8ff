import type { Lab, LabFile, LabNode } from "../../intent/lab/lab.ts";
import type { Action, Change } from "../model/plan.ts";
import { hidden, isSensitive } from "../model/sensitive.ts";
import { maskText } from "./secret-words.ts";

/**
 * Returns the lab without its secrets, which read "(sensitive)": values of env variables and attributes with a sensitive name, and text after a word
 * such as password, secret, key or community in configurations and commands.
 */
export function maskLab(lab: Lab): Lab {
  return { ...lab, nodes: lab.nodes.map(maskNode) };
}

/** Returns a host's lab without its secrets, as maskLab. Two masked labs differ only in their public parts. */
export function maskObserved<L extends { readonly nodes: readonly WithSecrets[] }>(lab: L): L {
  return { ...lab, nodes: lab.nodes.map(maskNode) };
}

type WithSecrets = Pick<LabNode, "env" | "attributes" | "exec" | "startupConfig" | "files">;

function maskNode<N extends WithSecrets>(node: N): N {
  return {
    ...node,
    env: maskValues(node.env),
    attributes: maskValues(node.attributes),
    exec: node.exec.map(maskText),
    ...(node.startupConfig !== undefined && { startupConfig: maskText(node.startupConfig) }),
    ...(node.files !== undefined && { files: filesWith(node.files, ({ text }) => maskText(text)) }),
  };
}

function filesWith(files: Files, textOf: (file: LabFile, path: string) => string): Files {
  return Object.fromEntries(Object.entries(files).map(([path, file]) => [path, { ...file, text: textOf(file, path) }]));
}

type Files = Readonly<Record<string, LabFile>>;

function maskValues<T>(values: Readonly<Record<string, T>>): Readonly<Record<string, T | typeof hidden>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, isSensitive(name) ? hidden : value]));
}

/** Fields of a change whose text may contain secrets. Sensitive env and attributes are hidden in every plan. */
const texts: ReadonlySet<string> = new Set(["startup-config", "exec"]);

/** Returns an action or step without the secrets in its changes. */
export function maskAction<A extends Pick<Action, "changes">>(action: A): A {
  return { ...action, changes: action.changes.map(maskChange) };
}

function maskChange(change: Change): Change {
  if (!texts.has(change.field) && !change.field.startsWith("files.")) return change;
  const [before, after] = [maskValue(change.before), maskValue(change.after)];
  // The values may be masked already.
  return [before, after].some(hasHidden) ? { ...change, before, after, sensitive: true } : change;
}

function hasHidden(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasHidden);
  return typeof value === "string" && value.includes(hidden);
}

function maskValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskValue);
  return typeof value === "string" ? maskText(value) : value;
}

function knownText(files: Files | undefined, path: string): readonly string[] {
  return files !== undefined && Object.hasOwn(files, path) ? [files[path]?.text ?? ""] : [];
}

/** Replaces masked secrets in an edited lab by their known values. `lost` lists masked values that are not known. */
export function unmaskLab(lab: Lab, known: Lab): { readonly lab: Lab; readonly lost: readonly string[] } {
  const before = new Map(known.nodes.map((node) => [node.key, node]));
  const lost: string[] = [];
  const nodes = lab.nodes.map((node): LabNode => {
    const was = before.get(node.key);
    const values = <T>(part: "env" | "attributes", now: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
      Object.fromEntries(
        Object.entries(now).map(([name, value]) => {
          if (value !== hidden || !isSensitive(name)) return [name, value];
          const old = was?.[part];
          if (old === undefined || !Object.hasOwn(old, name)) lost.push(`/nodes/${node.key}/${part}/${name}`);
          return [name, (old?.[name] ?? value) as T];
        }),
      );
    const text = (part: string, now: string, candidates: readonly string[]): string => {
      if (!now.includes(hidden)) return now;
      const same = candidates.find((old) => maskText(old) === now);
      if (same === undefined) lost.push(`/nodes/${node.key}/${part}`);
      return same ?? now;
    };
    return {
      ...node,
      env: values("env", node.env),
      attributes: values("attributes", node.attributes),
      exec: node.exec.map((command, index) => text(`exec/${index}`, command, was?.exec ?? [])),
      ...(node.files !== undefined && {
        files: filesWith(node.files, (file, path) => text(`files/${path}`, file.text, knownText(was?.files, path))),
      }),
      ...(node.startupConfig !== undefined && {
        startupConfig: text("startup-config", node.startupConfig, was?.startupConfig === undefined ? [] : [was.startupConfig]),
      }),
    };
  });
  return { lab: { ...lab, nodes }, lost };
}
