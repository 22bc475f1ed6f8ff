import type { OnReadOpts } from "node:net";
import type { Duplex } from "node:stream";

/** Maximum bytes of one read: those of a TLS record. */
const readBytes = 16 << 10;
/** One buffer for all connections: its content is used before the next read. */
let memory: Buffer | undefined;

const direct = new WeakMap<Duplex, DirectReads>();

/** The reads of one connection. They allocate no memory after listenTo(), which otherwise is half of the cost of a connection with much data. */
export class DirectReads {
  #connection: Duplex | undefined;
  #each: ((bytes: Buffer) => void) | undefined;

  /** The option `onread` of the socket. */
  options(): OnReadOpts {
    memory ??= Buffer.allocUnsafeSlow(readBytes);
    return { buffer: memory, callback: (length, bytes) => this.#take(Buffer.from(bytes.buffer, bytes.byteOffset, length)) };
  }

  /** Sets the socket that was opened with the options. */
  attach(connection: Duplex): void {
    this.#connection = connection;
    direct.set(connection, this);
  }

  listen(each: (bytes: Buffer) => void): void {
    this.#each = each;
  }

  /** Returns false if the stream's reader is behind. */
  #take(bytes: Buffer): boolean {
    if (this.#each === undefined) return this.#connection?.push(Buffer.from(bytes)) ?? true;
    this.#each(bytes);
    return true;
  }
}

/**
 * Passes all further bytes of a connection to `each` instead of its readers. The memory of the bytes is reused after the call. pause() and resume() work as
 * before, and "end" and "close" are emitted as before.
 */
export function listenTo(connection: Duplex, each: (bytes: Buffer) => void): void {
  const reads = direct.get(connection);
  if (reads === undefined) return void connection.on("data", each);
  for (let bytes: Buffer | null = connection.read(); bytes !== null; bytes = connection.read()) each(bytes);
  reads.listen(each);
  connection.resume();
}
