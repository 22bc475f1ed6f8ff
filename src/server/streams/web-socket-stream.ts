import { Duplex } from "node:stream";
import type { WebSocket } from "ws";

export interface WebSocketStreamOptions {
  /** Called with each text frame. Binary frames are the bytes of the stream. */
  readonly onText: (text: string) => void;
  /** The interval of pings, ms. A peer that does not answer is disconnected. */
  readonly pingMs: number;
}

/** The time that the peer has for its part of the closing handshake, ms. */
const closeWaitMs = 2_000;

/** The time that an answer may wait in this process before it is handled, ms. */
const maxDelayMs = 1_000;

/**
 * The bytes of a WebSocket's binary frames as a stream. A write ends when the chunk has left this process. Therefore a peer that does not read blocks its
 * writer, and a reader that does not read blocks the peer. A peer that answers no ping is disconnected.
 */
export class WebSocketStream extends Duplex {
  readonly #socket: WebSocket;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #pingMs: number;
  #heard = true;
  #cut: NodeJS.Timeout | undefined;

  constructor(socket: WebSocket, { onText, pingMs }: WebSocketStreamOptions) {
    super();
    this.#socket = socket;
    this.#pingMs = pingMs;
    socket.on("message", (data: Buffer, isBinary) => {
      this.#heard = true;
      if (this.destroyed) return;
      if (!isBinary) onText(data.toString("utf8"));
      else if (!this.push(data)) socket.pause();
    });
    socket.on("pong", () => {
      this.#heard = true;
    });
    // A malformed frame, or a frame that is too large: the socket closes with the code for it, and "close" follows.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#rest();
      this.push(null);
      // The reader may be blocked forever: data that it has not read by then is dropped.
      setTimeout(() => this.destroy(), closeWaitMs).unref();
    });
    this.once("end", () => this.destroy());
    this.#heartbeat = setInterval(() => this.#ping(), pingMs);
    this.#heartbeat.unref();
  }

  override _read(): void {
    this.#heard = true;
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.send(bytes, { binary: true }, (error) => done(error ?? null));
  }

  override _writev(chunks: { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "binary", done);
  }

  override _final(done: () => void): void {
    this.#close(1000, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#rest();
    // 1001: this side ends the connection, and the peer made no error.
    this.#close(1001, () => {});
    done(error);
  }

  #close(code: number, closed: () => void): void {
    const socket = this.#socket;
    if (socket.readyState === socket.CLOSED) {
      closed();
      return;
    }
    const cut = setTimeout(() => socket.terminate(), closeWaitMs);
    socket.once("close", () => {
      clearTimeout(cut);
      closed();
    });
    // The peer's answer arrives only if the socket is read.
    socket.resume();
    socket.close(code);
  }

  #ping(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#silent) {
      // The answer may have arrived already, but this process was too busy to handle it.
      this.#cut ??= setTimeout(
        () => {
          this.#cut = undefined;
          if (this.#silent) this.#socket.terminate();
        },
        Math.min(this.#pingMs, maxDelayMs),
      ).unref();
      return;
    }
    this.#heard = false;
    this.#socket.ping();
  }

  /** True if the peer has sent nothing since the last ping. A paused socket is not read, so that its peer is never silent. */
  get #silent(): boolean {
    return !this.#heard && !this.#socket.isPaused;
  }

  #rest(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#cut);
  }
}
