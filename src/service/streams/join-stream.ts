import type { Duplex, Readable } from "node:stream";
import { finished } from "node:stream/promises";

/** Sends what a stream tells to a connection that only listens; either's end ends the other. What the connection says is thrown away. */
export function joinStream(connection: Duplex, source: Readable): void {
  source.pipe(connection);
  connection.resume();
  // Who ends its side has gone: a connection that is only listened to would not be found out until something is said.
  connection.once("end", () => source.destroy());
  connection.once("close", () => source.destroy());
  connection.on("error", () => source.destroy());
  finished(source, { cleanup: true }).catch(() => connection.destroy());
}
