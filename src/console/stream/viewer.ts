import { Duplex, type Writable } from "node:stream";
import { BlockSender } from "./block-sender.ts";
import { Blocks } from "./blocks.ts";

export interface ViewerOptions {
  /** Maximum bytes that are queued for a reader. It loses further bytes, with a note in the stream. */
  readonly limit: number;
  /** Receives the typed bytes; `done` is called when more may be typed. */
  readonly type: (bytes: Buffer, done: () => void) => void;
  /** Called when the viewer has caught up. */
  readonly onRead: () => void;
}

/**
 * A viewer of a console, who can also type. A reader that does not read loses bytes over a limit until half of it is free again, and gets a note with
 * their number in the stream. Its bytes are read as from any stream, or sent with sendTo().
 */
export class Viewer extends Duplex {
  readonly #options: ViewerOptions;
  readonly #waiting = new Blocks();
  /** Whether the reader accepts more. */
  #wanting = false;
  #sink: Writable | undefined;
  /** Absent if the bytes are read. */
  #sender: BlockSender | undefined;
  #lost = 0;
  #ended = false;

  constructor(options: ViewerOptions) {
    super({ allowHalfOpen: false });
    this.#options = options;
  }

  /** Whether little more is accepted before something is read. */
  get behind(): boolean {
    return this.#lost > 0 || this.#waiting.size >= this.#options.limit / 8;
  }

  /** @param bytes are copied: their memory may be reused */
  deliver(bytes: Buffer): void {
    if (this.#ended || this.destroyed || bytes.length === 0) return;
    this.#noteLoss();
    const { size } = this.#waiting;
    if (this.#lost > 0 || (size > 0 && size + bytes.length > this.#options.limit)) this.#lost += bytes.length;
    else this.#add(bytes);
  }

  /** The console ended: no more output and no more keys. */
  finish(): void {
    if (this.#ended || this.destroyed) return;
    this.#noteLoss(true);
    this.#ended = true;
    this.#endWhenRead();
  }

  /**
   * Writes all output to a connection and ends it with the console, like pipe(), with as few writes as possible and without garbage. Nothing may have
   * been read before.
   */
  sendTo(sink: Writable): void {
    this.#sink = sink;
    this.#sender = new BlockSender(sink, this.#waiting, () => {
      if (!this.destroyed) this.#caughtUp();
    });
    this.#sender.send();
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
    this.#sender?.send();
  }

  #caughtUp(): void {
    this.#noteLoss();
    if (this.#ended) this.#endWhenRead();
    else this.#options.onRead();
  }

  #endWhenRead(): void {
    if (!this.#ended || this.#sender?.isSending === true || this.#waiting.size > 0) return;
    this.push(null);
    if (this.#sink === undefined) return;
    this.#sink.end();
    this.resume();
  }

  /** Adds the note once half of the limit is free. Its first byte cancels an escape sequence that the loss may have cut. */
  #noteLoss(now = false): void {
    if (this.#lost === 0 || (this.#waiting.size > this.#options.limit / 2 && !now)) return;
    const words = `\x18\r\n[labwright: ${this.#lost} bytes of output lost: this viewer reads too slowly]\r\n`;
    this.#lost = 0;
    this.#add(Buffer.from(words));
  }
}
