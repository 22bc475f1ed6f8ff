import { useEffect, useState } from "preact/hooks";
import { Link } from "../parts/link.tsx";
import type { LiveTraffic } from "./feed/live-traffic.ts";
import { TrafficTable } from "./traffic-table.tsx";

interface TrafficRatesProps {
  readonly lab: string;
  /** undefined: the traffic is not watched. */
  readonly traffic: LiveTraffic | undefined;
  readonly onStart: () => void;
}

/** Lists the rates of each link, direction and filter while the traffic is watched. */
export function TrafficRates({ lab, traffic, onStart }: TrafficRatesProps) {
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
      {traffic.rates.length === 0 ? (
        <p class="hint">No packets yet.</p>
      ) : (
        <TrafficTable rates={traffic.rates} estimated={traffic.estimated} />
      )}
      {traffic.rates.every(({ filter }) => filter === null) && (
        <p class="hint">
          Traffic filters in <Link to={{ page: "lab", lab, view: "plan" }}>the lab's text</Link> give kinds of packets their own colours:{" "}
          <code>{'traffic_filters: [{name: pings, color: "#d6336c", match: icmp}]'}</code>
        </p>
      )}
    </>
  );
}
