import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConsoleHub } from "../../../console/stream/hub.ts";
import { SocketStream } from "./socket-stream.ts";

const folder = mkdtempSync(join(tmpdir(), "socket-stream-"));
const path = join(folder, "s");
const peers: Socket[] = [];
let server: Server;

beforeAll(async () => {
  server = createServer((peer) => {
    peers.push(peer.on("error", () => {}));
  });
  server.listen(path);
  await once(server, "listening");
});
afterAll(() => {
  for (const peer of peers) peer.destroy();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** One at a time, so that each gets its own peer. */
async function open(): Promise<{ readonly stream: SocketStream; readonly peer: Socket }> {
  const stream = new SocketStream(path);
  await once(stream, "connect");
  await expect.poll(() => peers.length).toBeGreaterThan(0);
  return { stream, peer: peers.pop()! };
}

/** Bytes whose values encode their position. */
const pattern = (size: number) => Buffer.from(Array.from({ length: size }, (_, at) => (at * 7 + (at >> 8)) & 255));

test("it is read and written as any stream, and its end comes behind all that was read", async () => {
  const { stream, peer } = await open();
  const all = pattern(100_000);
  peer.end(all);
  // It waits for its reader, also when the socket has long closed.
  await once(peer, "finish");
  const got: Buffer[] = [];
  for await (const bytes of stream) got.push(bytes as Buffer);
  expect(Buffer.concat(got).equals(all)).toBe(true);
  const second = await open();
  second.stream.end("typed");
  expect(String((await once(second.peer, "data"))[0])).toBe("typed");
  second.peer.end();
  second.stream.resume();
  await once(second.stream, "close");
});

test("a listener gets the bytes read before, then all that follow; a pause applies back pressure, and the end is reported", async () => {
  const { stream, peer } = await open();
  const all = pattern(2 << 20);
  peer.write(all.subarray(0, 1000));
  await once(stream, "readable");
  const head = stream.read() as Buffer;
  stream.unshift(head);
  const got: Buffer[] = [];
  let size = 0;
  stream.listen((bytes) => {
    got.push(Buffer.from(bytes));
    size += bytes.length;
  });
  expect(Buffer.concat(got).equals(head)).toBe(true);
  stream.pause();
  expect(stream.isPaused()).toBe(true);
  peer.write(all.subarray(1000));
  await new Promise((settle) => setTimeout(settle, 50));
  expect(size).toBeLessThan(400 << 10);
  stream.resume();
  const ended = once(stream, "end");
  peer.end();
  await ended;
  expect(Buffer.concat(got).equals(all)).toBe(true);
  await once(stream, "close");
});

test("an address without a listener is an error", async () => {
  const [error] = (await once(new SocketStream(join(folder, "none")), "error")) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ENOENT");
});

test("of consoles that talk at once every viewer sees its own bytes, whole and in order", async () => {
  const pairs = [];
  for (let count = 0; count < 3; count++) pairs.push([await open(), await open()] as const);
  await Promise.all(
    pairs.map(async ([{ stream, peer }, sink], number) => {
      const hub = new ConsoleHub({ open: async () => ({ stream, listen: (each) => stream.listen(each) }), viewerBytes: 64 << 20 });
      const [sent, read] = [await hub.view(), await hub.view()];
      sent.sendTo(sink.stream);
      const seen: Buffer[][] = [[], []];
      sink.peer.on("data", (bytes: Buffer) => seen[0]!.push(bytes));
      read.on("data", (bytes: Buffer) => seen[1]!.push(bytes));
      const all = Buffer.from(pattern(1 << 20).map((byte) => 0x20 + ((byte + number) % 0x5f)));
      for (let at = 0; at < all.length; at += 10_007) peer.write(all.subarray(at, at + 10_007));
      peer.end();
      await Promise.all([once(sink.peer, "end"), once(read, "end")]);
      for (const parts of seen) expect(Buffer.concat(parts).equals(all)).toBe(true);
      hub.close();
      sink.stream.destroy();
    }),
  );
});
