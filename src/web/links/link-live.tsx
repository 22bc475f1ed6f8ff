import { useEffect, useState } from "preact/hooks";
import { usePresence } from "../parts/use-page-visible.ts";
import { Problem } from "../parts/problem.tsx";
import { TrafficRates } from "../traffic/feed/traffic-rates.ts";
import { TrafficWatch, type WatchState } from "../traffic/feed/traffic-watch.ts";
import { type EchoTime, EchoTimes } from "./echo-times.ts";
import { LiveGraph } from "./live-graph.tsx";
import "./link-live.css";

interface LinkLiveProps {
  readonly lab: string;
  /** Key of the link. */
  readonly link: string;
  readonly endpoints: readonly [string, string];
}

/** What left each end at one moment, each second. */
interface Second {
  /** ms since the epoch. */
  readonly at: number;
  readonly bits: readonly [number, number];
  readonly packets: readonly [number, number];
}

interface Shown {
  readonly now: number;
  readonly seconds: readonly Second[];
  readonly echoes: readonly EchoTime[];
  /** Not every packet was told: rates are estimated. */
  readonly estimated: boolean;
}

const windowMs = 60_000;
/** A ping that has no answer after this is taken for lost, ms. */
const lostMs = 2_000;
const nothing: Shown = { now: 0, seconds: [], echoes: [], estimated: false };

/** What passes a link now: how much each way, and how long pings over it take. Watches only while it is looked at. */
export default function LinkLive({ lab, link, endpoints }: LinkLiveProps) {
  const [a, b] = endpoints;
  // The host watches a link at its first end that is a node.
  const watched = a.includes(":") ? a : b;
  const present = usePresence();
  const [shown, setShown] = useState<Shown>(nothing);
  const [state, setState] = useState<WatchState>({ kind: "connecting" });

  useEffect(() => {
    if (!present) return undefined;
    setShown(nothing);
    const rates = new TrafficRates();
    const echoes = new EchoTimes(watched);
    let seconds: readonly Second[] = [];
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
      const all = rates.turn(elapsed);
      const sum = (from: string, of: "bits" | "packets") => all.reduce((total, rate) => total + (rate.from === from ? rate[of] : 0), 0);
      const second: Second = { at: now, bits: [sum(a, "bits"), sum(b, "bits")], packets: [sum(a, "packets"), sum(b, "packets")] };
      seconds = [...seconds.filter(({ at }) => at >= now - windowMs), second];
      setShown({ now, seconds, echoes: echoes.times(now - windowMs), estimated: rates.estimated });
    }, 1_000);
    return () => {
      clearInterval(timer);
      watch.close();
    };
  }, [lab, link, a, b, present]);

  if (state.kind === "refused") return <Problem error={state.error} />;
  const { now, seconds, echoes, estimated } = shown;
  const place = (at: number) => 1 - (now - at) / windowMs;
  const newest = seconds.at(-1);
  const answered = echoes.flatMap(({ at, ms }) => (ms === undefined ? [] : [{ at: place(at), value: ms }]));
  const lost = echoes.filter(({ at, ms }) => ms === undefined && at < now - lostMs).length;
  const last = answered.at(-1)?.value;
  const ways = [
    { from: a, to: b, turn: 0, class: "live-a" },
    { from: b, to: a, turn: 1, class: "live-b" },
  ] as const;
  return (
    <section class="link-live" aria-label="Now">
      <h3>Now {state.kind === "broken" && <small>connection lost; trying again</small>}</h3>
      <dl>
        {ways.map(({ from, turn, class: style }) => (
          <div key={from} class="way">
            <dt>
              <span class={`swatch ${style}`} aria-hidden="true" /> {from} →
            </dt>
            <dd>{newest === undefined ? "…" : `${bitWords(newest.bits[turn])}, ${countWords(newest.packets[turn])} frames/s`}</dd>
          </div>
        ))}
        <div class="way">
          <dt>round trip</dt>
          <dd>{last === undefined ? "no pings pass" : timeWords(last)}</dd>
        </div>
      </dl>
      <LiveGraph
        label={`Rates of the last minute, ${estimated ? "estimated, " : ""}up to ${bitWords(peak(seconds))}`}
        words={bitWords}
        lines={ways.map(({ turn, class: style }) => ({
          class: style,
          points: seconds.map(({ at, bits }) => ({ at: place(at), value: bits[turn] })),
        }))}
      />
      {estimated && <p class="hint">Estimated: more packets pass than are told.</p>}
      {echoes.length > 0 ? (
        <>
          <LiveGraph
            label={`Round trips of the last minute, newest ${last === undefined ? "none" : timeWords(last)}`}
            words={timeWords}
            lines={[{ class: "live-rtt", points: answered, dots: true }]}
          />
          <p class="hint">
            Pings that leave {watched}: {answered.length} answered{lost > 0 && `, ${lost} not`}, in the last minute.
          </p>
        </>
      ) : (
        <p class="hint">Ping over it from a console, out of {watched}: the round trips are drawn here.</p>
      )}
    </section>
  );
}

function peak(seconds: readonly Second[]): number {
  return seconds.reduce((most, { bits }) => Math.max(most, ...bits), 0);
}

function bitWords(bits: number): string {
  if (bits >= 1e6) return `${(bits / 1e6).toFixed(1)} Mbit/s`;
  return bits >= 1e3 ? `${(bits / 1e3).toFixed(1)} kbit/s` : `${Math.round(bits)} bit/s`;
}

function countWords(count: number): string {
  return count >= 10 ? String(Math.round(count)) : count.toFixed(count === 0 ? 0 : 1);
}

function timeWords(ms: number): string {
  return ms >= 100 ? `${Math.round(ms)} ms` : `${ms.toFixed(ms >= 10 ? 1 : 2)} ms`;
}
