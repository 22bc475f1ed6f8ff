import { useEffect, useState } from "preact/hooks";
import { usePageVisible } from "../parts/use-page-visible.ts";
import { TrafficRates } from "../traffic/feed/traffic-rates.ts";
import { TrafficWatch, type WatchState } from "../traffic/feed/traffic-watch.ts";
import { type InterfaceRates, withRates } from "./interface-rates.ts";

/** Watches the traffic of all links of a node while the page is visible. @param node key */
export function useNodeLive(lab: string, node: string): readonly [InterfaceRates, WatchState] {
  const visible = usePageVisible();
  const [rates, setRates] = useState<InterfaceRates>(new Map());
  const [state, setState] = useState<WatchState>({ kind: "connecting" });
  useEffect(() => {
    if (!visible) return undefined;
    setRates(new Map());
    const counts = new TrafficRates();
    const watch = new TrafficWatch(
      { lab, node },
      { onPacket: (packet) => counts.add(packet), onSample: (sample) => counts.sampled(sample), onState: setState },
    );
    let before = performance.now();
    const timer = setInterval(() => {
      const elapsed = performance.now() - before;
      before += elapsed;
      const interval = counts.endInterval(elapsed);
      setRates((known) => withRates(known, node, interval, Date.now()));
    }, 1_000);
    return () => {
      clearInterval(timer);
      watch.close();
    };
  }, [lab, node, visible]);
  return [rates, state];
}
