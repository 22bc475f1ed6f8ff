const offset = 0xcbf29ce484222325n;
const prime = 0x100000001b3n;
const mask = 0xffffffffffffffffn;

/** Returns the same UUID for the same words, so that two exports of a lab are the same files. Of version 8: no random numbers, no time. */
export function stableId(...words: readonly string[]): string {
  const text = words.join("\0");
  const hex = [fnv(`a${text}`), fnv(`b${text}`)].map((part) => part.toString(16).padStart(16, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** 64-bit FNV-1a of the UTF-16 units: not against forgers. */
function fnv(text: string): bigint {
  let hash = offset;
  for (let at = 0; at < text.length; at++) hash = ((hash ^ BigInt(text.charCodeAt(at))) * prime) & mask;
  return hash;
}
