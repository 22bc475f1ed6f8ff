import type { Place } from "../layout/layout.ts";

/** Where a person put something in the picture. */
export interface Move {
  readonly at: Place;
  /** Where the host had it then; undefined: nowhere. */
  readonly base: Place | undefined;
  /** It is in the intent, and the host may not have learned it yet. */
  readonly saved: boolean;
}

/** By id of the picture. */
export type Moves = ReadonlyMap<string, Move>;

/** Where the host has each thing of the picture now, by id. */
export type HostPlaces = ReadonlyMap<string, Place | undefined>;

/** What is drawn elsewhere than the host has it. A saved move ends when the host has another place than before it: that one, or somebody else's. */
export function shownPlaces(moves: Moves, host: HostPlaces): ReadonlyMap<string, Place> {
  const shown = [...moves].filter(([id, { saved, base }]) => host.has(id) && (!saved || same(base, host.get(id))));
  return new Map(shown.map(([id, { at }]) => [id, at]));
}

/** Moves that wait to be saved. */
export function unsavedMoves(moves: Moves, host: HostPlaces): readonly string[] {
  return [...moves].flatMap(([id, { saved }]) => (saved || !host.has(id) ? [] : [id]));
}

/** Of those, what somebody else has moved meanwhile: saving would undo that. */
export function contestedMoves(moves: Moves, host: HostPlaces): readonly string[] {
  return unsavedMoves(moves, host).filter((id) => !same(moves.get(id)!.base, host.get(id)));
}

/** A further move of the same thing is a move from where it was before the first. */
export function withMove(moves: Moves, host: HostPlaces, id: string, at: Place): Moves {
  const before = moves.get(id);
  const base = before === undefined || before.saved ? host.get(id) : before.base;
  return new Map(moves).set(id, { at, base, saved: false });
}

function same(a: Place | undefined, b: Place | undefined): boolean {
  return a?.x === b?.x && a?.y === b?.y;
}
