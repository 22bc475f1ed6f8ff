const blotted = "********";

/**
 * The same pieces of one text with every secret taken out, also where it runs from one piece into the next or was wrapped by a terminal. One that does
 * runs on stands blotted in the piece where it begins.
 */
export function blot(pieces: readonly string[], secrets: readonly string[]): string[] {
  const wanted = secrets.filter((secret) => secret !== "");
  if (wanted.length === 0) return [...pieces];
  // The longest first: a secret that is the beginning of another must not leave the rest of it.
  const patterns = wanted.toSorted((a, b) => b.length - a.length).map((secret) => [...secret].map(escaped).join("\\n?"));
  const shown = pieces.map(() => "");
  const starts = pieces.map((_, index) => pieces.slice(0, index).reduce((sum, { length }) => sum + length, 0));
  let piece = 0;
  const put = (text: string, from: number, to: number) => {
    for (let at = from; at < to; ) {
      while (piece + 1 < pieces.length && starts[piece + 1]! <= at) piece += 1;
      const end = Math.min(to, starts[piece + 1] ?? to);
      shown[piece] += text.slice(at, end);
      at = end;
    }
  };
  const whole = pieces.join("");
  let at = 0;
  for (const match of whole.matchAll(new RegExp(patterns.join("|"), "gu"))) {
    put(whole, at, match.index);
    while (piece + 1 < pieces.length && starts[piece + 1]! <= match.index) piece += 1;
    shown[piece] += blotted;
    at = match.index + match[0].length;
  }
  put(whole, at, whole.length);
  return shown;
}

function escaped(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
