/** Fewer bytes than these could stand anywhere, as a prompt does. */
const leastBytes = 16;

/** What asks the terminal to answer; the service takes it out of the scrollback. */
const queries = new RegExp(
  ["\\x05", "\\x1bZ", "\\x1b\\[\\??[56]n", "\\x1b\\[[>=]?\\d*c", "\\x1b\\[>\\d*q", "\\x1b\\[\\??\\d+\\$p"].join("|"),
  "g",
);

/**
 * What of a console's scrollback was not shown yet. A new connection begins with the scrollback; where the last bytes that were shown stand in it,
 * only what follows is new. undefined where they do not stand in it, or are too few to tell.
 */
export function unseenPart(seen: Uint8Array, scrollback: Uint8Array): Uint8Array | undefined {
  const shown = withoutQueries(seen);
  if (shown.length < leastBytes) return undefined;
  const end = lastEnd(scrollback, shown);
  return end === undefined ? undefined : scrollback.subarray(end);
}

/** Behind the last place where `part` stands. */
function lastEnd(bytes: Uint8Array, part: Uint8Array): number | undefined {
  for (let at = bytes.length - part.length; at >= 0; at--) {
    let same = 0;
    while (same < part.length && bytes[at + same] === part[same]) same++;
    if (same === part.length) return at + same;
  }
  return undefined;
}

function withoutQueries(bytes: Uint8Array): Uint8Array {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return Uint8Array.from(text.replace(queries, ""), (character) => character.charCodeAt(0));
}
