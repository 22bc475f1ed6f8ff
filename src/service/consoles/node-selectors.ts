import { Failure } from "../../contract/errors.ts";
import { didYouMean } from "../../intent/diagnostics/nearest.ts";

export interface SelectableNode {
  readonly key: string;
  readonly template: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Returns the keys of the selected nodes, in the order of `nodes`. A selector is a key, a pattern with * and ?, kind=TEMPLATE, or LABEL=VALUE. Throws
 * node_not_found for a selector without a node.
 */
export function selectNodes(selectors: readonly string[], nodes: readonly SelectableNode[], lab: string): ReadonlySet<string> {
  const chosen = new Set<string>();
  for (const selector of selectors) {
    const found = nodes.filter((node) => node.key === selector || matches(selector, node));
    if (found.length === 0) {
      const keys = nodes.map(({ key }) => key);
      const meant = isSelector(selector) ? undefined : didYouMean(selector, keys, { left: 1_000_000 });
      const what = isSelector(selector) ? `no node for ${selector}` : `no node ${selector}`;
      throw new Failure("node_not_found", `${lab} has ${what}${meant === undefined ? "" : `; ${meant}`}`);
    }
    for (const { key } of found) chosen.add(key);
  }
  return new Set(nodes.map(({ key }) => key).filter((key) => chosen.has(key)));
}

function isSelector(text: string): boolean {
  return /[*?=]/.test(text);
}

function matches(selector: string, { key, template, labels }: SelectableNode): boolean {
  const equals = selector.indexOf("=");
  if (equals > 0) {
    const [name, value] = [selector.slice(0, equals), selector.slice(equals + 1)];
    return name === "kind" ? matchesPattern(value, template) : Object.hasOwn(labels, name) && matchesPattern(value, labels[name] ?? "");
  }
  return isSelector(selector) && matchesPattern(selector, key);
}

/** Compares with a pattern in linear space: a regular expression of a user could take exponential time. */
function matchesPattern(pattern: string, text: string): boolean {
  let [at, star, from] = [0, -1, 0];
  let next = 0;
  while (next < text.length) {
    if (at < pattern.length && (pattern[at] === "?" || (pattern[at] === text[next] && pattern[at] !== "*"))) {
      at += 1;
      next += 1;
    } else if (pattern[at] === "*") {
      star = at;
      from = next;
      at += 1;
    } else if (star >= 0) {
      at = star + 1;
      from += 1;
      next = from;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
