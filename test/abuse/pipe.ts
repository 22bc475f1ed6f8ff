import { connect, type TLSSocket } from "node:tls";
import { type Reply, ReplyReader } from "./replies.ts";

export interface Outgoing {
  readonly method: string;
  readonly bytes: Buffer;
}

/** One kept-alive connection; several requests go out in one write. */
export class Pipe {
  readonly #socket: TLSSocket;
  readonly #reader = new ReplyReader();
  #replies: Reply[] = [];
  #closed = false;
  #broken: Error | undefined;
  #wake: () => void = () => {};

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      try {
        this.#replies.push(...this.#reader.push(chunk));
      } catch (error) {
        this.#broken = error as Error;
        socket.destroy();
      }
      this.#wake();
    });
    socket.on("error", (error) => {
      this.#broken ??= error;
    });
    socket.on("close", () => {
      this.#closed = true;
      this.#wake();
    });
  }

  /** `from`: the client's own address, any of 127.0.0.0/8. */
  static open(port: number, from = "127.0.0.1"): Promise<Pipe> {
    return new Promise((resolve, reject) => {
      const options = { port, host: "127.0.0.1", localAddress: from, rejectUnauthorized: false };
      const socket = connect(options, () => {
        socket.off("error", reject);
        resolve(new Pipe(socket));
      });
      socket.once("error", reject);
    });
  }

  get open(): boolean {
    return !this.#closed && this.#broken === undefined;
  }

  /**
   * The answers in order; fewer if the server closed the connection or time ran out, which leaves the pipe closed. `why` then has the reason.
   */
  async exchange(batch: readonly Outgoing[], waitMs: number): Promise<{ readonly replies: readonly Reply[]; readonly why?: string }> {
    this.#replies = [];
    for (const { method } of batch) this.#reader.expect(method);
    this.#socket.write(Buffer.concat(batch.map(({ bytes }) => bytes)));
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#wake();
    }, waitMs);
    while (this.#replies.length < batch.length && !this.#closed && !late) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    clearTimeout(timer);
    const replies = this.#replies;
    if (replies.length === batch.length && !replies.some(({ closes }) => closes)) return { replies };
    this.close();
    if (replies.length === batch.length) return { replies };
    return { replies, why: this.#broken?.message ?? (late ? `no answer within ${waitMs} ms` : "the connection was closed") };
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }
}
