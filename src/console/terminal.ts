/**
 * Columns a cursor can reach to the left, and at most to the right. What stands further left on one line is settled: no line editor goes
 * back there. It bounds the work per byte, whatever a node says.
 */
const reach = 1024;

/** Longer ones are taken as they are when a piece ends. */
const longestSequence = 4096;

/**
 * What a person would read of terminal output: escape sequences taken out, carriage returns, backspaces and erasing carried out
 * line by line. Not a screen: moving the cursor to another line begins a new line. Time and memory are linear in the length of `raw`.
 */
export function renderText(raw: string): string {
  return renderLines(raw).join("\n");
}

/** The same as lines; the last one is where the cursor stands, "" after a line end. */
export function renderLines(raw: string): string[] {
  const lines: string[] = [];
  const rendering = new Rendering((line) => lines.push(line));
  rendering.push(raw);
  rendering.end();
  lines.push(rendering.line);
  return lines;
}

/** The same for output that comes piece by piece, however it is cut: each piece costs what it is long. */
export class Rendering {
  readonly #onLine: (line: string) => void;
  // Blanks that moves to the right leave: never more than there is text, or a few bytes could ask for gigabytes.
  readonly #line = new Line();
  /** The beginning of a sequence, or of a line end. */
  #held = "";

  /** @param onLine told each line that has ended */
  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Where the cursor stands. */
  get line(): string {
    return this.#line.text;
  }

  push(piece: string): void {
    this.#line.allow(piece.length);
    this.#take(this.#held + piece, false);
  }

  /** Nothing more comes: what was begun is taken as it is. */
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
      // What ends here may go on with the next piece, unless it is longer than any.
      if (!whole && at + sequence.length === raw.length && (code === 0x1b || sequence === "\r") && sequence.length < longestSequence) {
        this.#held = sequence;
        return;
      }
      at += sequence.length;
      if (code === 0x0a || sequence === "\r\n") this.#onLine(line.take());
      // Home, or another line: what was there is a line of its own.
      else if (sequence.startsWith("\x1b[") && sequence.endsWith("H") && !line.empty) this.#onLine(line.take());
      else if (code === 0x1b) line.obey(sequence);
      else line.control(code);
    }
  }
}

/** The line the cursor stands on, from the end of `raw` only: cheap however long the output. */
export function lastLine(raw: string): string {
  const tail = raw.slice(-4096);
  const start = tail.lastIndexOf("\n");
  return renderLines(start === -1 ? tail : tail.slice(start + 1)).at(-1)!;
}

/** 0x80 to 0x9f are control characters of 8 bits. */
function isPrintable(code: number): boolean {
  return code >= 0x20 && (code < 0x7f || code > 0x9f);
}

/** One line of a terminal. As long as it only grows it is a string; it becomes cells when something goes back in it. */
class Line {
  #settled = "";
  #flat = "";
  #cells: string[] | undefined;
  #column = 0;
  #blanks = 0;

  /** @param blanks so many more that moves to the right may leave */
  allow(blanks: number): void {
    this.#blanks += blanks;
  }

  get text(): string {
    return this.#settled + (this.#cells?.join("") ?? this.#flat);
  }

  get empty(): boolean {
    return this.#settled === "" && this.#flat === "" && (this.#cells?.length ?? 0) === 0;
  }

  /** What stands there; the line is empty then. */
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

  /** Erasing, deleting and moving within the line; every other sequence means nothing here. */
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
    // A tab is kept as a tab where nothing is overwritten, so that output stays as the program wrote it.
    if (cells === undefined || this.#column >= cells.length) this.print("\t");
    else this.#column = Math.min(this.#column + 8 - (this.#column % 8), cells.length);
  }

  #move(to: (column: number) => number): void {
    this.#toCells();
    this.#column = Math.min(Math.max(0, to(this.#column)), 2 * reach - 1);
  }

  #toCells(): string[] {
    if (this.#cells !== undefined) return this.#cells;
    // A pair of surrogates is not torn: the cut moves left of it.
    let cut = Math.max(0, this.#flat.length - reach);
    if (cut > 0 && (this.#flat.charCodeAt(cut) & 0xfc00) === 0xdc00) cut -= 1;
    this.#settled = this.#flat.slice(0, cut);
    this.#cells = [...this.#flat.slice(cut)];
    this.#flat = "";
    this.#column = this.#cells.length;
    return this.#cells;
  }
}

/** The escape sequence that begins at `at` (CSI, OSC and other strings, charset, two-character); incomplete: all that is left. */
export function escapeAt(raw: string, at: number): string {
  const kind = raw[at + 1];
  if (kind === undefined) return raw.slice(at);
  if (kind === "[") {
    let end = at + 2;
    while (end < raw.length && (raw.charCodeAt(end) < 0x40 || raw.charCodeAt(end) > 0x7e)) {
      // No parameter is a control character: the sequence was cut off, and what follows is output.
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
      // A title has no line ends; binary noise that looks like the beginning of one must not swallow all that follows.
      if (code === 0x0a) return raw.slice(at, end);
    }
    return raw.slice(at);
  }
  if ("()*+-./#% ".includes(kind)) return raw.slice(at, at + 3);
  return raw.slice(at, at + 2);
}
