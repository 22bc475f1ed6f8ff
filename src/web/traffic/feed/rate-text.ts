import type { TrafficRate } from "./traffic-rates.ts";

/** Formats a rate: "12 packets/s, 9.4 kbit/s", with ≈ if it is estimated. */
export function rateText({ packets, bits }: Pick<TrafficRate, "packets" | "bits">, estimated: boolean): string {
  const about = estimated ? "≈ " : "";
  return `${about}${number(packets)} packets/s, ${bitsText(bits)}`;
}

/** Formats bits per second: "9.4 kbit/s". */
export function bitsText(bits: number): string {
  const units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bits, 1)) / 3)));
  return `${number(bits / 1000 ** power)} ${units[power]}`;
}

/** Formats a number with at least two digits, and without decimals from 10 on. */
function number(value: number): string {
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}
