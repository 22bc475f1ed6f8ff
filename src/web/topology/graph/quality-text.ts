import type { LinkQuality, LinkQualitySides } from "../../../contract/schemas/observe.ts";

/** Formats a link's quality: once if both directions are equal, otherwise each with an arrow; "" without impairments. */
export function qualityText(sides: LinkQualitySides): string {
  const a = sideText(sides.a ?? {});
  const b = sideText(sides.b ?? {});
  if (a === b) return a;
  return [a && `→ ${a}`, b && `← ${b}`].filter(Boolean).join(", ");
}

export function sideText({ delay, jitter, loss, bandwidth }: LinkQuality): string {
  return [
    delay ? `${delay} ms` : "",
    jitter ? `± ${jitter} ms` : "",
    loss ? `${loss} % loss` : "",
    bandwidth ? (bandwidth >= 1000 ? `${bandwidth / 1000} Mbit/s` : `${bandwidth} kbit/s`) : "",
  ]
    .filter(Boolean)
    .join(" ");
}
