import { rateText } from "./feed/rate-text.ts";
import type { TrafficRate } from "./feed/traffic-rates.ts";

interface TrafficTableProps {
  readonly rates: readonly TrafficRate[];
  readonly estimated: boolean;
}

/** Lists the rates of each link, direction and filter. */
export function TrafficTable({ rates, estimated }: TrafficTableProps) {
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">To</th>
          <th scope="col">Packets</th>
          <th scope="col">Rate</th>
          <th scope="col">Last packet</th>
        </tr>
      </thead>
      <tbody>
        {rates.map((rate) => (
          <tr key={`${rate.link} ${rate.from} ${rate.filter}`}>
            <th scope="row">{rate.from}</th>
            <td>{rate.to}</td>
            <td>{rate.filter ?? "other"}</td>
            <td>{rateText(rate, estimated)}</td>
            <td>{rate.last}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
