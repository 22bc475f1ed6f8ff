import type { HostPlaces } from "../../engine/compare/capture.ts";
import type { Lab, Position } from "../../intent/lab/lab.ts";
import type { LabRecord } from "../store/store.ts";

interface Placed {
  readonly id: string;
  readonly position?: Position;
}

/**
 * The positions that the host chose at the last apply: those of nodes and networks that the recorded intent does not place. A position that an
 * earlier pull recorded is not among them, so that it still reaches the file of somebody who pulls later.
 */
export function hostPlaces({ applied, ids }: Pick<LabRecord, "applied" | "ids">, recorded: Lab | undefined): HostPlaces {
  const chosen = (things: readonly Placed[] = [], known: Readonly<Record<string, string>>, list: Lab["nodes"] | Lab["networks"] = []) => {
    const placed = new Set(list.flatMap(({ key, position }) => (position === undefined ? [] : [known[key]])));
    return new Map(things.flatMap(({ id, position }) => (position === undefined || placed.has(id) ? [] : [[id, position] as const])));
  };
  return {
    nodes: chosen(applied?.nodes, ids.nodes, recorded?.nodes),
    networks: chosen(applied?.networks, ids.networks, recorded?.networks),
  };
}
