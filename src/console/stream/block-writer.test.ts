import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { BlockWriter } from "./block-writer.ts";

/** A stream whose writes end when the test ends them. */
function slowSink() {
  const writes: Buffer[] = [];
  const waiting: (() => void)[] = [];
  const sink = new Writable({
    write: (bytes: Buffer, _encoding, done) => {
      writes.push(Buffer.from(bytes));
      waiting.push(done);
    },
  });
  const finishOne = () => waiting.shift()?.();
  return { sink, writes, finishOne };
}

test("all bytes arrive in their order although their memory is reused, and small pieces of one turn share a write", async () => {
  const { sink, writes, finishOne } = slowSink();
  const writer = new BlockWriter(sink);
  const memory = Buffer.alloc(3);
  for (const letter of "abc") writer.write(memory.fill(letter), memory.fill(letter));
  await expect.poll(() => writes.map(String)).toEqual(["aaaaaabbbbbbcccccc"]);
  writer.write(memory.fill("d"));
  const sent = writer.sent().then(() => "sent");
  finishOne();
  await expect.poll(() => writes.map(String)).toEqual(["aaaaaabbbbbbcccccc", "ddd"]);
  expect(await Promise.race([sent, Promise.resolve("not yet")])).toBe("not yet");
  finishOne();
  expect(await sent).toBe("sent");
});

test("a writer that is far ahead of its stream is full until half of its bytes are written, or the stream is closed", async () => {
  const { sink, finishOne } = slowSink();
  const writer = new BlockWriter(sink);
  expect(writer.room()).toBeUndefined();
  const piece = Buffer.alloc(100 << 10);
  for (let i = 0; i < 8; i++) writer.write(piece);
  let isOpen = false;
  const room = writer.room()?.then(() => {
    isOpen = true;
  });
  expect([writer.isFull, room === undefined]).toEqual([true, false]);
  finishOne();
  await Promise.resolve();
  expect(isOpen).toBe(false);
  while (!isOpen) {
    finishOne();
    await new Promise(setImmediate);
  }
  for (let i = 0; i < 8; i++) writer.write(piece);
  const closed = [writer.room(), writer.sent()];
  sink.destroy();
  await Promise.all(closed);
  expect(writer.isFull).toBe(false);
});
