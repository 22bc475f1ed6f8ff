import type { TrafficRate } from "../traffic/feed/traffic-rates.ts";

/** The rates of an interface at one time, bit/s. */
export interface RatePoint {
  readonly at: number;
  readonly sent: number;
  readonly received: number;
}

/** The rates of the last two minutes, by the name of the interface, oldest first. */
export type InterfaceRates = ReadonlyMap<string, readonly RatePoint[]>;

const windowMs = 120_000;
const maxPoints = 120;

/** Adds the rates of an interval to those of a node. Interfaces without packets get zero. */
export function withRates(known: InterfaceRates, node: string, interval: readonly TrafficRate[], at: number): InterfaceRates {
  const sums = new Map<string, { sent: number; received: number }>([...known.keys()].map((name) => [name, { sent: 0, received: 0 }]));
  const add = (end: string, bits: number, side: "sent" | "received") => {
    if (!end.startsWith(`${node}:`)) return;
    const name = end.slice(node.length + 1);
    const sum = sums.get(name) ?? { sent: 0, received: 0 };
    sum[side] += bits;
    sums.set(name, sum);
  };
  for (const { from, to, bits } of interval) {
    add(from, bits, "sent");
    add(to, bits, "received");
  }
  return new Map(
    [...sums].map(([name, sum]) => {
      const kept = (known.get(name) ?? []).filter((point) => point.at >= at - windowMs);
      return [name, [...kept, { at, ...sum }].slice(-maxPoints)];
    }),
  );
}
