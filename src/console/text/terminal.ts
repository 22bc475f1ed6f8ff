/**
 * Maximum columns that a cursor can move to the left, and to the right. Text further left on one line is final: no line editor goes back there. This
 * limits the work per byte for any output.
 */
const reach = 1024;

/** A longer incomplete sequence is taken as it is at the end of a piece. */
const maxSequence = 4096;

/**
 * Returns the readable text of terminal output: escape sequences are removed; carriage returns, backspaces and erasing are applied line by line. It
 * is not a screen: moving the cursor to another line starts a new line. Time and memory are linear in the length of `raw`.
 */
export function renderText(raw: string): string {
  return renderLines(raw).join("\n");
}

/** Returns the same as lines. The last one is the cursor's line, "" after a line end. */
export function renderLines(raw: string): string[] {
  const lines: string[] = [];
  const rendering = new Rendering((line) => lines.push(line));
  rendering.push(raw);
  rendering.end();
  lines.push(rendering.line);
  return lines;
}

/** Does the same for output in pieces: each piece costs time in proportion to its length. */
export class Rendering {
  readonly #onLine: (line: string) => void;
  // Blanks from moves to the right: at most as many as text, so that a few bytes cannot ask for gigabytes.
  readonly #line = new Line();
  /** The start of a sequence or of a line end. */
  #held = "";

  /** @param onLine called with each finished line */
  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Index of the cursor. */
  get line(): string {
    return this.#line.text;
  }

  push(piece: string): void {
    this.#line.allow(piece.length);
    this.#take(this.#held + piece, false);
  }

  /** Ends the output: an incomplete sequence is taken as it is. */
  end(): void {
    this.#take(this.#held, true);
  }

  #take(raw: string, whole: boolean): void {
    this.#held = "";
    const line = this.#line;
    for (let at = 0; at < raw.length; ) {
      const code = raw.charCodeAt(at);
      if (isPrintable(code)) {
        let end = at + 1;
        while (end < raw.length && isPrintable(raw.charCodeAt(end))) end += 1;
        line.print(raw.slice(at, end));
        at = end;
        continue;
      }
      const sequence = code === 0x1b ? escapeAt(raw, at) : code === 0x0d && raw.charCodeAt(at + 1) === 0x0a ? "\r\n" : raw[at]!;
      // The end may continue in the next piece, unless it is longer than any sequence.
      if (!whole && at + sequence.length === raw.length && (code === 0x1b || sequence === "\r") && sequence.length < maxSequence) {
        this.#held = sequence;
        return;
      }
      at += sequence.length;
      if (code === 0x0a || sequence === "\r\n") this.#onLine(line.take());
      // Home, or another line: the text so far is a line of its own.
      else if (sequence.startsWith("\x1b[") && sequence.endsWith("H") && !line.empty) this.#onLine(line.take());
      else if (code === 0x1b) line.obey(sequence);
      else line.control(code);
    }
  }
}

/** Returns the cursor's line from the end of `raw` only: fast for any length of output. */
export function lastLine(raw: string): string {
  const tail = raw.slice(-4096);
  const start = tail.lastIndexOf("\n");
  return renderLines(start === -1 ? tail : tail.slice(start + 1)).at(-1)!;
}

/** 0x80 to 0x9f are 8-bit control characters. */
function isPrintable(code: number): boolean {
  return code >= 0x20 && (code < 0x7f || code > 0x9f);
}

/** One line of a terminal. It is a string while it only grows, and cells when the cursor moves back. */
class Line {
  #settled = "";
  #flat = "";
  #cells: string[] | undefined;
  #column = 0;
  #blanks = 0;

  /** @param blanks how many more blanks moves to the right may leave */
  allow(blanks: number): void {
    this.#blanks += blanks;
  }

  get text(): string {
    return this.#settled + (this.#cells?.join("") ?? this.#flat);
  }

  get empty(): boolean {
    return this.#settled === "" && this.#flat === "" && (this.#cells?.length ?? 0) === 0;
  }

