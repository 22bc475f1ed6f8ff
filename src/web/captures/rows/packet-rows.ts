import type { CapturePacketRow, CapturePacketsData } from "../../../contract/schemas/captures.ts";

export interface PacketRowsQuery {
  readonly skip: number;
  readonly limit: number;
  /** A display filter; empty: all packets. */
  readonly filter: string;
}

export type AskPackets = (query: PacketRowsQuery, signal: AbortSignal) => Promise<CapturePacketsData>;

/** Number of rows in one request. */
const chunkRows = 200;
/** Number of rows beyond the visible ones that are fetched in advance. */
const rowsAhead = 150;
/** Maximum number of cached chunks. The least recently used ones are dropped. */
const maxChunks = 60;

/**
 * The packets of a capture that match a display filter. Only the rows around the visible ones are fetched and cached, so that the size of the capture
 * does not matter.
 */
export class PacketRows {
  readonly filter: string;
  /** Number of packets in the capture, with and without a match. */
  total = 0;
  /** Number of packets that match the filter, which is the number of rows. */
  count = 0;
  /** Identifies the numbering: it changes when the oldest packets are dropped and the others are renumbered. undefined before the first response. */
  view: string | undefined;
  /** Why visible rows could not be read; undefined: no error. */
  error: unknown;
  readonly #ask: AskPackets;
  readonly #changed: () => void;
  readonly #closed = new AbortController();
  /** Rows by index of the chunk, the most recently used chunk last. */
  readonly #chunks = new Map<number, readonly CapturePacketRow[]>();
  #visible: readonly [number, number] = [0, 0];
  #fetching = false;

  /** @param changed called when rows, counts or the error changed */
  constructor(filter: string, ask: AskPackets, changed: () => void) {
    this.filter = filter;
    this.#ask = ask;
    this.#changed = changed;
  }

  /** Returns a row; undefined if it is not loaded yet. @param index from 0 */
  row(index: number): CapturePacketRow | undefined {
    return this.#chunks.get(Math.floor(index / chunkRows))?.[index % chunkRows];
  }

  /** Sets the visible rows, from `first` to before `end`, and fetches the missing ones. */
  show(first: number, end: number): void {
    this.#visible = [first, end];
    if (!this.#fetching && this.error === undefined) void this.#fetchVisible();
  }

  /** Reads the newest packets. Throws LabwrightError, with the code bad_request for an invalid filter. */
  async poll(): Promise<void> {
    await this.#fetch(Math.floor(this.count / chunkRows));
    this.show(...this.#visible);
  }

  /** Fetches the visible rows again after an error. */
  retry(): void {
    this.error = undefined;
    this.show(...this.#visible);
    this.#changed();
  }

  close(): void {
    this.#closed.abort();
  }

  async #fetchVisible(): Promise<void> {
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

  /** Returns the first incomplete chunk of the visible rows, or else of the rows after and before them. */
  #missing(tried: ReadonlySet<number>): number | undefined {
    const [first, end] = this.#visible;
    return [...chunksOf(first, end), ...chunksOf(end, end + rowsAhead), ...chunksOf(first - rowsAhead, first)].find((chunk) => {
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
    for (const oldest of [...this.#chunks.keys()].slice(0, Math.max(0, this.#chunks.size - maxChunks))) this.#chunks.delete(oldest);
    this.#changed();
  }
}

/** Returns the indices of the chunks that contain the rows from `first` to before `end`. */
function chunksOf(first: number, end: number): readonly number[] {
  const from = Math.max(0, Math.floor(first / chunkRows));
  return Array.from({ length: Math.max(0, Math.ceil(end / chunkRows) - from) }, (_, at) => from + at);
}
