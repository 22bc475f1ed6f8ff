import { useEffect, useMemo, useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { TrafficFilterData } from "../../contract/schemas/editing.ts";
import { usePageVisible } from "../parts/use-page-visible.ts";
import { LiveTraffic } from "./feed/live-traffic.ts";
import { trafficColors } from "./feed/traffic-colors.ts";
import { type TrafficScope, TrafficWatch, type WatchState } from "./feed/traffic-watch.ts";

/** The selected node or link of the topology. */
export interface TrafficSelection {
  readonly kind: "node" | "link";
  readonly key: string;
}

/** The live traffic of a lab, and the choice of the packets that are shown. */
export interface TrafficControl {
  readonly traffic: LiveTraffic;
  readonly state: WatchState;
  /** Colour of each filter, by name; null is the key of packets that match no filter. */
  readonly colors: ReadonlyMap<string | null, string>;
  readonly isHidden: (filter: string | null) => boolean;
  readonly toggle: (filter: string | null) => void;
  /** Whether only the links of the selection are watched. */
  readonly onlySelection: boolean;
  readonly setOnlySelection: (only: boolean) => void;
  /** Whether the lab has more links than can be watched at once: then only a selection can be watched. */
  readonly tooManyLinks: boolean;
  /** Whether nothing is watched: no filter is chosen, or a selection is missing. */
  readonly isIdle: boolean;
  readonly hasShownFilters: boolean;
  readonly retry: () => void;
}

/** Watches the traffic of a lab while the page is visible. */
export function useTraffic(lab: string, filters: readonly TrafficFilterData[], selection: TrafficSelection | undefined): TrafficControl {
  const visible = usePageVisible();
  const traffic = useMemo(() => new LiveTraffic(), []);
  const [state, setState] = useState<WatchState>({ kind: "connecting" });
  // A lab with filters hides the packets that match none of them.
  const [hidden, setHidden] = useState<ReadonlySet<string | null>>(() => new Set(filters.length > 0 ? [null] : []));
  const [onlySelection, setOnlySelection] = useState(false);
  const [tooManyLinks, setTooManyLinks] = useState(false);
  const [retries, setRetries] = useState(0);
  const [, setRateUpdates] = useState(0);
  const colors = useMemo(() => trafficColors(filters, (text) => CSS.supports("color", text)), [filters]);
  const shown = [...colors.keys()].filter((name) => !hidden.has(name));
  traffic.colors = new Map(shown.map((name) => [name, colors.get(name)!]));

  // Without `filters` the service sends every packet, with the name of its filter.
  const names = shown.includes(null) ? undefined : (shown as readonly string[]);
  const watched = onlySelection || tooManyLinks ? selection : undefined;
  const scope: TrafficScope = {
    lab,
    ...(names !== undefined && { filters: names }),
    ...(watched !== undefined && { [watched.kind]: watched.key }),
  };
  const isIdle = shown.length === 0 || (tooManyLinks && selection === undefined);
  useEffect(() => {
    if (!visible || isIdle) return;
    const watch = new TrafficWatch(scope, {
      onPacket: (packet) => traffic.packet(packet),
      onSample: (sample) => traffic.sample(sample),
      onState: (next) => {
        setState(next);
        if (next.kind === "refused" && isLinkLimit(next.error)) setTooManyLinks(true);
      },
    });
    const end = traffic.begin();
    return () => {
      watch.close();
      end();
    };
  }, [JSON.stringify(scope), visible, isIdle, retries]);
  useEffect(() => traffic.listen((change) => change === "rates" && setRateUpdates((count) => count + 1)), [traffic]);
  return {
    traffic,
    state,
    colors,
    isHidden: (filter) => hidden.has(filter),
    toggle: (filter) => {
      const next = new Set(hidden);
      if (!next.delete(filter)) next.add(filter);
      setHidden(next);
    },
    onlySelection: onlySelection || tooManyLinks,
    setOnlySelection,
    tooManyLinks,
    isIdle,
    hasShownFilters: shown.length > 0,
    retry: () => setRetries((count) => count + 1),
  };
}

/** Whether a watch was refused because the lab has too many links. */
export function isLinkLimit(error: unknown): boolean {
  return error instanceof LabwrightError && error.code === "capture_limit";
}
