import { canonicalLab, sameData } from "../../intent/lab/canonical.ts";
import type { Lab } from "../../intent/lab/lab.ts";

/** Returns the lab with the changes of two edits of `base`; undefined if both change the same part, or one links a part that the other deletes. */
export function mergedLabs(base: Lab, mine: Lab, theirs: Lab): Lab | undefined {
  const [from, a, b] = [canonicalLab(base), canonicalLab(mine), canonicalLab(theirs)];
  const merged: Record<string, unknown> = {};
  for (const field of new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof Lab>) {
    const parts = field === "nodes" || field === "networks" || field === "links";
    const value = parts ? mergedParts(from[field], a[field], b[field]) : mergedValue(from[field], a[field], b[field]);
    if (value === conflict) return undefined;
    if (value !== undefined) merged[field] = value;
  }
  const lab = merged as unknown as Lab;
  const keys = new Set([...lab.nodes, ...lab.networks].map(({ key }) => key));
  if (keys.size < lab.nodes.length + lab.networks.length) return undefined;
  const used = new Set<string>();
  for (const end of lab.links.flatMap(({ endpoints }) => endpoints)) {
    if (!keys.has("node" in end ? end.node : end.network)) return undefined;
    if (!("node" in end)) continue;
    const name = `${end.node}:${end.interface}`;
    if (used.has(name)) return undefined;
    used.add(name);
  }
  return lab;
}

const conflict = Symbol("both changed it");

function mergedValue<T>(base: T, mine: T, theirs: T): T | typeof conflict {
  if (sameData(mine, base)) return theirs;
  return sameData(theirs, base) || sameData(theirs, mine) ? mine : conflict;
}

interface Part {
  readonly key: string;
}

function mergedParts(base: readonly Part[], mine: readonly Part[], theirs: readonly Part[]): readonly Part[] | typeof conflict {
  const byKey = (parts: readonly Part[]) => new Map(parts.map((part) => [part.key, part] as const));
  const [from, a, b] = [byKey(base), byKey(mine), byKey(theirs)];
  const merged: Part[] = [];
  for (const key of new Set([...b.keys(), ...a.keys()])) {
    const part = mergedValue(from.get(key), a.get(key), b.get(key));
    if (part === conflict) return conflict;
    if (part !== undefined) merged.push(part);
  }
  return merged;
}
