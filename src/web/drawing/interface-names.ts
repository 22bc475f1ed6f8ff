import type { LabNode } from "../../intent/lab/lab.ts";

/** Interfaces of a node that exists on the host, by its key in the intent. */
export type KnownInterfaces = ReadonlyMap<string, readonly string[]>;

/** Most interfaces that are tried on a node without known ones. */
const maxTried = 256;

/**
 * Returns the names of a node's interfaces, in the order in which new links take them: those that the host lists; further ones, and those of a new
 * node, continue the names that the lab uses for the same template, else eth1, eth2 …
 * @param used names of interfaces that links use, by template
 */
export function interfaceNames(known: KnownInterfaces, used: ReadonlyMap<string, readonly string[]>): (node: LabNode) => Iterable<string> {
  return function* (node) {
    const listed = known.get(node.key) ?? [];
    yield* listed;
    const example = listed.at(-1) ?? used.get(node.template)?.[0] ?? "eth1";
    const [, prefix = "eth", digits = "1"] = /^(.*?)(\d+)$/.exec(example) ?? [];
    const first = listed.length === 0 ? Math.min(Number(digits), 1) : 0;
    for (let number = first; number < maxTried; number++) yield `${prefix}${number}`;
  };
}
