import { useEffect, useMemo, useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { TrafficFilterData } from "../../contract/schemas/editing.ts";
import { usePageVisible } from "../parts/use-page-visible.ts";
import { LiveTraffic } from "./feed/live-traffic.ts";
import { filterKinds, protocolKinds, type TrafficKind } from "./feed/traffic-kinds.ts";
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
  /** The kinds of packets of the legend: the lab's filters, and the protocols that were seen. */
  readonly legend: readonly TrafficKind[];
  readonly isHidden: (kind: string) => boolean;
  readonly toggle: (kind: string) => void;
  /** Whether packets that match no filter of the lab are shown; undefined: the lab has no filters. */
  readonly showsOthers: boolean | undefined;
  readonly setShowsOthers: (shown: boolean) => void;
  /** Whether only the links of the selection are watched. */
  readonly onlySelection: boolean;
  readonly setOnlySelection: (only: boolean) => void;
  /** Whether only the rates of links are shown, as a heat map. */
  readonly isHeat: boolean;
  readonly setHeat: (isHeat: boolean) => void;
  /** Whether the lab has more links than can be watched at once: then packets are shown only for a selection. */
  readonly tooManyLinks: boolean;
  /** Whether nothing is watched, because no kind is chosen. */
  readonly isIdle: boolean;
  readonly retry: () => void;
}

/** Watches the traffic of a lab while the page is visible. */
export function useTraffic(lab: string, filters: readonly TrafficFilterData[], selection: TrafficSelection | undefined): TrafficControl {
  const traffic = useMemo(() => new LiveTraffic(), []);
  const [tooManyLinks, setTooManyLinks] = useState(false);
  const [onlySelection, setOnlySelection] = useState(false);
  const [wantsHeat, setHeat] = useState(false);
  const kinds = useShownKinds(filters, traffic);
  const watched = onlySelection ? selection : undefined;
  const isHeat = watched === undefined && (wantsHeat || tooManyLinks);
  const scope: TrafficScope = {
    lab,
    ...(isHeat ? { rates: true } : kinds.names !== undefined && { filters: kinds.names }),
    ...(watched !== undefined && { [watched.kind]: watched.key }),
  };
  const isIdle = !isHeat && traffic.kinds.size === 0;
  const [state, retry] = useWatch(traffic, scope, isIdle, () => setTooManyLinks(true));
  return {
    ...{ traffic, state, retry, isIdle, tooManyLinks, onlySelection, setOnlySelection, isHeat, setHeat },
    legend: kinds.legend,
    isHidden: kinds.isHidden,
    toggle: kinds.toggle,
    showsOthers: filters.length === 0 ? undefined : kinds.showsOthers,
    setShowsOthers: kinds.setShowsOthers,
  };
}

interface ShownKinds extends Pick<TrafficControl, "legend" | "isHidden" | "toggle" | "setShowsOthers"> {
  readonly showsOthers: boolean;
  /** Names of the filters to watch; undefined: all packets. */
  readonly names: readonly string[] | undefined;
}

/** The choice of the shown kinds, which `traffic` gets. A lab with filters first hides the packets that match none of them. */
function useShownKinds(filters: readonly TrafficFilterData[], traffic: LiveTraffic): ShownKinds {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [showsOthers, setShowsOthers] = useState(filters.length === 0);
  const [, setRateUpdates] = useState(0);
  useEffect(() => traffic.listen((change) => change === "rates" && setRateUpdates((count) => count + 1)), [traffic]);
  const named = useMemo(() => filterKinds(filters, (text) => CSS.supports("color", text)), [filters]);
  const all = showsOthers ? [...named, ...protocolKinds] : named;
  traffic.kinds = new Map(all.filter(({ key }) => !hidden.has(key)).map((kind) => [kind.key, kind]));
  return {
    legend: all.filter((kind) => named.includes(kind) || traffic.seen.has(kind.key)),
    isHidden: (kind) => hidden.has(kind),
    toggle: (kind) => {
      const next = new Set(hidden);
      if (!next.delete(kind)) next.add(kind);
      setHidden(next);
    },
    showsOthers,
    setShowsOthers,
    // Without names the service sends every packet, with the name of its filter.
    names: showsOthers ? undefined : named.filter(({ key }) => !hidden.has(key)).map(({ label }) => label),
  };
}

/** Watches the traffic while the page is visible. Returns the state of the stream, and a function that tries again. */
function useWatch(traffic: LiveTraffic, scope: TrafficScope, isIdle: boolean, onTooMany: () => void): readonly [WatchState, () => void] {
  const visible = usePageVisible();
  const [state, setState] = useState<WatchState>({ kind: "connecting" });
  const [retries, setRetries] = useState(0);
  useEffect(() => {
    if (!visible || isIdle) return;
    const watch = new TrafficWatch(scope, {
      onPacket: (packet) => traffic.packet(packet),
      onSample: (sample) => traffic.sample(sample),
      onRates: (links) => traffic.heat(links),
      onState: (next) => {
        setState(next);
        if (next.kind === "refused" && isLinkLimit(next.error)) onTooMany();
      },
    });
    const end = traffic.begin(scope.rates === true);
    return () => {
      watch.close();
      end();
    };
  }, [JSON.stringify(scope), visible, isIdle, retries]);
  return [state, () => setRetries((count) => count + 1)];
}

/** Whether a watch was refused because the lab has too many links. */
export function isLinkLimit(error: unknown): boolean {
  return error instanceof LabwrightError && error.code === "capture_limit";
}