  /** Returns the text and empties the line. */
  take(): string {
    const { text } = this;
    this.#settled = "";
    this.#flat = "";
    this.#cells = undefined;
    this.#column = 0;
    return text;
  }

  print(text: string): void {
    const cells = this.#cells;
    if (cells === undefined) {
      this.#flat += text;
      return;
    }
    for (const character of text) {
      for (; cells.length < this.#column && this.#blanks > 0; this.#blanks -= 1) cells.push(" ");
      this.#column = Math.min(this.#column, cells.length);
      cells[this.#column] = character;
      this.#column += 1;
      if (cells.length < 2 * reach) continue;
      this.#settled += cells.splice(0, reach).join("");
      this.#column -= reach;
    }
  }

  control(code: number): void {
    if (code === 0x0d) this.#move(() => 0);
    else if (code === 0x08) this.#move((column) => column - 1);
    else if (code === 0x09) this.#tab();
  }

  /** Erases, deletes and moves within the line; every other sequence is ignored. */
  obey(sequence: string): void {
    if (!sequence.startsWith("\x1b[")) return;
    const count = Number.parseInt(sequence.slice(2), 10);
    const some = Math.min(count || 1, reach);
    switch (sequence.at(-1)) {
      case "K":
      case "J":
        if (count === 2) this.#toCells().length = 0;
        // At the end there is nothing to erase.
        else if (!(count > 0) && this.#cells !== undefined) this.#cells.length = Math.min(this.#cells.length, this.#column);
        break;
      case "D":
        this.#move((column) => column - some);
        break;
      case "C":
        this.#move((column) => column + some);
        break;
      case "G":
        this.#move(() => some - 1);
        break;
      case "P":
        if (this.#cells !== undefined) this.#cells.splice(this.#column, some);
        break;
    }
  }

  #tab(): void {
    const cells = this.#cells;
    // A tab stays a tab unless text is overwritten, so that output stays as the program wrote it.
    if (cells === undefined || this.#column >= cells.length) this.print("\t");
    else this.#column = Math.min(this.#column + 8 - (this.#column % 8), cells.length);
  }

  #move(to: (column: number) => number): void {
    this.#toCells();
    this.#column = Math.min(Math.max(0, to(this.#column)), 2 * reach - 1);
  }

  #toCells(): string[] {
    if (this.#cells !== undefined) return this.#cells;
    // A surrogate pair is not split: the cut moves left of it.
    let cut = Math.max(0, this.#flat.length - reach);
    if (cut > 0 && (this.#flat.charCodeAt(cut) & 0xfc00) === 0xdc00) cut -= 1;
    this.#settled = this.#flat.slice(0, cut);
    this.#cells = [...this.#flat.slice(cut)];
    this.#flat = "";
    this.#column = this.#cells.length;
    return this.#cells;
  }
}

/** Returns the escape sequence that begins at `at` (CSI, OSC and other strings, charset, two-character); if incomplete, the rest of the text. */
export function escapeAt(raw: string, at: number): string {
  const kind = raw[at + 1];
  if (kind === undefined) return raw.slice(at);
  if (kind === "[") {
    let end = at + 2;
    while (end < raw.length && (raw.charCodeAt(end) < 0x40 || raw.charCodeAt(end) > 0x7e)) {
      // A parameter is never a control character: the sequence was cut off, and the rest is output.
      if (raw.charCodeAt(end) < 0x20) return raw.slice(at, end);
      end += 1;
    }
    return raw.slice(at, end + 1);
  }
  if (kind === "]" || kind === "P" || kind === "_" || kind === "^" || kind === "X") {
    for (let end = at + 2; end < raw.length; end += 1) {
      const code = raw.charCodeAt(end);
      if (code === 0x07) return raw.slice(at, end + 1);
      if (code === 0x1b) return raw.slice(at, raw[end + 1] === "\\" ? end + 2 : end);
      // A title has no line ends. Binary noise that looks like the start of one must not hide the text that follows.
      if (code === 0x0a) return raw.slice(at, end);
    }
    return raw.slice(at);
  }
  if ("()*+-./#% ".includes(kind)) return raw.slice(at, at + 3);
  return raw.slice(at, at + 2);
}
