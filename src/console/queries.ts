/**
 * What asks a terminal to answer into the console: where its cursor stands, what it is, its size, its colours, its settings. One terminal must
 * answer, and none must answer what was asked long ago.
 */
const queries = {
  escape: /^\x1bZ$/, // DECID
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

const [enquiry, bell, cancel, substitute, escape, backslash] = [0x05, 0x07, 0x18, 0x1a, 0x1b, 0x5c];

/** What begins a string behind an escape: OSC, DCS, SOS, PM, APC. */
const strings: ReadonlySet<number> = new Set(Buffer.from("]PX^_"));

/** Longest sequence that is waited for, bytes: no query is longer. */
const longest = 160;

/** Takes the queries out of bytes that are whole: a scrollback. */
export function withoutQueries(bytes: Buffer): Buffer {
  if (!bytes.includes(escape) && !bytes.includes(enquiry)) return bytes;
  const filter = new QueryFilter();
  return Buffer.concat([filter.push(bytes), filter.waiting]);
}

/**
 * Takes the queries out of a stream, however it is cut into chunks: what may yet become one waits for the next chunk. It reads sequences as terminals do,
 * who begin anew at an escape inside of one, and obey control characters inside of one.
 */
export class QueryFilter {
  #state: "ground" | "escape" | "control" | "string" | "long-string" = "ground";
  /** Sequences that another escape broke off, and the one that is read: nothing of it was passed on yet. */
  #held: number[] = [];
  /** Where in it the one that is read begins. */
  #begin = 0;
  /** What became of a string that the escape ends that is read. */
  #before: "nothing" | "passed" | "dropped" = "nothing";
  #out: Buffer[] = [];

  /** The end of the stream, as far as it is held back. */
  get waiting(): Buffer {
    return Buffer.from(this.#held);
  }

  /** The answer may share its memory with `bytes`. */
  push(bytes: Buffer): Buffer {
    if (this.#state === "ground" && !bytes.includes(escape) && !bytes.includes(enquiry)) return bytes;
    let from = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#state !== "ground" && this.#state !== "long-string") this.#take(byte);
      else if (byte === escape) {
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
    this.#held.push(escape);
    this.#state = "escape";
  }

  #take(byte: number): void {
    if (byte === escape) return this.#restart();
    this.#held.push(byte);
    if (byte === cancel || byte === substitute) return this.#pass();
    if (this.#state === "string") return this.#takeString(byte);
    if (this.#held.length > longest) return this.#giveUp();
    if (isControl(byte)) return;
    if (this.#state === "control") {
      if (byte >= 0x40 && byte <= 0x7e) this.#end(queries.control);
      return;
    }
    if (this.#text().length > 2) {
      if (byte >= 0x30) this.#end(queries.escape);
    } else if (byte === 0x5b) this.#state = "control";
    else if (strings.has(byte)) this.#state = "string";
    else if (byte === backslash && this.#before !== "nothing") {
      if (this.#before === "passed") this.#pass();
      else this.#clear();
    } else if (byte >= 0x30) this.#end(queries.escape);
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

  /** An escape inside of a sequence: a string ends by it, all else is as if it had never been. */
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

  /** The sequence without the control characters in it. */
  #text(): string {
    return String.fromCharCode(escape, ...this.#held.slice(this.#begin + 1).filter((byte) => !isControl(byte)));
  }

  #pass(): void {
    this.#out.push(Buffer.from(this.#held));
    this.#clear();
  }

  /** All but what a terminal would do at once: end the string before it, obey control characters. */
  #drop(): void {
    const ended = this.#before === "passed" ? [escape, backslash] : [];
    this.#out.push(Buffer.from([...ended, ...this.#held.filter((byte) => byte < 0x20 && byte !== escape && byte !== enquiry)]));
    this.#clear();
  }

  /** Too long to be waited for: it is cancelled, as it may be a query by its end. */
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

/** A control character, or one that counts for nothing inside of a sequence. */
function isControl(byte: number): boolean {
  return byte < 0x20 || byte === 0x7f;
}
