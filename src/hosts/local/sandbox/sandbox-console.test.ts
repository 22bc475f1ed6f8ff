import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { boot, reading, readText, sandboxBench, until } from "./sandbox.fixture.ts";

const { create, node } = sandboxBench("console");

describe("a console", () => {
  test("echoes, gives late viewers the scrollback, and is shared by two", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1)]);
    const first = await sandbox.console(1);
    const one = reading(first);
    await one.until("READY> ");
    first.write("echo $((6*7))\n");
    await one.until("42\r\n");
    const second = await sandbox.console(1);
    const two = reading(second);
    expect(second.recalled).toBe(Buffer.byteLength(one.text()));
    await two.until("42\r\n");
    second.write("echo $((20+3)); tty; stty size\n");
    await Promise.all([one.until("23\r\n/dev/pts/0\r\n24 80\r\n"), two.until("23\r\n/dev/pts/0\r\n24 80\r\n")]);
    await sandbox.resize(1, 132, 43);
    first.write("stty size\n");
    await two.until("43 132\r\n");
    const ends = [first, second].map((stream) => once(stream, "end"));
    await sandbox.stop([1], "kill", 0);
    await Promise.all(ends);
  });

  test("starts its program again when it ends", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { console: ["sh", "-c", "echo session of $$; read line"] })]);
    const stream = await sandbox.console(1);
    const viewer = reading(stream);
    await viewer.until("session of");
    stream.write("\n");
    await until(() => viewer.text().split("session of").length === 3);
    stream.destroy();
  });

  test("loses nothing to a viewer that reads, and is not held up by one that does not", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { console: [] })]);
    const write = (count: number) => `stty -onlcr < /dev/pts/0; yes 0123456789abcde | head -n ${count} > /dev/pts/0`;
    const lines = 10 * 65_536; // 10 MB
    const attentive = await sandbox.console(1);
    let received = 0;
    attentive.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    expect((await sandbox.exec(1, ["sh", "-c", write(lines)], { timeoutMs: 60_000 })).code).toBe(0);
    await until(() => received >= lines * 16);
    expect(received).toBe(lines * 16);
    attentive.destroy();

    const idle = await sandbox.console(1);
    idle.pause();
    const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readText(`/proc/${sandbox.pid}/status`))?.[1]);
    const before = memory();
    expect((await sandbox.exec(1, ["sh", "-c", write(lines)], { timeoutMs: 60_000 })).code).toBe(0);
    expect(memory() - before).toBeLessThan(1024);
    const late = reading(idle.resume());
    await late.until("bytes of output lost]");
    expect(late.text().length).toBeLessThan(lines * 16);
    idle.destroy();
  });

  test("that nobody in the node reads does not keep viewers that left", async () => {
    const sandbox = await create();
    await boot(sandbox, [node(1, { console: [], boot: ["sh", "-c", "stty raw < /dev/pts/0"] })]);
    const fds = () => readdirSync(`/proc/${sandbox.pid}/fd`).length;
    const before = fds();
    for (let i = 0; i < 3; i++) {
      const stream = await sandbox.console(1);
      stream.write(Buffer.alloc(200_000, "x"));
      await delay(20);
      stream.destroy();
    }
    await until(() => fds() <= before);
  });
});
