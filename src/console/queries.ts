/**
 * What asks a terminal to answer into the console: where its cursor stands, what it is, its size, its colours, its settings. One terminal must
 * answer, and none must answer what was asked long ago.
 */
const queries = new RegExp(
  [
    "\\x05", // ENQ
    "\\x1bZ", // DECID
    "\\x1b\\[\\??[56]n", // DSR, CPR
    "\\x1b\\[[>=]?\\d*c", // DA
    "\\x1b\\[>\\d*q", // XTVERSION
    "\\x1b\\[\\??\\d+\\$p", // DECRQM
    "\\x1b\\[(?:1[1-9]|2[01])(?:;\\d+)*t", // window reports
    "\\x1b\\][^\\x07\\x1b]{0,64}\\?(?:\\x07|\\x1b\\\\)", // colours
    "\\x1bP[$+]q[^\\x1b]{0,128}\\x1b\\\\", // DECRQSS, XTGETTCAP
  ].join("|"),
  "g",
);

/** Longest sequence that is waited for, bytes. */
const longest = 160;

/** Takes the queries out of bytes that are whole: a scrollback. */
export function withoutQueries(bytes: Buffer): Buffer {
  if (!bytes.includes(0x1b) && !bytes.includes(0x05)) return bytes;
  const text = bytes.toString("latin1");
  const clean = text.replace(queries, "");
  return clean.length === text.length ? bytes : Buffer.from(clean, "latin1");
}

/** Takes the queries out of a stream, however it is cut into chunks: what may yet become one waits for the next chunk. */
export class QueryFilter {
  #waiting: Buffer = Buffer.alloc(0);

  /** The end of the stream, as far as it is held back. */
  get waiting(): Buffer {
    return this.#waiting;
  }

  push(bytes: Buffer): Buffer {
    const whole = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes]);
    const cut = whole.length - unfinishedAt(whole);
    this.#waiting = whole.subarray(cut);
    return withoutQueries(whole.subarray(0, cut));
  }
}

/** Bytes at the end that are the beginning of an escape sequence. */
function unfinishedAt(bytes: Buffer): number {
  const start = bytes.lastIndexOf(0x1b);
  if (start === -1 || bytes.length - start > longest) return 0;
  const kind = bytes[start + 1];
  if (kind === undefined) {
    // It may be the first byte of the end (ESC \\) of a string that began before.
    const string = start > 0 ? bytes.lastIndexOf(0x1b, start - 1) : -1;
    const strung = string !== -1 && start - string < longest && (bytes[string + 1] === 0x5d || bytes[string + 1] === 0x50);
    return bytes.length - (strung && !bytes.subarray(string, start).includes(0x07) ? string : start);
  }
  if (kind === 0x5b) return bytes.subarray(start + 2).some((byte) => byte >= 0x40 && byte <= 0x7e) ? 0 : bytes.length - start;
  if (kind === 0x5d || kind === 0x50) return bytes.subarray(start + 2).includes(0x07) ? 0 : bytes.length - start;
  return 0;
}
