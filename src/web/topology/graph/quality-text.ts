import type { LinkQuality, LinkQualitySides } from "../../../contract/schemas/observe.ts";

/** A link's quality in a few words: once where both directions have the same, else each with its arrow; "" for a plain cable. */
export function qualityWords(sides: LinkQualitySides): string {
  const a = sideWords(sides.a ?? {});
  const b = sideWords(sides.b ?? {});
  if (a === b) return a;
  return [a && `→ ${a}`, b && `← ${b}`].filter(Boolean).join(", ");
}

export function sideWords({ delay, jitter, loss, bandwidth }: LinkQuality): string {
  return [
    delay ? `${delay} ms` : "",
    jitter ? `± ${jitter} ms` : "",
    loss ? `${loss} % loss` : "",
    bandwidth ? (bandwidth >= 1000 ? `${bandwidth / 1000} Mbit/s` : `${bandwidth} kbit/s`) : "",
  ]
    .filter(Boolean)
    .join(" ");
}
