import type { CapturePacketRow, CapturePacketsData } from "../../../contract/schemas/captures.ts";

export interface PacketRowsQuery {
  readonly skip: number;
  readonly limit: number;
  /** A display filter; empty: all packets. */
  readonly filter: string;
}

export type AskPackets = (query: PacketRowsQuery, signal: AbortSignal) => Promise<CapturePacketsData>;

/** Rows that are asked for at once. */
const chunkRows = 200;
/** Rows beyond those in sight that are fetched before they come into sight. */
const ahead = 150;
/** So much is remembered: the chunks that were looked at last. */
const mostChunks = 60;

/**
 * The packets of a capture that a display filter takes, as far as somebody looks at them. However many there are, what is fetched and remembered are
 * the rows around those that are seen.
 */
export class PacketRows {
  readonly filter: string;
  /** Packets of the capture, whatever the filter. */
  total = 0;
  /** Of them, those that the filter takes: the rows that there are. */
  count = 0;
  /** As long as it is the same, numbers mean the same packets: when the oldest are dropped, the others are numbered anew. Undefined before the first look. */
  view: string | undefined;
  /** Why rows that somebody looks at could not be had. */
  error: unknown;
  readonly #ask: AskPackets;
  readonly #changed: () => void;
  readonly #closed = new AbortController();
  /** By number of the chunk, the one looked at last at the end. */
  readonly #chunks = new Map<number, readonly CapturePacketRow[]>();
  #seen: readonly [number, number] = [0, 0];
  #fetching = false;

  /** @param changed called when there is something else to show */
  constructor(filter: string, ask: AskPackets, changed: () => void) {
    this.filter = filter;
    this.#ask = ask;
    this.#changed = changed;
  }

  /** Undefined: it is on its way. @param index from 0 */
  row(index: number): CapturePacketRow | undefined {
    return this.#chunks.get(Math.floor(index / chunkRows))?.[index % chunkRows];
  }

  /** Rows from `first` to before `end` are looked at: what is missing of them is fetched. */
  see(first: number, end: number): void {
    this.#seen = [first, end];
    if (!this.#fetching && this.error === undefined) void this.#fetchSeen();
  }

  /** Looks whether there are more. Throws what the service refuses, LabwrightError bad_request for a wrong filter. */
  async look(): Promise<void> {
    await this.#fetch(Math.floor(this.count / chunkRows));
    this.see(...this.#seen);
  }

  /** After an error. */
  retry(): void {
    this.error = undefined;
    this.see(...this.#seen);
    this.#changed();
  }

  close(): void {
    this.#closed.abort();
  }

  async #fetchSeen(): Promise<void> {
    this.#fetching = true;
    const tried = new Set<number>();
    try {
      for (let chunk = this.#missing(tried); chunk !== undefined; chunk = this.#missing(tried)) {
        tried.add(chunk);
        await this.#fetch(chunk);
      }
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      this.error = error;
      this.#changed();
    } finally {
      this.#fetching = false;
    }
  }

  /** The first chunk of what is looked at that is not there whole; then of what is about to be, in either direction. */
  #missing(tried: ReadonlySet<number>): number | undefined {
    const [first, end] = this.#seen;
    return [...chunksOf(first, end), ...chunksOf(end, end + ahead), ...chunksOf(first - ahead, first)].find((chunk) => {
      const expected = Math.min(chunkRows, this.count - chunk * chunkRows);
      return expected > 0 && (this.#chunks.get(chunk)?.length ?? 0) < expected && !tried.has(chunk);
    });
  }

  async #fetch(chunk: number): Promise<void> {
    const { signal } = this.#closed;
    const answer = await this.#ask({ skip: chunk * chunkRows, limit: chunkRows, filter: this.filter }, signal);
    if (signal.aborted) return;
    const { view, total, matching = total, packets } = answer;
    if (this.view !== view) {
      this.#chunks.clear();
      this.view = view;
    }
    this.total = total;
    this.count = matching;
    this.#chunks.delete(chunk);
    if (packets.length > 0) this.#chunks.set(chunk, packets);
    for (const oldest of [...this.#chunks.keys()].slice(0, Math.max(0, this.#chunks.size - mostChunks))) this.#chunks.delete(oldest);
    this.#changed();
  }
}

/** Chunks that rows from `first` to before `end` stand in. */
function chunksOf(first: number, end: number): readonly number[] {
  const from = Math.max(0, Math.floor(first / chunkRows));
  return Array.from({ length: Math.max(0, Math.ceil(end / chunkRows) - from) }, (_, at) => from + at);
}
