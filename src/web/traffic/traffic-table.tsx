import type { LiveTraffic } from "./feed/live-traffic.ts";
import { rateText } from "./feed/rate-text.ts";

interface TrafficTableProps {
  readonly traffic: LiveTraffic;
  /** Shows the packets of a link, by its key; undefined: not allowed. */
  readonly onPackets: ((link: string) => void) | undefined;
}

/** Lists the rates of each link, direction and kind of packets. */
export function TrafficTable({ traffic: { rates, kinds, estimated, isHeat }, onPackets }: TrafficTableProps) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">To</th>
          <th scope="col">Packets</th>
          <th scope="col">Rate</th>
          {!isHeat && <th scope="col">Last packet</th>}
          {onPackets !== undefined && (
            <th scope="col">
              <span class="visually-hidden">Capture</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rates.map((rate) => (
          <tr key={`${rate.link} ${rate.from} ${rate.kind}`}>
            <th scope="row">{rate.from}</th>
            <td>{rate.to}</td>
            <td>{kinds.get(rate.kind)?.label ?? "all"}</td>
            <td>{rateText(rate, estimated)}</td>
            {!isHeat && <td>{rate.last}</td>}
            {onPackets !== undefined && (
              <td>
                <button type="button" onClick={() => onPackets(rate.link)}>
                  Packets<span class="visually-hidden"> of {rate.link}</span>
                </button>
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
