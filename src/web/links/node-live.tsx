import { Sparkline } from "../load/sparkline.tsx";
import { Problem } from "../parts/problem.tsx";
import { bitText } from "./bit-text.ts";
import type { RatePoint } from "./interface-rates.ts";
import { useNodeLive } from "./use-node-live.ts";

interface NodeLiveProps {
  readonly lab: string;
  /** Key of the node. */
  readonly node: string;
}

/** Shows the current traffic of each interface of a node. */
export default function NodeLive({ lab, node }: NodeLiveProps) {
  const [rates, state] = useNodeLive(lab, node);
  if (state.kind === "refused") return <Problem error={state.error} />;
  if (rates.size === 0) return <p class="hint">{state.kind === "connecting" ? "Connecting…" : "No packets yet."}</p>;
  return (
    <table class="rows node-live">
      <thead>
        <tr>
          <th scope="col">Interface</th>
          <th scope="col">Sends</th>
          <th scope="col">Receives</th>
        </tr>
      </thead>
      <tbody>
        {[...rates].sort(byName).map(([name, points]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <RateCell name={name} points={points} side="sent" />
            <RateCell name={name} points={points} side="received" />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface RateCellProps {
  readonly name: string;
  readonly points: readonly RatePoint[];
  readonly side: "sent" | "received";
}

function RateCell({ name, points, side }: RateCellProps) {
  return (
    <td>
      {bitText(points.at(-1)?.[side] ?? 0)}{" "}
      <Sparkline label={`${name}, ${side}, last two minutes`} points={points.map((point) => ({ at: point.at, value: point[side] }))} />
    </td>
  );
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a.localeCompare(b, "en", { numeric: true });
}
