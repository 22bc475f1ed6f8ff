import { Duplex } from "node:stream";
import type { WebSocket } from "ws";

export interface WebSocketStreamOptions {
  /** Told each text frame; binary frames are the stream's bytes. */
  readonly onText: (text: string) => void;
  /** How often the peer must show that it is there, ms. */
  readonly pingMs: number;
}

/** How long the peer has for its part of the closing handshake, ms. */
const closeWaitMs = 2_000;

/** How long an answer that has come may wait for this process to look at it, ms. */
const lateMs = 1_000;

/**
 * The bytes of a WebSocket's binary frames as a stream. A chunk is written when it left this process, so that a peer that does not read holds up
 * its writer; a reader that does not read holds up the peer. A peer that answers no ping is cut off.
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
    // A broken frame, or one that is too large: the socket closes with the code for it, and "close" follows.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#rest();
      this.push(null);
      // What is not taken by now may never be: its reader is held up.
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
    // 1001: we go away; nothing is wrong with what the peer sent.
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
    // The peer's answer is only seen by who reads.
    socket.resume();
    socket.close(code);
  }

  #ping(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#silent) {
      // Its answer may be here already, and this process had no time for it.
      this.#cut ??= setTimeout(
        () => {
          this.#cut = undefined;
          if (this.#silent) this.#socket.terminate();
        },
        Math.min(this.#pingMs, lateMs),
      ).unref();
      return;
    }
    this.#heard = false;
    this.#socket.ping();
  }

  /** Nothing is heard of a peer that we do not listen to. */
  get #silent(): boolean {
    return !this.#heard && !this.#socket.isPaused;
  }

  #rest(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#cut);
  }
}
