import { Problem } from "../parts/problem.tsx";
import { bitText } from "./bit-text.ts";
import { LiveGraph } from "./live-graph.tsx";
import { type RateSample, useLinkLive, windowMs } from "./use-link-live.ts";
import "./link-live.css";

interface LinkLiveProps {
  readonly lab: string;
  /** Key of the link. */
  readonly link: string;
  readonly endpoints: readonly [string, string];
}

/** A ping without an answer after this time counts as lost, ms. */
const lostMs = 2_000;

/** Shows the current traffic of a link: the rate in each direction, and the round-trip times of pings that cross it. */
export default function LinkLive({ lab, link, endpoints }: LinkLiveProps) {
  const [a, b] = endpoints;
  // The host watches a link at its first end that is a node.
  const watched = a.includes(":") ? a : b;
  const [{ now, samples, echoes, estimated }, state] = useLinkLive(lab, link, endpoints, watched);
  if (state.kind === "refused") return <Problem error={state.error} />;
  const position = (at: number) => 1 - (now - at) / windowMs;
  const newest = samples.at(-1);
  const answered = echoes.flatMap(({ at, ms }) => (ms === undefined ? [] : [{ at: position(at), value: ms }]));
  const lost = echoes.filter(({ at, ms }) => ms === undefined && at < now - lostMs).length;
  const last = answered.at(-1)?.value;
  const directions = [
    { from: a, index: 0, class: "live-a" },
    { from: b, index: 1, class: "live-b" },
  ] as const;
  return (
    <section class="link-live" aria-label="Now">
      <h3>Now {state.kind === "broken" && <small>connection lost; reconnecting</small>}</h3>
      <dl>
        {directions.map(({ from, index, class: style }) => (
          <div key={from} class="way">
            <dt>
              <span class={`swatch ${style}`} aria-hidden="true" /> {from} →
            </dt>
            <dd>{newest === undefined ? "…" : `${bitText(newest.bits[index])}, ${countText(newest.packets[index])} frames/s`}</dd>
          </div>
        ))}
        <div class="way">
          <dt>round trip</dt>
          <dd>{last === undefined ? "no pings" : timeText(last)}</dd>
        </div>
      </dl>
      <LiveGraph
        label={`Rates of the last minute, ${estimated ? "estimated, " : ""}up to ${bitText(peak(samples))}`}
        format={bitText}
        lines={directions.map(({ index, class: style }) => ({
          class: style,
          points: samples.map(({ at, bits }) => ({ at: position(at), value: bits[index] })),
        }))}
      />
      {estimated && <p class="hint">Estimated: the service sends only a sample of the packets.</p>}
      {echoes.length > 0 ? (
        <>
          <LiveGraph
            label={`Round trips of the last minute, newest ${last === undefined ? "none" : timeText(last)}`}
            format={timeText}
            lines={[{ class: "live-rtt", points: answered, dots: true }]}
          />
          <p class="hint">
            Pings that leave {watched}: {answered.length} answered{lost > 0 && `, ${lost} not`}, in the last minute.
          </p>
        </>
      ) : (
        <p class="hint">To see round trips here, start a ping on a console, so that its packets leave {watched}.</p>
      )}
    </section>
  );
}

function peak(samples: readonly RateSample[]): number {
  return samples.reduce((max, { bits }) => Math.max(max, ...bits), 0);
}

function countText(count: number): string {
  return count >= 10 ? String(Math.round(count)) : count.toFixed(count === 0 ? 0 : 1);
}

function timeText(ms: number): string {
  return ms >= 100 ? `${Math.round(ms)} ms` : `${ms.toFixed(ms >= 10 ? 1 : 2)} ms`;
}
