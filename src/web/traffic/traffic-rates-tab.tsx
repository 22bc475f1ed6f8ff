import { useEffect, useState } from "preact/hooks";
import { Link } from "../parts/link.tsx";
import type { LiveTraffic } from "./feed/live-traffic.ts";
import { TrafficTable } from "./traffic-table.tsx";

interface TrafficRatesProps {
  readonly lab: string;
  /** undefined: the traffic is not watched. */
  readonly traffic: LiveTraffic | undefined;
  readonly onStart: () => void;
  /** Shows the packets of a link, by its key; undefined: not allowed. */
  readonly onPackets: ((link: string) => void) | undefined;
}

/** Lists the rates of each link, direction and kind of packets while the traffic is watched. */
export function TrafficRates({ lab, traffic, onStart, onPackets }: TrafficRatesProps) {
  const [, setRateUpdates] = useState(0);
  useEffect(() => traffic?.listen((change) => change === "rates" && setRateUpdates((count) => count + 1)), [traffic]);
  if (traffic === undefined) {
    return (
      <div class="buttons">
        <button type="button" onClick={onStart}>
          Start live traffic
        </button>
        <span class="hint">The drawing shows the packets on their links, and this table their rates.</span>
      </div>
    );
  }
  return (
    <>
      {traffic.rates.length === 0 ? <p class="hint">No packets yet.</p> : <TrafficTable traffic={traffic} onPackets={onPackets} />}
      {!traffic.isHeat && [...traffic.kinds.keys()].every((kind) => kind.startsWith("protocol:")) && (
        <p class="hint">
          Packets have the colours of their protocols. Traffic filters in{" "}
          <Link to={{ page: "lab", lab, view: "plan" }}>the lab's text</Link> give packets other colours:{" "}
          <code>{'traffic_filters: [{name: pings, color: "#d6336c", match: icmp}]'}</code>
        </p>
      )}
    </>
  );
}
