import { once } from "node:events";
import { Duplex, PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConsoleHub } from "./hub.ts";
import { QueryFilter, withoutQueries } from "./queries.ts";
import { Scrollback } from "./scrollback.ts";

/** A console whose far end is in the test: viewers see the bytes written to `far`, and `typed` gives the viewers' keys. */
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
  const deadline = performance.now() + 30_000;
  while (!check()) {
    if (performance.now() > deadline) throw new Error("it did not become true within 30 s");
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

test("without another size the scrollback is 64 KiB", async () => {
  const console = source();
  const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }) });
  const live = collect(await hub.view());
  const line = `${"x".repeat(63)}\n`;
  console.far.write(line.repeat(3 * 1024));
  await until(() => live().length === 3 * 65_536);
  const late = collect(await hub.view());
  console.far.write("end");
  await until(() => late().endsWith("end"));
  // It begins at a line: the first one may have been cut.
  expect([1023, 1024].map((lines) => `${line.repeat(lines)}end`)).toContain(late());
  hub.close();
});

test("a viewer that does not read loses bytes and gets a note with their number; the others do not wait for it", async () => {
  const console = source();
  const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }), viewerBytes: 10_000 });
  const slow = await hub.view();
  const quick = collect(await hub.view());
  const block = `${"x".repeat(999)}\n`;
  for (let sent = 1; sent <= 100; sent += 1) {
    console.far.write(block);
    await until(() => quick().length === sent * 1000);
  }
  const seen = collect(slow);
  await until(() => seen().includes("too slowly"));
  const lost = Number(/\[labwright: (\d+) bytes of output lost/.exec(seen())?.[1]);
  const read = seen()
    .replace(/\s+\[labwright: .*\]\r\n/, "")
    .replaceAll("\x18", "").length;
  expect([read + lost, read < 40_000]).toEqual([100_000, true]);
  console.far.write("and on");
  await until(() => seen().endsWith("]\r\nand on"));
  expect(hub.viewers).toBe(2);
  hub.close();
});

/** A node that prints as long as its output is read. */
function talker(): { readonly stream: Duplex; readonly printed: () => number } {
  let printed = 0;
  const stream: Duplex = new Duplex({
    read() {
      setImmediate(() => {
        printed += 4096;
        stream.push(Buffer.alloc(4096, "y"));
      });
    },
    write: (_bytes, _encoding, done) => done(),
  });
  return { stream, printed: () => printed };
}

test("the node is held back while all viewers are behind, until one has caught up", async () => {
  const { stream, printed } = talker();
  const hub = new ConsoleHub({ open: async () => ({ stream }), viewerBytes: 64 << 10, stallMs: 60_000 });
  await hub.view();
  await until(() => stream.isPaused());
  const before = printed();
  for (let turn = 0; turn < 100; turn++) await new Promise((settle) => setImmediate(settle));
  // Its own buffer may fill first; then it waits.
  expect(printed() - before).toBeLessThan(100 << 10);
  const reader = collect(await hub.view());
  await until(() => reader().length > 1 << 20);
  hub.close();
});

test("viewers that stay behind do not hold the node back for long", async () => {
  const { stream, printed } = talker();
  const hub = new ConsoleHub({ open: async () => ({ stream }), viewerBytes: 64 << 10, stallMs: 1 });
  const stuck = await hub.view();
  await until(() => printed() > 4 << 20);
  hub.close();
  const seen = collect(stuck);
  await once(stuck, "end");
  expect(seen().length).toBeLessThan(128 << 10);
  expect(seen()).toMatch(/\[labwright: \d{7} bytes of output lost: this viewer reads too slowly\]\r\n$/);
});

test("a console that prints without viewers is closed, and opened again for the next viewer", async () => {
  const opened: ReturnType<typeof talker>[] = [];
  const hub = new ConsoleHub({
    open: async () => {
      opened.push(talker());
      return { stream: opened.at(-1)!.stream };
    },
  });
  (await hub.view()).destroy();
  await until(() => opened[0]!.stream.destroyed);
  const seen = collect(await hub.view());
  await until(() => seen().length > 100_000);
  expect(opened.length).toBe(2);
  hub.close();
});

