import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { selfSigned } from "../../../test/self-signed.ts";
import { listenDirectly } from "./direct-input.ts";

/** Bytes whose values encode their position. */
const pattern = (size: number) => Buffer.from(Array.from({ length: size }, (_, at) => (at * 7 + (at >> 8)) & 255));

test("an accepted TLS connection passes all bytes on without memory for each read, pauses, and reports its end", async () => {
  await using server = createServer(selfSigned()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  const [accepted] = (await once(server, "secureConnection")) as [TLSSocket];
  const all = pattern(3 << 20);
  client.write(all.subarray(0, 1000));
  await once(accepted, "readable");
  const got: Buffer[] = [];
  const memories = new Set<ArrayBufferLike>();
  let held = 0;
  const isDirect = listenDirectly(accepted, (bytes) => {
    got.push(Buffer.from(bytes));
    if (got.length > 1) memories.add(bytes.buffer);
    if (got.length % 50 !== 0) return;
    held++;
    accepted.pause();
    setImmediate(() => accepted.resume());
  });
  // Fails if this release of Node has other fields: then only the speed of copies into nodes suffers.
  expect(isDirect).toBe(true);
  client.end(all.subarray(1000));
  await once(accepted, "end");
  expect(Buffer.concat(got).equals(all)).toBe(true);
  expect([memories.size, held > 2]).toEqual([1, true]);
  accepted.destroy();
});
