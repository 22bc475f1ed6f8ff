import { useMemo, useState } from "preact/hooks";
import type { InspectionData } from "../../contract/schemas/observe.ts";
import { savePositions } from "../intent/edit-intent.ts";
import { declaredPlace, type Graph, graphOf } from "../topology/graph/graph.ts";
import { contestedMoves, type HostPlaces, type Moves, shownPlaces, unsavedMoves, withMove } from "../topology/graph/moves.ts";
import { cachedLayout } from "../topology/layout/cached-layout.ts";
import type { Place } from "../topology/layout/layout.ts";

/** Progress of saving: running, or its result. */
export interface SaveState {
  readonly busy?: boolean;
  readonly notice?: string;
  readonly error?: unknown;
}

/** The drawing of a lab with the moves of its nodes that are not saved yet. */
export interface MovedGraph {
  readonly graph: Graph;
  readonly unsavedCount: number;
  /** Labels of unsaved nodes that another user has moved meanwhile. */
  readonly contested: readonly string[];
  readonly saving: SaveState;
  readonly move: (id: string, at: Place) => void;
  readonly undo: () => void;
  readonly save: () => Promise<void>;
}

/** @param onSaved called after saving, also if it failed */
export function useMoves(lab: string, inspection: InspectionData, onSaved: () => void): MovedGraph {
  const [moves, setMoves] = useState<Moves>(new Map());
  const [saving, setSaving] = useState<SaveState>({});
  const layout = useMemo(cachedLayout, []);
  const host = useMemo(() => hostPlaces(inspection), [inspection]);
  const graph = useMemo(() => graphOf(inspection, { moved: shownPlaces(moves, host), layout }), [inspection, moves]);
  const unsaved = useMemo(() => new Set(unsavedMoves(moves, host)), [moves, host]);
  const contested = useMemo(() => contestedMoves(moves, host), [moves, host]);
  const save = async () => {
    setSaving({ busy: true });
    // Computed positions are saved too: a later layout around the moved nodes would change them.
    const kept = graph.nodes.filter(({ id, autoPlaced }) => autoPlaced || unsaved.has(id));
    const positionsOf = (kind: "node" | "network") =>
      new Map(kept.flatMap(({ kind: own, key, at }) => (own === kind && key !== null ? [[key, at] as const] : [])));
    const unknown = kept.filter(({ id, key }) => key === null && unsaved.has(id)).map(({ label }) => label);
    try {
      const { applied } = await savePositions(lab, { nodes: positionsOf("node"), networks: positionsOf("network") });
      setMoves((all) => new Map([...all, ...kept.map(({ id, at }) => [id, { at, base: host.get(id), saved: true }] as const)]));
      const saved = applied
        ? "Saved."
        : "Saved to the intent. The host gets the positions when you apply the other changes that wait in the text.";
      setSaving({ notice: unknown.length === 0 ? saved : `${saved} Not saved, because not in the intent: ${unknown.join(", ")}.` });
    } catch (error) {
      setSaving({ error });
    }
    onSaved();
  };
  return {
    graph,
    unsavedCount: unsaved.size,
    contested: graph.nodes.flatMap(({ id, label }) => (contested.includes(id) ? [label] : [])),
    saving,
    move: (id, at) => {
      setMoves((all) => withMove(all, host, id, at));
      setSaving({});
    },
    undo: () => {
      setMoves((all) => new Map([...all].filter(([id]) => !unsaved.has(id))));
      setSaving({});
    },
    save,
  };
}

/** Returns the host's positions by id in the drawing. */
function hostPlaces({ nodes, networks }: InspectionData): HostPlaces {
  return new Map([
    ...nodes.map((node) => [node.id, declaredPlace(node)] as const),
    ...networks.map(({ id, position }) => [`net:${id}`, position] as const),
  ]);
}
