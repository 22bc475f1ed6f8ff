import { useRef } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import { type LoadHistory, withLoad } from "./load-history.ts";

/** The load of all nodes in the last two minutes, as far as their state was read. */
export function useLoadHistory(live: ReadonlyMap<string, LiveNodeData>): LoadHistory {
  const history = useRef<LoadHistory>(new Map());
  const last = useRef<unknown>(undefined);
  if (last.current !== live) {
    last.current = live;
    history.current = withLoad(history.current, live.values(), Date.now());
  }
  return history.current;
}
