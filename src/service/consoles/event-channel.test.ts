import { expect, test } from "vitest";
import { EventChannel } from "./event-channel.ts";

test("a writer waits when large events wait, however few they are, and goes on when they are read", async () => {
  const channel = new EventChannel<number>();
  await channel.put(1, 100 << 10);
  let isWritten = false;
  const writing = channel.put(2, 100 << 10).then(() => {
    isWritten = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isWritten).toBe(false);
  const reader = channel[Symbol.asyncIterator]();
  expect((await reader.next()).value).toBe(1);
  await writing;
  expect((await reader.next()).value).toBe(2);
  channel.close();
  expect((await reader.next()).done).toBe(true);
});
