import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { TrafficFilterData } from "../../contract/schemas/editing.ts";
import { call } from "../service/api.ts";
import { usePresence } from "../parts/use-page-visible.ts";
import { useEvents } from "../service/events.ts";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import type { OverlayProps } from "../topology/topology.tsx";
import { rateWords } from "./feed/rate-text.ts";
import { trafficColors } from "./feed/traffic-colors.ts";
import { TrafficOverlay } from "./traffic-overlay.tsx";
import { TrafficPicture } from "./feed/live-traffic.ts";
import { type TrafficScope, TrafficWatch, type WatchState } from "./feed/traffic-watch.ts";
import "./traffic.css";

/** What is chosen in the topology. */
export type Chosen = { readonly kind: "node" | "link"; readonly key: string };

interface TrafficBarProps {
  readonly lab: string;
  readonly chosen: Chosen | undefined;
  /** Given what is to be drawn over the topology; undefined when nothing is any more. */
  readonly onOverlay: (overlay: ComponentType<OverlayProps> | undefined) => void;
}

/** Live traffic: which packets are shown, in which colours, and how many they are. It ends when it is not shown, and sleeps while its page is hidden. */
export default function TrafficBar({ lab, chosen, onOverlay }: TrafficBarProps) {
  const { data, error, again } = useAnswer((signal) => call("getPublicProject", { lab }, { signal }), [lab]);
  useEvents(lab, ({ type }) => {
    if (type === "lab" || type === "gap") again();
  });
  if (data === undefined)
    return error === undefined ? <p class="waiting">Reading the traffic filters…</p> : <Problem error={error} retry={again} />;
  return <Watching lab={lab} filters={data.traffic_filters} chosen={chosen} onOverlay={onOverlay} />;
}

function Watching({ lab, filters, chosen, onOverlay }: TrafficBarProps & { readonly filters: readonly TrafficFilterData[] }) {
  const present = usePresence();
  const picture = useMemo(() => new TrafficPicture(), []);
  const [state, setState] = useState<WatchState>({ kind: "connecting" });
  /** Names that are not to be seen; null: packets that no filter takes, which are left out where there are filters. */
  const [hidden, setHidden] = useState<ReadonlySet<string | null>>(() => new Set(filters.length > 0 ? [null] : []));
  const [narrowed, setNarrowed] = useState(false);
  /** The lab has more links than can be watched at once. */
  const [crowded, setCrowded] = useState(false);
  const [retries, setRetries] = useState(0);
  const [, setTurns] = useState(0);
  const colors = useMemo(() => trafficColors(filters, (text) => CSS.supports("color", text)), [filters]);
  const shown = [...colors.keys()].filter((name) => !hidden.has(name));
  picture.colors = new Map(shown.map((name) => [name, colors.get(name)!]));

  // Without filters the service tells every packet, and names the filter that takes it.
  const names = shown.includes(null) ? undefined : (shown as readonly string[]);
  const only = narrowed || crowded ? chosen : undefined;
  const scope: TrafficScope = { lab, ...(names !== undefined && { filters: names }), ...(only !== undefined && { [only.kind]: only.key }) };
  const idle = shown.length === 0 || (crowded && chosen === undefined);
  const asked = JSON.stringify(scope);
  useEffect(() => {
    if (!present || idle) return;
    const watch = new TrafficWatch(scope, {
      onPacket: (packet) => picture.packet(packet),
      onSample: (sample) => picture.sample(sample),
      onState: (next) => {
        setState(next);
        if (next.kind === "refused" && isLimit(next.error)) setCrowded(true);
      },
    });
    const end = picture.begin();
    return () => {
      watch.close();
      end();
    };
  }, [asked, present, idle, retries]);
  useEffect(() => picture.listen((what) => what === "rates" && setTurns((count) => count + 1)), [picture]);
  useLayoutEffect(() => {
    onOverlay((props: OverlayProps) => <TrafficOverlay {...props} picture={picture} />);
    return () => onOverlay(undefined);
  }, [picture]);

  const toggle = (name: string | null) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const sums = new Map<string | null, { packets: number; bits: number }>();
  for (const { filter, packets, bits } of picture.rates) {
    const before = sums.get(filter) ?? { packets: 0, bits: 0 };
    sums.set(filter, { packets: before.packets + packets, bits: before.bits + bits });
  }
  return (
    <section class="traffic" aria-label="Live traffic">
      <fieldset class="traffic-filters">
        <legend class="unseen">Packets that are shown</legend>
        {[...colors].map(([name, color]) => {
          const sum = sums.get(name);
          return (
            <label key={name ?? ""} class="choice" title={filters.find((one) => one.name === name)?.match}>
              <input type="checkbox" checked={!hidden.has(name)} onChange={() => toggle(name)} />
              <span class="traffic-swatch" style={{ background: color }} aria-hidden="true" />
              {name ?? (filters.length > 0 ? "other packets" : "all packets")}
              {sum !== undefined && !hidden.has(name) && <small>{rateWords(sum, picture.estimated)}</small>}
            </label>
          );
        })}
      </fieldset>
      {chosen !== undefined && (
        <label class="choice">
          <input
            type="checkbox"
            checked={narrowed || crowded}
            disabled={crowded}
            onChange={(event) => setNarrowed(event.currentTarget.checked)}
          />
          Only {chosen.kind === "node" ? `links of ${chosen.key}` : chosen.key}
        </label>
      )}
      <output class="traffic-state">{shown.length === 0 ? "No packets are chosen." : idle ? "" : stateWords(state, picture)}</output>
      {filters.length === 0 && (
        <p class="traffic-hint">
          Traffic filters in <Link to={{ page: "lab", lab, view: "plan" }}>the lab's text</Link> give kinds of packets colours of their own:{" "}
          <code>{'traffic_filters: [{name: pings, color: "#d6336c", match: icmp}]'}</code>
        </p>
      )}
      {crowded && chosen === undefined && (
        <p class="traffic-hint">
          The lab has more links than can be watched at once. Choose a node or a link in the picture: its links are watched then.
        </p>
      )}
      {state.kind === "refused" && !isLimit(state.error) && <Problem error={state.error} retry={() => setRetries((count) => count + 1)} />}
      {picture.rates.length > 0 && (
        <details>
          <summary>Rates of each link</summary>
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">From</th>
                <th scope="col">To</th>
                <th scope="col">Packets</th>
                <th scope="col">Rate</th>
                <th scope="col">The newest</th>
              </tr>
            </thead>
            <tbody>
              {picture.rates.map((rate) => (
                <tr key={`${rate.link} ${rate.from} ${rate.filter}`}>
                  <th scope="row">{rate.from}</th>
                  <td>{rate.to}</td>
                  <td>{rate.filter ?? "other"}</td>
                  <td>{rateWords(rate, picture.estimated)}</td>
                  <td>{rate.last}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </section>
  );
}

function isLimit(error: unknown): boolean {
  return error instanceof LabwrightError && error.code === "capture_limit";
}

function stateWords(state: WatchState, { estimated, lost, rates }: TrafficPicture): string {
  if (state.kind === "connecting") return "Connecting…";
  if (state.kind === "broken") return "The connection broke; it is tried again.";
  if (state.kind === "refused") return "";
  const words = [
    rates.length === 0 ? "Watching. Nothing has passed yet." : "",
    estimated ? "More packets pass than can be shown: a sample is, and rates are estimated from it." : "",
    lost > 0 ? `${lost} packets were lost before anybody saw them.` : "",
  ];
  return words.filter(Boolean).join(" ") || "Watching.";
}
