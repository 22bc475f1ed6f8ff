import type { Duplex } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { ReadWindow } from "./read-window.ts";

export interface TranscriptOptions {
  /** Maximum characters kept; later output only moves the tail. Default 8 Mi. */
  readonly limit?: number;
  /** Characters of the tail, for prompt detection. Default 4,096: more than any prompt or pager line. */
  readonly tail?: number;
  /** Receives all output, and is cleared together with the transcript. */
  readonly window?: ReadWindow;
}

/**
 * A console's output as text: everything since the last `clear` (up to a limit), and its tail. Callers wait for the next change instead of sleeping.
 */
export class Transcript {
  readonly #stream: Duplex;
  readonly #limit: number;
  readonly #tailLength: number;
  readonly #decoder = new StringDecoder("utf8");
  readonly #window: ReadWindow | undefined;
  readonly #onData: (bytes: Buffer) => void;
  readonly #onEnd: () => void;
  #chunks: string[] = [];
  #length = 0;
  #pending = 0;
  #tail = "";
  #truncated = false;
  #ended = false;
  #wake: (() => void) | undefined;
  #changed = false;

  constructor(stream: Duplex, { limit = 8 << 20, tail = 4096, window }: TranscriptOptions = {}) {
    this.#window = window;
    this.#stream = stream;
    this.#limit = limit;
    this.#tailLength = tail;
    this.#onData = (bytes) => this.#add(this.#decoder.write(bytes));
    this.#onEnd = () => {
      this.#ended = true;
      this.#wake?.();
    };
    stream.on("data", this.#onData);
    stream.once("end", this.#onEnd);
    stream.once("close", this.#onEnd);
    stream.once("error", this.#onEnd);
  }

  get tail(): string {
    return this.#tail;
  }

  /** The raw line of the cursor. */
  get rawLine(): string {
    return this.#tail.slice(this.#tail.lastIndexOf("\n") + 1);
  }

  get ended(): boolean {
    return this.#ended;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Characters since the last clear or take, including those over the limit. */
  get length(): number {
    return this.#pending;
  }

  /** All kept text since the last clear or take. */
  text(): string {
    if (this.#chunks.length > 1) this.#chunks = [this.#chunks.join("")];
    return this.#chunks[0] ?? "";
  }

  take(): string {
    const text = this.text();
    this.#chunks = [];
    this.#pending = 0;
    this.#tail = "";
    this.#window?.clear();
    return text;
  }

  /** Drops all text and resets the limit. */
  clear(): void {
    this.take();
    this.#length = 0;
    this.#truncated = false;
  }

  send(text: string): void {
    if (this.#stream.writable) this.#stream.write(text);
  }

  /** Waits for more text or the end (true), or until nothing came for `ms` (false). */
  async change(ms: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.#changed && !this.#ended && signal?.aborted !== true) await this.#wait(ms, signal);
    const changed = this.#changed || this.#ended || signal?.aborted === true;
    this.#changed = false;
    return changed;
  }

  async #wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((settle) => {
      const timer = setTimeout(done, Math.max(0, ms));
      const wake = () => done();
      function done() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        settle();
      }
      this.#wake = wake;
      signal?.addEventListener("abort", wake, { once: true });
    });
    this.#wake = undefined;
  }

  /** Stops listening; the stream stays as it is. */
  close(): void {
    this.#stream.off("data", this.#onData);
    this.#stream.off("end", this.#onEnd);
    this.#stream.off("close", this.#onEnd);
  }

  #add(text: string): void {
    if (this.#length + text.length <= this.#limit) this.#chunks.push(text);
    else this.#truncated = true;
    this.#length += text.length;
    this.#pending += text.length;
    this.#tail = (this.#tail + text).slice(-this.#tailLength);
    this.#window?.push(text);
    this.#changed = true;
    this.#wake?.();
  }
}
