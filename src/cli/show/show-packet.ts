import type { Paint } from "./terminal.ts";

/** Returns one line of live traffic: a packet with time, direction and content, or the number of packets that are not shown. */
export function showPacket(paint: Paint, line: Readonly<Record<string, unknown>>): string {
  const { sampled, at, from, to, summary, filter } = line;
  if (typeof sampled === "object" && sampled !== null) {
    const { seen, told: shown, dropped } = sampled as Readonly<Record<string, unknown>>;
    const lost = dropped === 0 ? "" : `, ${dropped} were lost`;
    return paint("yellow", `${shown} of ${seen} packets are shown${lost}`);
  }
  const time = new Date(String(at)).toTimeString().slice(0, 8);
  const named = filter === null || filter === undefined ? "" : `  ${paint("dim", String(filter))}`;
  return `${paint("dim", time)}  ${from} → ${to}  ${summary}${named}`;
}