test("a hundred viewers see the same, and one of them typing is seen by all", async () => {
  const console = source();
  const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }) });
  console.typed.on("data", (bytes: Buffer) => console.far.write(bytes));
  const viewers = await Promise.all(Array.from({ length: 100 }, () => hub.view()));
  const seen = viewers.map(collect);
  viewers[42]!.write("hello");
  await until(() => seen.every((text) => text() === "hello"));
  for (const viewer of viewers.slice(1)) viewer.destroy();
  await until(() => hub.viewers === 1);
  hub.close();
});

describe("a query of the console to its terminal", () => {
  const asks = [
    "\x1b[6n",
    "\x1b[c",
    "\x1b[>c",
    "\x1b[?6n",
    "\x1bZ",
    "\x05",
    "\x1b[18t",
    "\x1b]10;?\x07",
    "\x1bP$qm\x1b\\",
    "\x1b[?25$p",
    "\x1b[>0q",
  ];
  const harmless = ["\x1b[31m", "\x1b[2J", "\x1b]0;title\x07", "\x1b[?25h", "\x1b[22;0t", "\x1b(B", "\x1b[12;5H"];

  test("is not in the scrollback; everything else is", async () => {
    const console = source();
    const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }) });
    const live = collect(await hub.view());
    const all = asks.map((ask, index) => `${ask}${harmless[index] ?? ""}.`).join("");
    console.far.write(all);
    await until(() => live() === all);
    const late = collect(await hub.view());
    await until(() => late() === asks.map((_, index) => `${harmless[index] ?? ""}.`).join(""));
    hub.close();
  });

  test("is not answered late: a host's own scrollback contains no query", async () => {
    const console = source();
    const hub = new ConsoleHub({ open: async () => ({ stream: console.stream, recalled: `before${asks[0]}.`.length }) });
    const live = collect(await hub.view());
    console.far.write(`before${asks[0]}.`);
    await until(() => live() === "before.");
    console.far.write(`now${asks[0]}.`);
    await until(() => live() === `before.now${asks[0]}.`);
    hub.close();
  });

  test("reaches one viewer, the last that typed, in any division into chunks", async () => {
    const console = source();
    const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }) });
    const [first, second] = [await hub.view(), await hub.view()];
    const command = collect(await hub.view({ terminal: false }));
    const [seenByFirst, seenBySecond] = [collect(first), collect(second)];
    for (const byte of `a${asks[0]}b`) console.far.write(byte);
    await until(() => seenByFirst() === `a${asks[0]}b` && seenBySecond() === "ab");
    second.write("x");
    await until(() => console.typed.readableLength > 0);
    console.far.write("\x1b[");
    await until(() => seenBySecond().endsWith("\x1b["));
    // It leaves in the middle of a query: the other gets all of it.
    second.destroy();
    await until(() => seenByFirst() === `a${asks[0]}b\x1b[`);
    console.far.write("6nc");
    await until(() => seenByFirst() === `a${asks[0]}b${asks[0]}c` && command() === `a${asks[0]}b${asks[0]}c`);
    hub.close();
  });

  test.each([
    ["an escape inside a sequence starts a new one", "\x1b[\x1b[5n5n", "5n"],
    ["several of them", "\x1b\x1b[\x1b[6n.", "."],
    ["control characters inside of it are obeyed", "\x1b[5\r\nn.", "\r\n."],
    ["a delete character counts for nothing", "\x1b\x7f[5n.", "."],
    ["zeros in front", "\x1b[0005;1n.", "."],
    ["a string that it ends is ended", "\x1b]0;title\x1b[5n.", "\x1b]0;title\x1b\\."],
    ["a query that another one ends", "\x1b]10;?\x1b[5n.", "."],
    ["what is cancelled is none", "\x1b[5\x18n", "\x1b[5\x18n"],
    [
      "a sequence of no length that anybody needs is cancelled",
      `\x1b[${"0".repeat(200)}5n`,
      `\x1b[${"0".repeat(159)}\x18${"0".repeat(41)}5n`,
    ],
    ["a long string passes", `\x1bPq${"#".repeat(300)}\x1b\\.`, `\x1bPq${"#".repeat(300)}\x1b\\.`],
  ])("%s", (_name, printed, left) => {
    expect(withoutQueries(Buffer.from(printed)).toString()).toBe(left);
  });

  test("any bytes, cut anywhere, contain no query after filtering", () => {
    const letter = fc.constantFrom(..."\x1b\x1b[]P?056nc\\\x07\x18\rx$q;Z\x7f\x05");
    fc.assert(
      fc.property(fc.array(letter), fc.array(fc.integer({ min: 1, max: 5 })), (letters, cuts) => {
        const text = Buffer.from(letters.join(""));
        const filter = new QueryFilter();
        const got: Buffer[] = [];
        let at = 0;
        for (const cut of [...cuts, text.length]) {
          got.push(filter.push(Buffer.from(text.subarray(at, at + cut))));
          at += cut;
        }
        const left = Buffer.concat([...got, filter.waiting]);
        expect(left).toEqual(withoutQueries(text));
        expect(withoutQueries(left)).toEqual(left);
      }),
      { numRuns: 700 },
    );
  });

  test("any bytes, cut anywhere, are the same without the queries", () => {
    const piece = fc.oneof(
      fc.constantFrom(...asks, ...harmless),
      fc.string({ maxLength: 8 }).map((text) => text.replaceAll("\x1b", "").replaceAll("\x05", "")),
    );
    fc.assert(
      fc.property(fc.array(piece), fc.array(fc.integer({ min: 1, max: 9 })), (pieces, cuts) => {
        // The end must be complete: the filter would hold back the beginning of a sequence.
        const text = Buffer.from(`${pieces.join("")}\x1b[m`);
        const filter = new QueryFilter();
        const got: Buffer[] = [];
        let at = 0;
        for (const cut of [...cuts, text.length]) {
          got.push(filter.push(text.subarray(at, at + cut)));
          at += cut;
        }
        expect(Buffer.concat(got).toString("latin1")).toBe(withoutQueries(text).toString("latin1"));
      }),
    );
  });
});

