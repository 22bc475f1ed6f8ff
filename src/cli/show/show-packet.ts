import type { Paint } from "./terminal.ts";

/** One line of live traffic: a packet – when, from where to where, what – or how many were left out. */
export function showPacket(paint: Paint, line: Readonly<Record<string, unknown>>): string {
  const { sampled, at, from, to, summary, filter } = line;
  if (typeof sampled === "object" && sampled !== null) {
    const { seen, told, dropped } = sampled as Readonly<Record<string, unknown>>;
    const lost = dropped === 0 ? "" : `, ${dropped} were lost before anybody saw them`;
    return paint("yellow", `${told} of ${seen} packets are shown${lost}`);
  }
  const time = new Date(String(at)).toTimeString().slice(0, 8);
  const named = filter === null || filter === undefined ? "" : `  ${paint("dim", String(filter))}`;
  return `${paint("dim", time)}  ${from} → ${to}  ${summary}${named}`;
}
