import type { TrafficRate } from "./traffic-rates.ts";

/** "12 packets/s, 9.4 kbit/s"; estimated ones with ≈ before them. */
export function rateWords({ packets, bits }: Pick<TrafficRate, "packets" | "bits">, estimated: boolean): string {
  const about = estimated ? "≈ " : "";
  return `${about}${number(packets)} packets/s, ${bitsWords(bits)}`;
}

function bitsWords(bits: number): string {
  const units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bits, 1)) / 3)));
  return `${number(bits / 1000 ** power)} ${units[power]}`;
}

/** Two digits at least, none behind the point where there are enough before it. */
function number(value: number): string {
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}
