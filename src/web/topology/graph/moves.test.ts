import { expect, test } from "vitest";
import type { Place } from "../layout/layout.ts";
import { contestedMoves, type HostPlaces, type Moves, shownPlaces, unsavedMoves, withMove } from "./moves.ts";

const [here, there, elsewhere]: readonly [Place, Place, Place] = [
  { x: 0, y: 0 },
  { x: 50, y: 60 },
  { x: -7, y: 9 },
];
const host = (place: Place | undefined): HostPlaces => new Map([["1", place]]);
const none: Moves = new Map();

test("a moved node is drawn at its new position, and is unsaved", () => {
  const moves = withMove(none, host(here), "1", there);
  expect(shownPlaces(moves, host(here)).get("1")).toEqual(there);
  expect(unsavedMoves(moves, host(here))).toEqual(["1"]);
  expect(contestedMoves(moves, host(here))).toEqual([]);
});

test("a node that another user moved meanwhile is contested, also after several own moves", () => {
  const moves = withMove(withMove(none, host(here), "1", there), host(elsewhere), "1", { x: 1, y: 1 });
  expect(contestedMoves(moves, host(elsewhere))).toEqual(["1"]);
  expect(shownPlaces(moves, host(elsewhere)).get("1")).toEqual({ x: 1, y: 1 });
});

test("a saved move is drawn until the host's position changes, then the host's position is drawn", () => {
  const saved: Moves = new Map([["1", { at: there, base: here, saved: true }]]);
  expect(shownPlaces(saved, host(here)).get("1")).toEqual(there);
  expect(shownPlaces(saved, host(there)).size).toBe(0);
  expect(shownPlaces(saved, host(elsewhere)).size).toBe(0);
  expect(unsavedMoves(saved, host(here))).toEqual([]);
  expect(contestedMoves(withMove(saved, host(there), "1", elsewhere), host(there))).toEqual([]);
});

test("a node without a position can be moved, and the move of a deleted node is dropped", () => {
  const moves = withMove(none, host(undefined), "1", there);
  expect(contestedMoves(moves, host(undefined))).toEqual([]);
  expect(contestedMoves(moves, host(elsewhere))).toEqual(["1"]);
  expect(unsavedMoves(moves, new Map())).toEqual([]);
  expect(shownPlaces(moves, new Map()).size).toBe(0);
});
