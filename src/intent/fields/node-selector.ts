/** Selectors of nodes, as commands and tests have them: a pattern with * and ?, kind:NAME, group:NAME or label:KEY=VALUE. */

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

/** Returns whether the word selects the node. A word is a name or a selector; kind=NAME and KEY=VALUE are those of older releases. */
export function selects(word: string, { key, kinds, groups, labels }: SelectableNode): boolean {
  if (word === key) return true;
  const { by, name, value } = parsedSelector(word);
  if (by === "name") return matchesPattern(value, key);
  if (by === "kind") return kinds.some((kind) => matchesPattern(value, kind));
  if (by === "group") return groups.some((group) => matchesPattern(value, group));
  return Object.hasOwn(labels, name) && matchesPattern(value, labels[name] ?? "");
}

/** Returns the parts of a word. `name` is the key of a label. */
export function parsedSelector(word: string): {
  readonly by: "name" | "kind" | "group" | "label";
  readonly name: string;
  readonly value: string;
} {
  const [, by, rest = ""] = /^(kind|group|label):(.*)$/s.exec(word) ?? [];
  if (by === "kind" || by === "group") return { by, name: "", value: rest };
  const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(by === "label" ? rest : word) ?? [];
  if (by === undefined && name === "kind") return { by: "kind", name: "", value };
  if (by === "label" || name !== "") return { by: "label", name, value };
  return { by: "name", name: "", value: word };
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
