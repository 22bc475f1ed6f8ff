import { useLayoutEffect, useRef } from "preact/hooks";
import type { Graph } from "../../topology/graph/graph.ts";
import { followed, identities } from "./followed.ts";
import type { Selection } from "./use-selection.ts";

/** Keeps parts selected whose ids change. */
export function useFollowedSelection(graph: Graph, { selected, selectAll }: Selection): void {
  const known = useRef<ReadonlyMap<string, string>>(new Map());
  useLayoutEffect(() => {
    if (selected.size === 0) return;
    const now = identities(graph);
    const before = known.current;
    known.current = new Map([...selected].flatMap((id) => [...entryOf(id, now, before)]));
    const next = followed(selected, before, now);
    if (next !== selected) selectAll(next);
  }, [graph, selected]);
}

function entryOf(
  id: string,
  now: ReadonlyMap<string, string>,
  before: ReadonlyMap<string, string>,
): readonly (readonly [string, string])[] {
  const identity = now.get(id) ?? before.get(id);
  return identity === undefined ? [] : [[id, identity]];
}
