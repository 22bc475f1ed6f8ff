import { Duplex, type Writable } from "node:stream";
import { Blocks } from "./blocks.ts";

export interface ViewerOptions {
  /** Bytes that may wait for a reader; what comes beyond is lost, and told. */
  readonly limit: number;
  /** Where what is typed goes; `done` when more may be typed. */
  readonly type: (bytes: Buffer, done: () => void) => void;
  /** Told when somebody who was behind has caught up. */
  readonly onRead: () => void;
}

/**
 * One who looks at a console and types into it. A reader who does not read loses bytes over a bound, until half of it is free again, and is told how
 * many in the stream. Its bytes are read as of any stream, or sent on with sendTo().
 */
export class Viewer extends Duplex {
  readonly #options: ViewerOptions;
  readonly #waiting = new Blocks();
  /** The reader takes more at once. */
  #wanting = false;
  #sink: Writable | undefined;
  /** Bytes are on their way into the sink. */
  #sending = false;
  #lost = 0;
  #ended = false;

  constructor(options: ViewerOptions) {
    super({ allowHalfOpen: false });
    this.#options = options;
  }

  /** Little more is taken before something is read. */
  get behind(): boolean {
    return this.#lost > 0 || this.#waiting.size >= this.#options.limit / 8;
  }

  /** @param bytes are copied: their memory may be used again */
  deliver(bytes: Buffer): void {
    if (this.#ended || this.destroyed || bytes.length === 0) return;
    this.#tellLoss();
    const { size } = this.#waiting;
    if (this.#lost > 0 || (size > 0 && size + bytes.length > this.#options.limit)) this.#lost += bytes.length;
    else this.#add(bytes);
  }

  /** The console ended: nothing comes any more, nothing is typed. */
  finish(): void {
    if (this.#ended || this.destroyed) return;
    this.#tellLoss(true);
    this.#ended = true;
    this.#endWhenRead();
  }

  /**
   * Writes all that comes to a connection and ends it with the console, as pipe() would, in as few writes as can be and without garbage. Nothing may
   * have been read before.
   */
  sendTo(sink: Writable): void {
    this.#sink = sink;
    this.#send();
    this.#endWhenRead();
  }

  override _read(): void {
    if (this.#sink !== undefined) return;
    this.#wanting = true;
    while (this.#wanting) {
      const bytes = this.#waiting.shift();
      if (bytes === undefined) break;
      this.#wanting = this.push(bytes);
    }
    this.#caughtUp();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#ended) done();
    else this.#options.type(bytes, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#waiting.clear();
    done(error);
  }

  #add(bytes: Buffer): void {
    if (this.#wanting) {
      this.#wanting = this.push(Buffer.from(bytes));
      return;
    }
    this.#waiting.push(bytes);
    this.#send();
  }

  /** One write at a time: what comes meanwhile goes with the next. */
  #send(): void {
    if (this.#sink === undefined || this.#sending) return;
    const bytes = this.#waiting.shift();
    if (bytes === undefined) return;
    this.#sending = true;
    this.#sink.write(bytes, () => {
      this.#sending = false;
      Blocks.giveBack(bytes);
      if (this.destroyed) return;
      this.#send();
      this.#caughtUp();
    });
  }

  #caughtUp(): void {
    this.#tellLoss();
    if (this.#ended) this.#endWhenRead();
    else this.#options.onRead();
  }

  #endWhenRead(): void {
    if (!this.#ended || this.#sending || this.#waiting.size > 0) return;
    this.push(null);
    if (this.#sink === undefined) return;
    this.#sink.end();
    this.resume();
  }

  /** Once half of the bound is free. The first byte cancels an escape sequence that the loss may have cut. */
  #tellLoss(now = false): void {
    if (this.#lost === 0 || (this.#waiting.size > this.#options.limit / 2 && !now)) return;
    const words = `\x18\r\n[labwright: ${this.#lost} bytes of output lost: this viewer reads too slowly]\r\n`;
    this.#lost = 0;
    this.#add(Buffer.from(words));
  }
}
