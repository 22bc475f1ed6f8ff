/** Returns the seconds from one time to another, as Wireshark formats them: 1.234567. Both are RFC 3339 with up to six decimals. */
export function secondsSince(start: string, at: string): string {
  const micros = microsOf(at) - microsOf(start);
  const whole = Math.trunc(micros / 1_000_000);
  const sign = micros < 0 ? "-" : "";
  return `${sign}${Math.abs(whole)}.${String(Math.abs(micros % 1_000_000)).padStart(6, "0")}`;
}

/** Formats the time of day in the browser's time zone: 14:03:59.123456. */
export function clockTime(at: string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(microsOf(at) % 1_000_000).padStart(6, "0")}`;
}

/** Returns microseconds since 1970. */
function microsOf(at: string): number {
  const fraction = /\.(\d+)/.exec(at)?.[1] ?? "";
  const seconds = Math.floor(Date.parse(at.replace(/\.\d+/, "")) / 1000);
  return seconds * 1_000_000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}
