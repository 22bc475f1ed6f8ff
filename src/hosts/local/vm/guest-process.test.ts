import { constants } from "node:os";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import type { NodeProgram } from "../../host-processes.ts";
import { GuestAgent } from "./guest-agent.ts";
import { startInGuest } from "./guest-process.ts";

interface Request {
  readonly execute: string;
  readonly arguments: {
    readonly id?: number;
    readonly pid?: number;
    readonly path?: string;
    readonly arg?: readonly string[];
    readonly "input-data"?: string;
  };
}

interface Answers {
  /** The end of the program, as guest-exec-status reports it, `undefined` while it runs. @param killed whether KILL was sent */
  readonly end: (killed: boolean) => object | undefined;
  /** Throws what opening the channel throws. */
  readonly open?: () => void;
}

/** An agent whose guest runs one program with pid 7. */
function agentOf({ end, open }: Answers) {
  const asked: Request[] = [];
  const kills = () => asked.filter(({ arguments: { arg } }) => arg?.at(-1) === "7");
  const answer = (request: Request): unknown => {
    if (request.execute === "guest-ping") return {};
    asked.push(request);
    if (request.execute === "guest-exec-status") return end(kills().length > 0) ?? { exited: false };
    return { pid: request.arguments.arg?.at(-1) === "7" ? 8 : 7 };
  };
  const channel = () =>
    new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        for (const line of chunk.toString("latin1").replaceAll("\xff", "").trim().split("\n")) {
          const request = JSON.parse(line) as Request;
          const sync = request.execute === "guest-sync-delimited";
          const value = sync ? request.arguments.id : answer(request);
          this.push(Buffer.concat([Buffer.from(sync ? [0xff] : []), Buffer.from(`${JSON.stringify({ return: value })}\n`)]));
        }
        done();
      },
    });
  const agent = new GuestAgent(async () => {
    open?.();
    return channel();
  });
  return { agent, asked, kills };
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

async function start(agent: GuestAgent, program: Partial<NodeProgram>, signal = new AbortController().signal) {
  return startInGuest(agent, "v1", { argv: ["work"], ...program }, signal);
}

async function read(process: Awaited<ReturnType<typeof start>>) {
  const items: unknown[] = [];
  for await (const item of process.output) items.push(item.stream === "end" ? item : { ...item, data: item.data.toString() });
  return items;
}

test("a program that takes longer than its time is killed with its session once, and its output until then is kept", async () => {
  let polls = 0;
  // It ends some polls after the signal, as a busy guest does.
  const { agent, kills } = agentOf({
    end: (killed) => (killed && polls++ > 2 ? { exited: true, signal: 9, "out-data": base64("half\n") } : undefined),
  });
  const process = await start(agent, { timeoutMs: 50 });
  process.endInput();
  expect(await read(process)).toEqual([
    { stream: "stdout", data: "half\n" },
    { stream: "end", signal: 9, reason: "timeout" },
  ]);
  expect(kills().map(({ arguments: { arg } }) => arg?.slice(2))).toEqual([["sh", String(constants.signals.SIGKILL), "7"]]);
  expect(kills()[0]!.arguments.arg![1]).toContain('"-$2"');
});

test("a program that ends within its time is not killed, and its exit code is the end", async () => {
  const { agent, kills } = agentOf({ end: () => ({ exited: true, exitcode: 3, "err-data": base64("bad\n") }) });
  const process = await start(agent, { timeoutMs: 60_000 });
  process.endInput();
  expect(await read(process)).toEqual([
    { stream: "stderr", data: "bad\n" },
    { stream: "end", exitCode: 3 },
  ]);
  expect(kills()).toEqual([]);
});

test("the program starts with its input, environment and directory, which no shell interprets", async () => {
  const { agent, asked } = agentOf({ end: () => ({ exited: true, exitcode: 0 }) });
  const process = await start(agent, { argv: ["echo", "$HOME; ls"], env: { A: "b c" }, cwd: "/tmp/x y" });
  await process.write(Buffer.from("one "));
  await process.write(Buffer.from("two"));
  process.endInput();
  await read(process);
  const { arguments: started } = asked[0]!;
  expect(started.arg!.slice(2)).toEqual(["sh", "/tmp/x y", "env", "A=b c", "echo", "$HOME; ls"]);
  expect(started["input-data"]).toBe(base64("one two"));
});

test("a node that stops ends the program as stopped", async () => {
  let stopped = false;
  const { agent } = agentOf({
    end: () => {
      stopped = true;
      return undefined;
    },
    open: () => {
      if (stopped) throw new Failure("node_not_running", "v1 is not running");
    },
  });
  const process = await start(agent, {});
  process.endInput();
  expect(await read(process)).toEqual([{ stream: "end", signal: 9, reason: "stopped" }]);
});

test("a caller that leaves kills the program", async () => {
  const { agent, kills } = agentOf({ end: () => undefined });
  const leave = new AbortController();
  const process = await start(agent, {}, leave.signal);
  process.endInput();
  const reading = expect(read(process)).rejects.toThrow();
  setTimeout(() => leave.abort(), 60);
  await reading;
  // The agent answers one request after the other.
  await agent.ask("guest-ping");
  expect(kills().length).toBe(1);
});

test("more input than an agent takes, and output that it cut off, are errors", async () => {
  const { agent, asked } = agentOf({ end: () => ({ exited: true, exitcode: 0, "out-data": base64("x"), "out-truncated": true }) });
  const large = await start(agent, {});
  await large.write(Buffer.alloc((4 << 20) + 1));
  large.endInput();
  await expect(read(large)).rejects.toMatchObject({ code: "payload_too_large" });
  expect(asked).toEqual([]);
  const cut = await start(agent, {});
  cut.endInput();
  await expect(read(cut)).rejects.toMatchObject({ code: "host_error", message: expect.stringContaining("write to a file in the guest") });
});

test.each([[{ terminal: { columns: 80, rows: 24 } }], [{ conversation: true as const }]])(
  "a program with %j is unsupported",
  async (program) => {
    const { agent, asked } = agentOf({ end: () => undefined });
    await expect(start(agent, program)).rejects.toMatchObject({ code: "unsupported", message: expect.stringContaining("v1: ") });
    expect(asked).toEqual([]);
  },
);
