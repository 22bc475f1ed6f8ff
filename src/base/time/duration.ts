const units = { d: 86_400, h: 3_600, m: 60 } as const;

/** A duration in days, hours and minutes, as a regular expression of JSON Schema. */
export const durationPattern = "^(?=.)([0-9]{1,5}d)?([0-9]{1,5}h)?([0-9]{1,5}m)?$";

const pattern = new RegExp(durationPattern);

/** Reads 8h, 90m, 2d or 1h30m. Returns seconds; undefined for any other text. */
export function readDuration(text: string): number | undefined {
  const found = pattern.exec(text);
  if (found === null) return undefined;
  return Object.values(units).reduce((sum, seconds, index) => sum + Number.parseInt(found[index + 1] ?? "0", 10) * seconds, 0);
}

/** Returns the shortest text that readDuration reads as this number of seconds, rounded up to minutes: 1d2h, 90m as 1h30m. */
export function durationText(seconds: number): string {
  let left = Math.ceil(seconds / 60) * 60;
  const parts: string[] = [];
  for (const [unit, size] of Object.entries(units)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.length === 0 ? "0m" : parts.join("");
}
