import { didYouMean } from "../../intent/diagnostics/nearest.ts";
import { parsedSelector, type SelectableNode, selects } from "../../intent/fields/node-selector.ts";
import { UsageError } from "../command/usage-error.ts";

/**
 * Returns the keys of the nodes that the words choose, in the order of `nodes`. A word is a name, a pattern with * and ?, kind:NAME, group:NAME or
 * label:KEY=VALUE, or kind=NAME and KEY=VALUE as older releases had it. Throws UsageError for a word that chooses no node.
 */
export function selectNodes(words: readonly string[], nodes: readonly SelectableNode[], lab: string): readonly string[] {
  const chosen = new Set<string>();
  for (const word of words) {
    const found = nodes.filter((node) => selects(word, node));
    if (found.length === 0) throw new UsageError(`${lab} has no node for "${word}"`, nearOf(word, nodes));
    for (const { key } of found) chosen.add(key);
  }
  return nodes.map(({ key }) => key).filter((key) => chosen.has(key));
}

/** Returns the selectors by kind, group and label that choose any of the nodes and need no quotes in a shell, sorted. */
export function selectorsOf(nodes: readonly SelectableNode[]): readonly string[] {
  const words = nodes.flatMap(({ kinds, groups, labels }) => [
    ...kinds.map((kind) => `kind:${kind}`),
    ...groups.map((group) => `group:${group}`),
    // The first = ends the key.
    ...Object.entries(labels).flatMap(([key, value]) => (key.includes("=") ? [] : [`label:${key}=${value}`])),
  ]);
  return [...new Set(words.filter((word) => /^[\w.:=@/+-]+$/.test(word)))].sort();
}

/** Returns a hint with names that the user may have meant. */
function nearOf(word: string, nodes: readonly SelectableNode[]): string {
  const { by, name, value } = parsedSelector(word);
  const offered = {
    name: nodes.map(({ key }) => key),
    kind: nodes.flatMap(({ kinds }) => kinds),
    group: nodes.flatMap(({ groups }) => groups),
    label: nodes.flatMap(({ labels }) => Object.entries(labels).map(([key, text]) => `label:${key}=${text}`)),
  };
  const known = [...new Set(offered[by])].sort();
  const [, template] = /^template[:=](.+)$/s.exec(word) ?? [];
  if (template !== undefined) return `kind:${template} selects nodes by their template`;
  const meant = didYouMean(by === "label" ? `label:${name}=${value}` : value, known, { left: 1_000_000 });
  if (meant !== undefined) return meant;
  if (known.length === 0) return by === "group" ? "groups are known from the lab's file: name it with -t" : `no node has a ${by}`;
  return `there ${known.length === 1 ? "is" : "are"} ${known.slice(0, 8).join(", ")}${known.length > 8 ? ", …" : ""}`;
}
