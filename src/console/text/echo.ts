/**
 * Whether the echo of `typed` is in raw terminal output. Line editors wrap, redraw and move back while they echo, so blanks and escape sequences are
 * ignored. An editor that scrolls a long line sideways never shows it whole: then the result stays false.
 */
export function isEchoed(raw: string, typed: string): boolean {
  const shown: string[] = [];
  for (const [piece] of raw.matchAll(pieces)) {
    if (piece === "\b") shown.pop();
    else if (!piece.startsWith("\x1b")) shown.push(piece);
  }
  return solid(shown.join("")).includes(solid(typed));
}

/** An escape sequence, or one character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches escape sequences
const pieces = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()*+].|\x1b.|[\s\S]/gu;

function solid(text: string): string {
  return [...text].filter((character) => character > " " && character !== "\x7f").join("");
}
