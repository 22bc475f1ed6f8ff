/** Fewer bytes than this are not proof of an overlap: a prompt occurs many times. */
const minOverlapBytes = 16;

/** Sequences that request an answer from the terminal; the service removes them from the scrollback. */
const queries = new RegExp(
  ["\\x05", "\\x1bZ", "\\x1b\\[\\??[56]n", "\\x1b\\[[>=]?\\d*c", "\\x1b\\[>\\d*q", "\\x1b\\[\\??\\d+\\$p"].join("|"),
  "g",
);

/**
 * Returns the part of a console's scrollback that was not shown yet. A new connection begins with the scrollback: the bytes after the last occurrence of
 * the shown bytes are new. undefined if the scrollback does not contain them, or if they are too few.
 */
export function newOutput(shown: Uint8Array, scrollback: Uint8Array): Uint8Array | undefined {
  const known = withoutQueries(shown);
  if (known.length < minOverlapBytes) return undefined;
  const end = lastEnd(scrollback, known);
  return end === undefined ? undefined : scrollback.subarray(end);
}

/** Returns the index after the last occurrence of `part`. */
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
