import { once } from "node:events";
import { Duplex, PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { ConsoleHub } from "./hub.ts";

/** A console whose far end the test holds: what it writes to `far` is seen by viewers, what viewers type comes out of `typed`. */
function source() {
  const far = new PassThrough();
  const typed = new PassThrough();
  return { far, typed, stream: Duplex.from({ readable: far, writable: typed }) };
}

function collect(stream: Duplex): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (bytes: Buffer) => chunks.push(bytes));
  return () => Buffer.concat(chunks).toString();
}

async function until(check: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!check()) {
    if (performance.now() > deadline) throw new Error("it did not become true within 5 s");
    await new Promise((settle) => setTimeout(settle, 5));
  }
}

test("all viewers share one upstream, and a late viewer gets the recent scrollback first", async () => {
  let opened = 0;
  const console = source();
  const hub = new ConsoleHub({
    open: async () => {
      opened += 1;
      return { stream: console.stream };
    },
  });
  const [first, second] = await Promise.all([hub.view(), hub.view()]);
  const [seenByFirst, seenBySecond] = [collect(first), collect(second)];
  console.far.write("hello ");
  await until(() => seenByFirst() === "hello " && seenBySecond() === "hello ");
  const late = collect(await hub.view());
  console.far.write("world");
  await until(() => late() === "hello world" && seenByFirst() === "hello world");
  expect(opened).toBe(1);
  hub.close();
});

test("what any viewer types reaches the console", async () => {
  const console = source();
  const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }) });
  const typed = collect(console.typed as unknown as Duplex);
  (await hub.view()).write("a");
  await until(() => typed() === "a");
  (await hub.view()).write("b");
  await until(() => typed() === "ab");
  hub.close();
});

test("the scrollback is bounded and begins at a line", async () => {
  const console = source();
  const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }), scrollbackBytes: 1000 });
  const live = collect(await hub.view());
  const whole = Array.from({ length: 2000 }, (_, index) => `line ${index}\n`).join("");
  console.far.write(whole);
  await until(() => live().length === whole.length);
  const late = collect(await hub.view());
  await until(() => late().endsWith("line 1999\n"));
  expect(late().length).toBeLessThanOrEqual(1000);
  expect(late()).toMatch(/^line \d+\n/);
  hub.close();
});

test("a viewer that does not read is dropped and told; the others do not wait for it", async () => {
  const console = source();
  const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }), viewerBytes: 10_000 });
  const slow = await hub.view();
  const quick = collect(await hub.view());
  const block = `${"x".repeat(999)}\n`;
  for (let sent = 1; sent <= 100; sent += 1) {
    console.far.write(block);
    await until(() => quick().length === sent * 1000);
  }
  expect(slow.readableLength).toBeLessThan(11_000);
  const told = collect(slow);
  await once(slow, "end");
  expect(told()).toContain("reads too slowly");
  expect(hub.viewers).toBe(1);
  hub.close();
});

test("the upstream is closed after the last viewer left, and opened again for the next", async () => {
  let opened = 0;
  let closed = 0;
  const consoles = [source(), source()];
  const hub = new ConsoleHub({
    open: async () => ({ stream: consoles[opened++]!.stream }),
    idleMs: 20,
    onClosed: () => {
      closed += 1;
    },
  });
  (await hub.view()).destroy();
  await until(() => closed === 1);
  expect(consoles[0]!.stream.destroyed).toBe(true);
  const again = collect(await hub.view());
  consoles[1]!.far.write("fresh");
  await until(() => again() === "fresh");
  hub.close();
  await until(() => closed === 2);
});

test("when the console ends its viewers see the end", async () => {
  const console = source();
  const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }) });
  const viewer = await hub.view();
  const seen = collect(viewer);
  console.far.end("bye");
  await once(viewer, "end");
  expect(seen()).toBe("bye");
  hub.close();
});

test("a console that cannot be opened fails for the one who asked, and may be tried again", async () => {
  let tries = 0;
  const console = source();
  const hub = new ConsoleHub({
    open: async () => {
      tries += 1;
      if (tries === 1) throw new Error("stopped");
      return { stream: console.stream };
    },
  });
  await expect(hub.view()).rejects.toThrow("stopped");
  await hub.view();
  hub.close();
});