test("keys of others are held back while a command is typed, and come after it", async () => {
  const console = source();
  const hub = new ConsoleHub({ open: async () => ({ stream: console.stream }) });
  const typed = collect(console.typed as unknown as Duplex);
  const [command, person] = [await hub.view({ terminal: false }), await hub.view()];
  const release = hub.hold(command);
  person.write("half a li");
  person.write("ne");
  command.write("show");
  await until(() => typed() === "show");
  command.write("\r");
  await until(() => typed() === "show\r");
  release();
  await until(() => typed() === "show\rhalf a line");
  // A viewer that leaves releases the keys.
  hub.hold(command);
  person.write("!");
  command.destroy();
  await until(() => typed().endsWith("!"));
  hub.close();
});

test.each([
  ["a line", `${"x".repeat(50)}\nwhole line`, "whole line"],
  ["an escape sequence where there is no line end", `${"x".repeat(30)}5;10H${"\x1b[1;1Htop of the screen"}`, "\x1b[1;1Htop of the screen"],
  ["a whole character", `${"é".repeat(39)}x`, `${"é".repeat(19)}x`],
])("a scrollback that was cut begins at %s", (_name, printed, kept) => {
  const scrollback = new Scrollback(40);
  for (const byte of Buffer.from(printed)) scrollback.push(Buffer.from([byte]));
  expect(scrollback.snapshot().toString()).toBe(kept);
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

test("a console that cannot be opened fails for its caller, and may be tried again", async () => {
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
