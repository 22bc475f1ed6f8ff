import { useLayoutEffect } from "preact/hooks";
import type { TrafficFilterData } from "../../contract/schemas/editing.ts";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import type { OverlayProps } from "../topology/topology.tsx";
import { heatSteps } from "./feed/heat.ts";
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
  const { traffic, state, tooManyLinks, isIdle, isHeat } = control;
  useLayoutEffect(() => {
    onTraffic({ traffic, Overlay: (props: OverlayProps) => <TrafficOverlay {...props} traffic={traffic} /> });
    return () => onTraffic(undefined);
  }, [traffic]);
  return (
    <section class="traffic" aria-label="Live traffic">
      {isHeat ? <HeatLegend /> : <KindChoice control={control} />}
      <ScopeChoice control={control} selection={selection} />
      <output class="traffic-state">{isIdle ? "No packets are chosen." : stateText(control)}</output>
      {tooManyLinks && isHeat && (
        <p class="traffic-hint">Too many links to draw packets on all of them: select a node or a link to see its packets.</p>
      )}
      {state.kind === "refused" && !isLinkLimit(state.error) && <Problem error={state.error} retry={control.retry} />}
      <button type="button" class="plain" onClick={onRates}>
        Rates of each link
      </button>
    </section>
  );
}

interface ControlProps {
  readonly control: TrafficControl;
}

/** Chooses the links, and whether their packets or their rates are drawn. */
function ScopeChoice({ control, selection }: ControlProps & { readonly selection: TrafficSelection | undefined }) {
  return (
    <>
      {!control.tooManyLinks && (
        <label class="choice">
          <input type="checkbox" checked={control.isHeat} onChange={(event) => control.setHeat(event.currentTarget.checked)} />
          Heat map
        </label>
      )}
      {selection !== undefined && (
        <label class="choice">
          <input
            type="checkbox"
            checked={control.onlySelection}
            onChange={(event) => control.setOnlySelection(event.currentTarget.checked)}
          />
          Only {selection.kind === "node" ? `links of ${selection.key}` : selection.key}
        </label>
      )}
    </>
  );
}

/** Checkboxes for the kinds of packets, with the colour and the rate of each: the legend of the drawing. */
function KindChoice({ control: { traffic, legend, isHidden, toggle, showsOthers, setShowsOthers } }: ControlProps) {
  const sums = sumsByKind(traffic);
  return (
    <fieldset class="traffic-filters">
      <legend class="visually-hidden">Shown packets</legend>
      {legend.map(({ key, label, color, match }) => {
        const sum = sums.get(key);
        return (
          <label key={key} class="choice" title={match}>
            <input type="checkbox" checked={!isHidden(key)} onChange={() => toggle(key)} />
            <span class="traffic-swatch" style={{ background: color }} aria-hidden="true" />
            {label}
            {sum !== undefined && !isHidden(key) && <small>{rateText(sum, traffic.estimated)}</small>}
          </label>
        );
      })}
      {showsOthers !== undefined && (
        <label class="choice">
          <input type="checkbox" checked={showsOthers} onChange={(event) => setShowsOthers(event.currentTarget.checked)} />
          all other packets, by protocol
        </label>
      )}
    </fieldset>
  );
}

/** The widths and colours of the heat map. */
function HeatLegend() {
  return (
    <ul class="heat-legend" aria-label="Rates of links">
      {heatSteps.map(({ label, color, width }, at) => (
        <li key={label}>
          <span style={{ background: color, height: `${width}px` }} aria-hidden="true" />
          {at === 0 ? label : `from ${label}`}
        </li>
      ))}
    </ul>
  );
}

interface RateSum {
  readonly packets: number;
  readonly bits: number;
}

function sumsByKind({ rates }: LiveTraffic): ReadonlyMap<string, RateSum> {
  const sums = new Map<string, RateSum>();
  for (const { kind, packets, bits } of rates) {
    const before = sums.get(kind) ?? { packets: 0, bits: 0 };
    sums.set(kind, { packets: before.packets + packets, bits: before.bits + bits });
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
