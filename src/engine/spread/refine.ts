import { type PartGraph, type Places, targetsOf } from "./part-graph.ts";

/** Most passes; the first ones do most of the work. */
const maxPasses = 8;
/** A pass ends after so many moves without a better state. */
const patience = 200;
/** A machine may have this much more than its share of the new memory, if it has the room. */
const slack = 1.1;
/** The gain of a vertex that leaves a machine without room for it: more than any number of links. */
const reliefGain = 1_000_000;

interface Move {
  readonly at: number;
  readonly to: number;
  readonly gain: number;
}

/**
 * Moves vertices between machines to cut fewer links (Fiduccia and Mattheyses, for several machines): a pass moves each vertex at most once, always the one
 * with the largest gain that fits, also if the gain is negative, and keeps the best of the states on the way.
 */
export function refineParts(graph: PartGraph, places: Places): void {
  for (let pass = 0; pass < maxPasses; pass++) if (!new Pass(graph, places).run()) return;
}

class Pass {
  readonly #graph: PartGraph;
  readonly #places: Places;
  /** The most memory of new parts that each machine gets. */
  readonly #limits: readonly number[];
  readonly #loads: number[];
  /** The best move of each vertex that has not moved yet; `undefined` if none fits. */
  readonly #moves = new Map<number, Move | undefined>();

  constructor(graph: PartGraph, places: Places) {
    this.#graph = graph;
    this.#places = places;
    const heaviest = Math.max(0, ...graph.weights);
    this.#limits = targetsOf(graph).map((target, at) =>
      Math.min(graph.rooms[at]!, Math.max(target * slack, target + heaviest / 2, heaviest)),
    );
    this.#loads = graph.rooms.map(() => 0);
    for (const [at, place] of places.entries()) this.#loads[place] = this.#loads[place]! + graph.weights[at]!;
  }

  /** Returns whether the cut is smaller than before, or less memory is beyond the limits. */
  run(): boolean {
    for (const [at, machine] of this.#graph.fixed.entries()) if (machine === undefined) this.#moves.set(at, this.#best(at));
    const done: { readonly at: number; readonly from: number }[] = [];
    let cut = 0;
    let best = { cut, excess: this.#excess(), length: 0 };
    while (done.length - best.length < patience) {
      const move = this.#largest();
      if (move === undefined) break;
      done.push({ at: move.at, from: this.#places[move.at]! });
      this.#move(move);
      cut -= move.gain % reliefGain;
      const excess = this.#excess();
      if (excess < best.excess || (excess === best.excess && cut < best.cut)) best = { cut, excess, length: done.length };
    }
    for (const { at, from } of done.slice(best.length).reverse()) this.#places[at] = from;
    return best.length > 0;
  }

  #excess(): number {
    return this.#loads.reduce((sum, load, at) => sum + Math.max(0, load - this.#limits[at]!), 0);
  }

  #move({ at, to }: Move): void {
    const weight = this.#graph.weights[at]!;
    const from = this.#places[at]!;
    this.#places[at] = to;
    this.#loads[from] = this.#loads[from]! - weight;
    this.#loads[to] = this.#loads[to]! + weight;
    this.#moves.delete(at);
    for (const near of this.#graph.links[at]!.keys()) if (this.#moves.has(near)) this.#moves.set(near, this.#best(near));
  }

  /** Returns the move with the largest gain. The loads may have changed since a move was computed: it is computed again. */
  #largest(): Move | undefined {
    for (;;) {
      let best: Move | undefined;
      for (const move of this.#moves.values())
        if (move !== undefined && (best === undefined || move.gain > best.gain || (move.gain === best.gain && move.at < best.at)))
          best = move;
      if (best === undefined) return undefined;
      const now = this.#best(best.at);
      if (now?.to === best.to && now.gain === best.gain) return best;
      this.#moves.set(best.at, now);
    }
  }

  #best(at: number): Move | undefined {
    const weight = this.#graph.weights[at]!;
    const from = this.#places[at]!;
    const counts = this.#loads.map(() => 0);
    for (const [near, count] of this.#graph.links[at]!) counts[this.#places[near]!] = counts[this.#places[near]!]! + count;
    const relief = weight > 0 && this.#loads[from]! > this.#limits[from]! ? reliefGain : 0;
    let best: Move | undefined;
    for (const [to, limit] of this.#limits.entries()) {
      if (to === from || (weight > 0 && this.#loads[to]! + weight > limit)) continue;
      const gain = counts[to]! - counts[from]! + relief;
      if (best === undefined || gain > best.gain) best = { at, to, gain };
    }
    return best;
  }
}
