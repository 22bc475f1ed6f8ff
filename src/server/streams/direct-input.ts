import type { Duplex } from "node:stream";

/** Maximum bytes of one read: those of a TLS record. */
const readBytes = 16 << 10;
/** One buffer for all connections: its content is used before the next read. */
let memory: Buffer | undefined;

/** The fields that Node sets for the option `onread` of sockets, by their descriptions. */
const fieldNames = ["kBuffer", "kBufferCb", "kBufferGen"] as const;

interface ReadFields {
  [field: symbol]: unknown;
  readonly _handle?: { readonly useUserBuffer?: (buffer: Buffer) => void } | null;
}

/**
 * Passes all further bytes of an accepted TLS connection to `each` instead of its readers. The memory of the bytes is reused after the call. pause() and
 * resume() work as before, and "end" is emitted as before. Halves the cost of a connection with much input, most of which is memory for its reads.
 *
 * Node has the option `onread` for this, but only for connections that a program opens. An accepted connection has the same fields; they are set here. If a
 * release of Node names them differently, the stream is read. @returns whether it is not
 */
export function listenDirectly(connection: Duplex, each: (bytes: Buffer) => void): boolean {
  const socket = connection as unknown as ReadFields;
  const symbols = Object.getOwnPropertySymbols(connection);
  const [buffer, callback, generator] = fieldNames.map((name) => symbols.find(({ description }) => description === name));
  const isKnown = buffer !== undefined && callback !== undefined && generator !== undefined && socket[buffer] === null;
  if (!isKnown || typeof socket._handle?.useUserBuffer !== "function") {
    connection.on("data", each);
    return false;
  }
  memory ??= Buffer.allocUnsafeSlow(readBytes);
  for (let bytes: Buffer | null = connection.read(); bytes !== null; bytes = connection.read()) each(bytes);
  socket[buffer] = memory;
  socket[callback] = (length: number, bytes: Uint8Array) => each(Buffer.from(bytes.buffer, bytes.byteOffset, length));
  socket._handle.useUserBuffer(memory);
  connection.resume();
  return true;
}
