import { hostFailure } from "./host-failure.ts";

/** EVE-NG nests about six levels. JSON.parse takes many seconds and gigabytes for millions of levels. */
const maxDepth = 100;
/** Maximum number of objects, lists and values in one answer. A folder with ten thousand labs has a tenth of this. */
const maxParts = 1_000_000;

/**
 * Parses the JSON object of an answer. Returns `undefined` if the body is something else. Throws host_error if it has more levels or parts than any
 * real answer.
 */
export function parseJson(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  checkShape(body);
  try {
    const json: unknown = JSON.parse(body.toString("utf8"));
    return typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

const tooMany = `the host's answer has more than ${maxParts} parts: this is not an EVE-NG host`;

/** Counts brackets and commas outside of strings in one pass over the bytes. */
function checkShape(body: Buffer): void {
  const [quote, backslash, openList, closeList, openObject, closeObject, comma] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d, 0x2c];
  // HTML pages and texts are recognized by their first character and not parsed.
  const first = body.find((byte) => byte > 0x20);
  if (first !== openObject && first !== openList) return;
  let [depth, parts, isText] = [0, 0, false];
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (isText) {
      if (byte === backslash) at++;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === openList || byte === openObject) {
      if (++depth > maxDepth) throw hostFailure(`the host's answer is nested deeper than ${maxDepth} levels: this is not an EVE-NG host`);
      if (++parts > maxParts) throw hostFailure(tooMany);
    } else if (byte === closeList || byte === closeObject) depth--;
    else if (byte === comma && ++parts > maxParts) throw hostFailure(tooMany);
  }
}
