import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";

/** Maximum bytes of one read. */
const readBytes = 128 << 10;
/** One buffer for all sockets: its content is used before the next read. */
let memory: Buffer | undefined;

/**
 * The connection to a Unix socket as a normal stream: it emits "connect", or "error" if there is no socket. After listen() reads allocate no memory,
 * which would be most of the cost of a console with endless output.
 */
export class SocketStream extends Duplex {
  /** For a console: the number of its first bytes that are scrollback. */
  recalled = 0;
  readonly #socket: Socket;
  #each: ((bytes: Buffer) => void) | undefined;
  #ended = false;

  constructor(path: string) {
    super({ allowHalfOpen: false });
    memory ??= Buffer.allocUnsafeSlow(readBytes);
    const callback = (length: number, buffer: Uint8Array) => {
      this.#take(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      return true;
    };
    this.#socket = connect({ path, onread: { buffer: memory, callback } });
    this.#socket.once("connect", () => this.emit("connect"));
    this.#socket.once("end", () => this.#end());
    // Bytes read before a clean end may still wait for the reader.
    this.#socket.once("close", () => this.#ended || this.destroy());
    this.#socket.on("error", (error) => this.destroy(error));
  }

  /**
   * Passes all further bytes to `each` instead of the stream's readers. The buffer is reused after the call. pause() and resume() work as before, and
   * "end" and "close" are emitted as before.
   */
  listen(each: (bytes: Buffer) => void): void {
    for (let bytes: Buffer | null = this.read(); bytes !== null; bytes = this.read()) each(bytes);
    this.#each = each;
    this.#socket.resume();
  }

  override pause(): this {
    if (this.#each === undefined) super.pause();
    else this.#socket.pause();
    return this;
  }

  override resume(): this {
    if (this.#each === undefined) super.resume();
    else this.#socket.resume();
    return this;
  }

  override isPaused(): boolean {
    return this.#each === undefined ? super.isPaused() : this.#socket.isPaused();
  }

  override _read(): void {
    if (this.#each === undefined) this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // No listener is left: the end of the stream follows.
    if (this.#socket.writable || this.#socket.connecting) this.#socket.write(bytes, done);
    else done();
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #take(bytes: Buffer): void {
    if (this.#each !== undefined) this.#each(bytes);
    else if (!this.push(Buffer.from(bytes))) this.#socket.pause();
  }

  #end(): void {
    this.#ended = true;
    this.push(null);
    // A listener does not read the stream, and without a reader there would be no "end" event.
    if (this.#each !== undefined) this.read(0);
  }
}
