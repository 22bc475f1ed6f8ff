/**
 * Sequences that ask a terminal to answer into the console: its cursor position, type, size, colours, settings. One terminal must answer, and no
 * terminal must answer old queries.
 */
const queries = {
  escape: /^.Z$/, // DECID
  control: new RegExp(
    [
      "\\??0*[56](?:;[^n]*)?n", // DSR, CPR
      "[>=]?[\\d;:]*c", // DA
      ">[\\d;:]*q", // XTVERSION
      "\\??[\\d;:]+\\$p", // DECRQM
      "0*(?:1[1-9]|2[01])(?:;[\\d;:]*)?t", // window reports
    ]
      .map((body) => `^\\x1b\\[${body}$`)
      .join("|"),
  ),
  string: new RegExp(
    [
      "\\x1b\\][^]*\\?", // colours
      "\\x1bP[$+]q[^]*", // DECRQSS, XTGETTCAP
    ]
      .map((body) => `^${body}$`)
      .join("|"),
  ),
} as const;

const [enquiry, bell, cancel, substitute, esc, backslash] = [0x05, 0x07, 0x18, 0x1a, 0x1b, 0x5c];

/** Starts of strings behind an escape: OSC, DCS, SOS, PM, APC. */
const strings: ReadonlySet<number> = new Set(Buffer.from("]PX^_"));

/** Final characters of control sequences that are queries. */
const asking: ReadonlySet<number> = new Set(Buffer.from("ncqpt"));

/** Maximum length of a sequence that is held back, bytes: no query is longer. */
const longest = 160;

/** Removes the queries from complete bytes, such as a scrollback. */
export function withoutQueries(bytes: Buffer): Buffer {
  if (!bytes.includes(esc) && !bytes.includes(enquiry)) return bytes;
  const filter = new QueryFilter();
  return Buffer.concat([filter.push(bytes), filter.waiting]);
}

/**
 * Removes the queries from a stream in any division into chunks: the start of a possible query is held back until the next chunk. Reads sequences as
 * terminals do: an escape inside a sequence starts a new one, and control characters inside take effect.
 */
export class QueryFilter {
  #state: "ground" | "escape" | "control" | "string" | "long-string" = "ground";
  /** Sequences that another escape interrupted, and the current one: none of it was passed on yet. */
  #held: number[] = [];
  /** Start of the current sequence. */
  #begin = 0;
  /** At an escape: whether a string precedes it, and whether the string was passed on or dropped. The escape may be the string's end. */
  #before: "nothing" | "passed" | "dropped" = "nothing";
  #out: Buffer[] = [];

  /** Returns the end of the stream that is held back. */
  get waiting(): Buffer {
    return Buffer.from(this.#held);
  }

  /** The result may share its memory with `bytes`. */
  push(bytes: Buffer): Buffer {
    if (this.#state === "ground" && !bytes.includes(esc) && !bytes.includes(enquiry)) return bytes;
    let from = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#state !== "ground" && this.#state !== "long-string") this.#take(byte);
      else if (byte === esc) {
        const end = this.#state === "ground" ? endOfHarmless(bytes, at) : -1;
        if (end !== -1) {
          at = end;
          continue;
        }
        this.#out.push(bytes.subarray(from, at));
        if (this.#state === "long-string") this.#before = "passed";
        this.#start();
      } else if (byte === enquiry && this.#state === "ground") this.#out.push(bytes.subarray(from, at));
      else {
        if (byte === bell || byte === cancel || byte === substitute) this.#state = "ground";
        continue;
      }
      from = at + 1;
    }
    this.#out.push(bytes.subarray(from));
    const parts = this.#out.filter(({ length }) => length > 0);
    this.#out = [];
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  #start(): void {
    this.#begin = this.#held.length;
    this.#held.push(esc);
    this.#state = "escape";
  }

  #take(byte: number): void {
    if (byte === esc) {
      this.#restart();
      return;
    }
    this.#held.push(byte);
    if (byte === cancel || byte === substitute) this.#pass();
    else if (this.#state === "string") this.#takeString(byte);
    else if (this.#held.length > longest) this.#giveUp();
    else if (isControl(byte)) return;
    else if (this.#state === "escape") this.#takeEscape(byte);
    else if (byte >= 0x40 && byte <= 0x7e) this.#end(queries.control);
  }

  #takeEscape(byte: number): void {
    const second = this.#text().length === 2;
    if (second && byte === 0x5b) this.#state = "control";
    else if (second && strings.has(byte)) this.#state = "string";
    else if (second && byte === backslash && this.#before === "dropped") this.#clear();
    else if (byte >= 0x30) this.#end(queries.escape);
  }

  #takeString(byte: number): void {
    if (byte === bell) {
      if (queries.string.test(this.#text())) this.#clear();
      else this.#pass();
    } else if (this.#held.length > longest) {
      this.#pass();
      this.#state = "long-string";
    }
  }

  /** Handles an escape inside a sequence: it ends a string; any other sequence has no effect. */
  #restart(): void {
    if (this.#state === "string") {
      const asked = queries.string.test(this.#text());
      if (asked) this.#clear();
      else this.#pass();
      this.#before = asked ? "dropped" : "passed";
    } else if (this.#held.length > longest) this.#giveUp();
    this.#start();
  }

  #end(query: RegExp): void {
    if (query.test(this.#text())) this.#drop();
    else this.#pass();
  }

  /** Returns the sequence without the control characters in it. */
  #text(): string {
    return String.fromCharCode(esc, ...this.#held.slice(this.#begin + 1).filter((byte) => !isControl(byte)));
  }

  #pass(): void {
    this.#out.push(Buffer.from(this.#held));
    this.#clear();
  }

  /** Keeps only what a terminal would do at once: end the string before it, and run control characters. */
  #drop(): void {
    const ended = this.#before === "passed" ? [esc, backslash] : [];
    this.#out.push(Buffer.from([...ended, ...this.#held.filter((byte) => byte < 0x20 && byte !== esc && byte !== enquiry)]));
    this.#clear();
  }

  /** The sequence is too long to hold back: it is cancelled, because it may be a query. */
  #giveUp(): void {
    this.#held.push(cancel);
    this.#pass();
  }

  #clear(): void {
    this.#held = [];
    this.#begin = 0;
    this.#before = "nothing";
    this.#state = "ground";
  }
}

/** Returns the end of a complete control sequence that cannot be a query, such as a colour; otherwise -1. */
function endOfHarmless(bytes: Buffer, start: number): number {
  if (bytes[start + 1] !== 0x5b) return -1;
  let at = start + 2;
  while (bytes[at]! >= 0x20 && bytes[at]! < 0x40) at++;
  return bytes[at]! >= 0x40 && bytes[at]! < 0x7f && !asking.has(bytes[at]!) ? at : -1;
}

/** Whether the byte is a control character, or one that is ignored inside a sequence. */
function isControl(byte: number): boolean {
  return byte < 0x20 || byte === 0x7f;
}
