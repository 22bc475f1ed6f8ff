import type { ObservedLab } from "../../engine/model/observed.ts";
import type { NativeIds } from "../../hosts/host.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import type { LabRecord } from "../store/store.ts";

interface Placed {
  readonly id: string;
  readonly position?: { readonly x: number; readonly y: number };
}

/**
 * Returns the definition to record after a change, with the recorded positions of nodes and networks that the intent leaves to the host: a change does not
 * set them, so that a position which somebody changed by hand is still found by the next pull.
 * @param intent absent: the change set no position at all
 */
export function withKeptPlaces(
  observed: ObservedLab,
  { applied, ids: before }: Pick<LabRecord, "applied" | "ids">,
  ids: NativeIds,
  intent: Lab | undefined,
): ObservedLab {
  // A lab or node that the change made has a new position of the host.
  if (applied === undefined || applied.id !== observed.id) return observed;
  const keep = <T extends Placed>(kind: "nodes" | "networks"): ((one: T) => T) => {
    const recorded = new Map(applied[kind].map(({ id, position }) => [id, position]));
    const set = new Set(intent?.[kind].flatMap(({ key, position }) => (position === undefined ? [] : [key])));
    const isOpen = ([key, id]: readonly [string, string]) => !set.has(key) && before[kind][key] === id;
    const places = new Map(
      Object.entries(ids[kind])
        .filter(isOpen)
        .map(([, id]) => [id, recorded.get(id)]),
    );
    return (one) => {
      const position = places.get(one.id);
      return position === undefined ? one : { ...one, position };
    };
  };
  return { ...observed, nodes: observed.nodes.map(keep("nodes")), networks: observed.networks.map(keep("networks")) };
}
