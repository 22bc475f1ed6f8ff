import type { Place } from "../layout/layout.ts";

/** A new position that the user gave a node or a network in the drawing. */
export interface Move {
  readonly at: Place;
  /** The host's position before the first move; undefined: none. */
  readonly base: Place | undefined;
  /** Whether it is saved to the intent. The host may not have it yet. */
  readonly saved: boolean;
}

/** Moves by id in the drawing. */
export type Moves = ReadonlyMap<string, Move>;

/** The host's current positions, by id in the drawing. */
export type HostPlaces = ReadonlyMap<string, Place | undefined>;

/** Returns the positions that differ from the host's. A saved move ends when the host's position changes, to the saved one or to another user's. */
export function shownPlaces(moves: Moves, host: HostPlaces): ReadonlyMap<string, Place> {
  const shown = [...moves].filter(([id, { saved, base }]) => host.has(id) && (!saved || same(base, host.get(id))));
  return new Map(shown.map(([id, { at }]) => [id, at]));
}

/** Returns the ids of moves that are not saved. */
export function unsavedMoves(moves: Moves, host: HostPlaces): readonly string[] {
  return [...moves].flatMap(([id, { saved }]) => (saved || !host.has(id) ? [] : [id]));
}

/** Returns the ids of unsaved moves whose node another user has moved meanwhile: saving would overwrite that. */
export function contestedMoves(moves: Moves, host: HostPlaces): readonly string[] {
  return unsavedMoves(moves, host).filter((id) => !same(moves.get(id)!.base, host.get(id)));
}

/** Adds a move. Further moves of the same node keep the base of the first. */
export function withMove(moves: Moves, host: HostPlaces, id: string, at: Place): Moves {
  const before = moves.get(id);
  const base = before === undefined || before.saved ? host.get(id) : before.base;
  return new Map(moves).set(id, { at, base, saved: false });
}

function same(a: Place | undefined, b: Place | undefined): boolean {
  return a?.x === b?.x && a?.y === b?.y;
}
