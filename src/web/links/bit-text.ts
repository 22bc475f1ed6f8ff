/** Formats a rate: "3.9 kbit/s". */
export function bitText(bits: number): string {
  if (bits >= 1e6) return `${(bits / 1e6).toFixed(1)} Mbit/s`;
  return bits >= 1e3 ? `${(bits / 1e3).toFixed(1)} kbit/s` : `${Math.round(bits)} bit/s`;
}
