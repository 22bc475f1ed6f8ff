import type { InspectedLink, LinkQuality, LinkQualitySides } from "../../../contract/schemas/observe.ts";

/** Formats a link's quality: once if both directions are equal, otherwise each with an arrow; "" without impairments. */
export function qualityText(sides: LinkQualitySides): string {
  const a = sideText(sides.a ?? {});
  const b = sideText(sides.b ?? {});
  if (a === b) return a;
  return [a && `→ ${a}`, b && `← ${b}`].filter(Boolean).join(", ");
}

/** Returns whether two qualities look the same to people. */
export function sameQuality(one: LinkQualitySides, other: LinkQualitySides): boolean {
  return sideText(one.a ?? {}) === sideText(other.a ?? {}) && sideText(one.b ?? {}) === sideText(other.b ?? {});
}

/** Counts the running links whose quality is another one than the declared one. */
export function liveOnlyLinks(links: readonly Pick<InspectedLink, "quality" | "stored_quality">[]): number {
  return links.filter(({ quality, stored_quality }) => quality !== undefined && !sameQuality(quality, stored_quality ?? {})).length;
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
