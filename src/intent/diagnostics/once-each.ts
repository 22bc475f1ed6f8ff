import type { Diagnostic } from "./diagnostic.ts";

/**
 * Returns the first of several diagnostics with the same problem at the same place, with the number of the others: nodes inherit a value from one line.
 * @param about the resource and the problem of the diagnostic with this index
 */
export function onceEach(
  diagnostics: readonly Diagnostic[],
  about: (index: number) => { readonly of: string; readonly problem: string },
): readonly Diagnostic[] {
  const groups = new Map<string, { readonly first: Diagnostic; readonly keys: Set<string> }>();
  for (const [i, diagnostic] of diagnostics.entries()) {
    const { of, problem } = about(i);
    const same = JSON.stringify([diagnostic.code, diagnostic.path, problem]);
    const group = groups.get(same);
    if (group === undefined) groups.set(same, { first: diagnostic, keys: new Set([of]) });
    else group.keys.add(of);
  }
  return [...groups.values()].map(({ first, keys }) =>
    keys.size === 1 ? first : { ...first, message: `${first.message} (the same for ${keys.size - 1} more)` },
  );
}
