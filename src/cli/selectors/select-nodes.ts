import { didYouMean } from "../../intent/diagnostics/nearest.ts";
import { UsageError } from "../command/usage-error.ts";

export interface SelectableNode {
  readonly key: string;
  /** Its template, and its kind in the intent. */
  readonly kinds: readonly string[];
  readonly groups: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** Returns whether a word selects nodes by a pattern, kind, group or label instead of by name. */
export function isSelector(word: string): boolean {
  return /[*?=:]/.test(word);
}

/**
 * Returns the keys of the nodes that the words choose, in the order of `nodes`. A word is a name, a pattern with * and ?, kind:NAME, group:NAME or
 * label:KEY=VALUE, or kind=NAME and KEY=VALUE as older releases had it. Throws UsageError for a word that chooses no node.
 */
export function selectNodes(words: readonly string[], nodes: readonly SelectableNode[], lab: string): readonly string[] {
  const chosen = new Set<string>();
  for (const word of words) {
    const found = nodes.filter((node) => node.key === word || matches(word, node));
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

function matches(word: string, { key, kinds, groups, labels }: SelectableNode): boolean {
  const { by, name, value } = parsed(word);
  if (by === "name") return matchesPattern(value, key);
  if (by === "kind") return kinds.some((kind) => matchesPattern(value, kind));
  if (by === "group") return groups.some((group) => matchesPattern(value, group));
  return Object.hasOwn(labels, name) && matchesPattern(value, labels[name] ?? "");
}

function parsed(word: string): { readonly by: "name" | "kind" | "group" | "label"; readonly name: string; readonly value: string } {
  const [, by, rest = ""] = /^(kind|group|label):(.*)$/s.exec(word) ?? [];
  if (by === "kind" || by === "group") return { by, name: "", value: rest };
  const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(by === "label" ? rest : word) ?? [];
  if (by === undefined && name === "kind") return { by: "kind", name: "", value };
  if (by === "label" || name !== "") return { by: "label", name, value };
  return { by: "name", name: "", value: word };
}

/** Returns a hint with names that the user may have meant. */
function nearOf(word: string, nodes: readonly SelectableNode[]): string {
  const { by, name, value } = parsed(word);
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

/** Compares with a pattern in linear space: no pattern takes exponential time. */
function matchesPattern(pattern: string, text: string): boolean {
  let [at, star, from] = [0, -1, 0];
  for (let next = 0; next < text.length; ) {
    if (pattern[at] === "*") {
      star = at++;
      from = next;
    } else if (pattern[at] === "?" || pattern[at] === text[next]) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      at = star + 1;
      next = ++from;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
