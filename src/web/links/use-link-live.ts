import { useEffect, useState } from "preact/hooks";
import { usePageVisible } from "../parts/use-page-visible.ts";
import { TrafficRates } from "../traffic/feed/traffic-rates.ts";
import { TrafficWatch, type WatchState } from "../traffic/feed/traffic-watch.ts";
import { type EchoTime, EchoTimes } from "./echo-times.ts";

/** The rates of one second, in each direction: index 0 leaves the first end, index 1 the second. */
export interface RateSample {
  /** ms since the epoch. */
  readonly at: number;
  readonly bits: readonly [number, number];
  readonly packets: readonly [number, number];
}

/** The traffic of a link in the last minute. */
export interface LinkTraffic {
  readonly now: number;
  readonly samples: readonly RateSample[];
  readonly echoes: readonly EchoTime[];
  /** Whether rates are estimated, because the stream contains only a sample of the packets. */
  readonly estimated: boolean;
}

export const windowMs = 60_000;
const empty: LinkTraffic = { now: 0, samples: [], echoes: [], estimated: false };

/** Watches the traffic of a link while the page is visible. @param watched the end where the host watches the link */
export function useLinkLive(
  lab: string,
  link: string,
  [a, b]: readonly [string, string],
  watched: string,
): readonly [LinkTraffic, WatchState] {
  const visible = usePageVisible();
  const [traffic, setTraffic] = useState<LinkTraffic>(empty);
  const [state, setState] = useState<WatchState>({ kind: "connecting" });
  useEffect(() => {
    if (!visible) return undefined;
    setTraffic(empty);
    const rates = new TrafficRates();
    const echoes = new EchoTimes(watched);
    let samples: readonly RateSample[] = [];
    const watch = new TrafficWatch(
      { lab, link },
      {
        onPacket: (packet) => {
          rates.add(packet);
          echoes.add(packet, Date.now());
        },
        onSample: (sample) => rates.sampled(sample),
        onState: setState,
      },
    );
    let before = performance.now();
    const timer = setInterval(() => {
      const elapsed = performance.now() - before;
      before += elapsed;
      const now = Date.now();
      const all = rates.endInterval(elapsed);
      const sum = (from: string, unit: "bits" | "packets") => all.reduce((total, rate) => total + (rate.from === from ? rate[unit] : 0), 0);
      const sample: RateSample = { at: now, bits: [sum(a, "bits"), sum(b, "bits")], packets: [sum(a, "packets"), sum(b, "packets")] };
      samples = [...samples.filter(({ at }) => at >= now - windowMs), sample];
      setTraffic({ now, samples, echoes: echoes.times(now - windowMs), estimated: rates.estimated });
    }, 1_000);
    return () => {
      clearInterval(timer);
      watch.close();
    };
  }, [lab, link, a, b, visible]);
  return [traffic, state];
}
