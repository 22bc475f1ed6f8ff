/**
 * What a person would read of terminal output: escape sequences taken out, carriage returns, backspaces and erasing carried out
 * line by line. Not a screen: moving the cursor to another line begins a new line.
 */
export function renderText(raw: string): string {
  return renderLines(raw).join("\n");
}

/** The same as lines; the last one is where the cursor stands, "" after a line end. */
export function renderLines(raw: string): string[] {
  const lines: string[] = [];
  let line: string[] = [];
  let column = 0;
  let at = 0;
  const newLine = () => {
    lines.push(line.join(""));
    line = [];
    column = 0;
  };
  while (at < raw.length) {
    const character = raw[at]!;
    const code = raw.charCodeAt(at);
    if (code === 0x1b) {
      const sequence = escapeAt(raw, at);
      at += sequence.length;
      const final = sequence.at(-1);
      if (!sequence.startsWith("\x1b[")) continue;
      const count = Number.parseInt(sequence.slice(2), 10);
      if (final === "K" || final === "J") {
        if (!(count > 0)) line.length = Math.min(line.length, column);
        else if (count === 2) line = [];
      } else if (final === "D") column = Math.max(0, column - (count || 1));
      else if (final === "C") column += count || 1;
      else if (final === "G") column = (count || 1) - 1;
      else if (final === "P") line.splice(column, count || 1);
      else if (final === "H" && line.length > 0) newLine();
      while (line.length < column) line.push(" ");
      continue;
    }
    at += 1;
    if (character === "\n") newLine();
    else if (character === "\r") column = 0;
    else if (character === "\b") column = Math.max(0, column - 1);
    else if (character === "\t") {
      const stop = column + 8 - (column % 8);
      // A tab is kept as a tab where nothing is overwritten, so that output stays as the program wrote it.
      if (column >= line.length) {
        line.push("\t");
        column = line.length;
      } else column = Math.min(stop, line.length);
    } else if (code >= 0x20 && code !== 0x7f) {
      line[column] = character;
      column += 1;
    }
  }
  lines.push(line.join(""));
  return lines;
}

/** The line the cursor stands on, from the end of `raw` only: cheap however long the output. */
export function lastLine(raw: string): string {
  const tail = raw.slice(-4096);
  const start = tail.lastIndexOf("\n");
  return renderLines(start === -1 ? tail : tail.slice(start + 1)).at(-1)!;
}

/** The escape sequence that begins at `at` (CSI, OSC and other strings, charset, two-character); incomplete: all that is left. */
function escapeAt(raw: string, at: number): string {
  const kind = raw[at + 1];
  if (kind === undefined) return raw.slice(at);
  if (kind === "[") {
    let end = at + 2;
    while (end < raw.length && (raw.charCodeAt(end) < 0x40 || raw.charCodeAt(end) > 0x7e)) end += 1;
    return raw.slice(at, end + 1);
  }
  if (kind === "]" || kind === "P" || kind === "_" || kind === "^" || kind === "X") {
    for (let end = at + 2; end < raw.length; end += 1) {
      if (raw[end] === "\x07") return raw.slice(at, end + 1);
      if (raw[end] === "\x1b" && raw[end + 1] === "\\") return raw.slice(at, end + 2);
    }
    return raw.slice(at);
  }
  if ("()*+-./#% ".includes(kind)) return raw.slice(at, at + 3);
  return raw.slice(at, at + 2);
}
