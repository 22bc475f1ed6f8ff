/** Formats a duration with its two largest units: "3 d 4 h", "12 s". @param ms not negative */
export function durationText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const units = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const;
  const first = units.findIndex(([count]) => count > 0);
  if (first < 0) return "0 s";
  return units
    .slice(first, first + 2)
    .flatMap(([count, unit], at) => (at > 0 && count === 0 ? [] : [`${count} ${unit}`]))
    .join(" ");
}
