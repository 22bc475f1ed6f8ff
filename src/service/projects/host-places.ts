import type { HostPlaces } from "../../engine/compare/read-lab.ts";
import type { Lab, Position } from "../../intent/lab/lab.ts";
import type { LabRecord } from "../store/store.ts";

interface Placed {
  readonly id: string;
  readonly position?: Position;
}

/**
 * Returns the positions that the host chose at the last apply, for nodes and networks without a position in the recorded intent. A position that an
 * earlier pull recorded is not included, so that a later pull by another user still writes it to that user's file.
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
