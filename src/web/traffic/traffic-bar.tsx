import { useLayoutEffect } from "preact/hooks";
import type { TrafficFilterData } from "../../contract/schemas/editing.ts";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import type { OverlayProps } from "../topology/topology.tsx";
import type { LiveTraffic } from "./feed/live-traffic.ts";
import { rateText } from "./feed/rate-text.ts";
import type { ShownTraffic } from "./shown-traffic.ts";
import { TrafficOverlay } from "./traffic-overlay.tsx";
import { isLinkLimit, type TrafficControl, type TrafficSelection, useTraffic } from "./use-traffic.ts";
import "./traffic.css";

interface TrafficBarProps {
  readonly lab: string;
  readonly selection: TrafficSelection | undefined;
  /** Called with the watched traffic, and with undefined when the bar is removed. */
  readonly onTraffic: (traffic: ShownTraffic | undefined) => void;
  /** Shows the rates of each link. */
  readonly onRates: () => void;
}

/** Shows the live traffic of a lab: which packets are drawn, in which colours, and their rates. It pauses while the page is hidden. */
export default function TrafficBar(props: TrafficBarProps) {
  const { lab } = props;
  const { data, error, again } = useAnswer((signal) => call("getPublicProject", { lab }, { signal }), [lab]);
  useEvents(lab, ({ type }) => {
    if (type === "lab" || type === "gap") again();
  });
  if (data === undefined)
    return error === undefined ? <p class="waiting">Reading the traffic filters…</p> : <Problem error={error} retry={again} />;
  return <Traffic {...props} filters={data.traffic_filters} />;
}

function Traffic({ lab, filters, selection, onTraffic, onRates }: TrafficBarProps & { readonly filters: readonly TrafficFilterData[] }) {
  const control = useTraffic(lab, filters, selection);
  const { traffic, state, tooManyLinks, isIdle, hasShownFilters } = control;
  useLayoutEffect(() => {
    onTraffic({ traffic, Overlay: (props: OverlayProps) => <TrafficOverlay {...props} traffic={traffic} /> });
    return () => onTraffic(undefined);
  }, [traffic]);
  return (
    <section class="traffic" aria-label="Live traffic">
      <FilterChoice control={control} filters={filters} />
      {selection !== undefined && (
        <label class="choice">
          <input
            type="checkbox"
            checked={control.onlySelection}
            disabled={tooManyLinks}
            onChange={(event) => control.setOnlySelection(event.currentTarget.checked)}
          />
          Only {selection.kind === "node" ? `links of ${selection.key}` : selection.key}
        </label>
      )}
      <output class="traffic-state">{hasShownFilters ? (isIdle ? "" : stateText(control)) : "No packets are chosen."}</output>
      {tooManyLinks && selection === undefined && (
        <p class="traffic-hint">
          The lab has more links than can be watched at once. Select a node or a link in the drawing to watch its links.
        </p>
      )}
      {state.kind === "refused" && !isLinkLimit(state.error) && <Problem error={state.error} retry={control.retry} />}
      <button type="button" class="plain" onClick={onRates}>
        Rates of each link
      </button>
    </section>
  );
}

interface FilterChoiceProps {
  readonly control: TrafficControl;
  readonly filters: readonly TrafficFilterData[];
}

/** Checkboxes for the filters, with the colour and the rate of each. */
function FilterChoice({ control: { traffic, colors, isHidden, toggle }, filters }: FilterChoiceProps) {
  const sums = sumsByFilter(traffic);
  return (
    <fieldset class="traffic-filters">
      <legend class="visually-hidden">Shown packets</legend>
      {[...colors].map(([name, color]) => {
        const sum = sums.get(name);
        return (
          <label key={name ?? ""} class="choice" title={filters.find((one) => one.name === name)?.match}>
            <input type="checkbox" checked={!isHidden(name)} onChange={() => toggle(name)} />
            <span class="traffic-swatch" style={{ background: color }} aria-hidden="true" />
            {name ?? (filters.length > 0 ? "other packets" : "all packets")}
            {sum !== undefined && !isHidden(name) && <small>{rateText(sum, traffic.estimated)}</small>}
          </label>
        );
      })}
    </fieldset>
  );
}

interface RateSum {
  readonly packets: number;
  readonly bits: number;
}

function sumsByFilter({ rates }: LiveTraffic): ReadonlyMap<string | null, RateSum> {
  const sums = new Map<string | null, RateSum>();
  for (const { filter, packets, bits } of rates) {
    const before = sums.get(filter) ?? { packets: 0, bits: 0 };
    sums.set(filter, { packets: before.packets + packets, bits: before.bits + bits });
  }
  return sums;
}

function stateText({ state, traffic: { estimated, lost, rates } }: TrafficControl): string {
  if (state.kind === "connecting") return "Connecting…";
  if (state.kind === "broken") return "Connection lost; reconnecting.";
  if (state.kind === "refused") return "";
  const parts = [
    rates.length === 0 ? "Watching. No packets yet." : "",
    estimated ? "There are more packets than can be shown. A sample is shown, and the rates are estimated from it." : "",
    lost > 0 ? `The host lost ${lost} packets.` : "",
  ];
  return parts.filter(Boolean).join(" ") || "Watching.";
}
