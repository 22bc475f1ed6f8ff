import type { Graph } from "../../topology/graph/graph.ts";

/** Returns the identities of the parts of a drawing by their ids: an id changes when a new part is applied and gets that of the host. */
export function identities({ nodes, links }: Pick<Graph, "nodes" | "links">): ReadonlyMap<string, string> {
  return new Map([
    ...nodes.flatMap(({ id, kind, key }) => (key === null ? [] : [[id, `${kind}:${key}`] as const])),
    ...links.map(({ id, key }) => [`link:${id}`, `link:${key}`] as const),
  ]);
}

/**
 * Returns the selection with the ids that its parts have now. A part that is not drawn keeps its id: it may be drawn again.
 * @param before the identities of the selected parts when they were drawn last
 */
export function followed(
  selected: ReadonlySet<string>,
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): ReadonlySet<string> {
  const ids = new Map([...now].map(([id, identity]) => [identity, id]));
  const next = [...selected].map((id) => (now.has(id) ? id : (ids.get(before.get(id) ?? "") ?? id)));
  return next.every((id) => selected.has(id)) ? selected : new Set(next);
}
