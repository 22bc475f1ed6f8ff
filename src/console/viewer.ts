import { Duplex } from "node:stream";

export interface ViewerOptions {
  /** Bytes that may wait for a reader; what comes beyond is lost, and told. */
  readonly limit: number;
  /** Where what is typed goes; `done` when more may be typed. */
  readonly type: (bytes: Buffer, done: () => void) => void;
  /** Told when somebody who was behind has caught up. */
  readonly onRead: () => void;
}

/** What a chunk weighs besides its bytes. */
const chunkWeight = 64;

/**
 * One who looks at a console and types into it. A reader who does not read loses bytes over a bound, until half of it is free again, and is told how
 * many in the stream.
 */
export class Viewer extends Duplex {
  readonly #options: ViewerOptions;
  #queue: Buffer[] = [];
  /** Where the queue begins: what is before it is gone. */
  #first = 0;
  #weight = 0;
  /** The reader takes more at once. */
  #wanting = false;
  #lost = 0;
  #ended = false;

  constructor(options: ViewerOptions) {
    super({ allowHalfOpen: false });
    this.#options = options;
  }

  /** Little more is taken before something is read. */
  get behind(): boolean {
    return this.#lost > 0 || this.#weight >= this.#options.limit / 8;
  }

  deliver(bytes: Buffer): void {
    if (this.#ended || this.destroyed || bytes.length === 0) return;
    this.#tellLoss();
    if (this.#lost > 0 || (this.#weight > 0 && this.#weight + bytes.length + chunkWeight > this.#options.limit)) this.#lost += bytes.length;
    else this.#add(bytes);
  }

  /** The console ended: nothing comes any more, nothing is typed. */
  finish(): void {
    if (this.#ended || this.destroyed) return;
    this.#tellLoss(true);
    this.#ended = true;
    if (this.#queue.length === this.#first) this.push(null);
  }

  override _read(): void {
    this.#wanting = true;
    while (this.#wanting && this.#first < this.#queue.length) {
      const bytes = this.#queue[this.#first++]!;
      this.#weight -= bytes.length + chunkWeight;
      this.#wanting = this.push(bytes);
    }
    if (this.#first === this.#queue.length || this.#first > 1024) {
      this.#queue = this.#queue.slice(this.#first);
      this.#first = 0;
    }
    this.#tellLoss();
    if (this.#ended && this.#queue.length === 0) this.push(null);
    else this.#options.onRead();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#ended) done();
    else this.#options.type(bytes, done);
  }

  #add(bytes: Buffer): void {
    if (this.#wanting) {
      this.#wanting = this.push(bytes);
      return;
    }
    this.#queue.push(bytes);
    this.#weight += bytes.length + chunkWeight;
  }

  /** Once half of the bound is free. The first byte cancels an escape sequence that the loss may have cut. */
  #tellLoss(now = false): void {
    if (this.#lost === 0 || (this.#weight > this.#options.limit / 2 && !now)) return;
    const words = `\x18\r\n[labwright: ${this.#lost} bytes of output lost: this viewer reads too slowly]\r\n`;
    this.#lost = 0;
    this.#add(Buffer.from(words));
  }
}
