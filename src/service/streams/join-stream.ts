import type { Duplex, Readable } from "node:stream";
import { finished } from "node:stream/promises";

/** Sends a stream to a connection. The end of one ends the other. Data from the connection is discarded. */
export function joinStream(connection: Duplex, source: Readable): void {
  source.pipe(connection);
  connection.resume();
  // A half-closed connection is treated as closed: otherwise a closed client would not be noticed until the next write.
  connection.once("end", () => source.destroy());
  connection.once("close", () => source.destroy());
  connection.on("error", () => source.destroy());
  // The client sees a connection that breaks: a partial stream must not look complete.
  finished(source, { cleanup: true }).catch(() => connection.destroy());
}
