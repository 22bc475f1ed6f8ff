import { constants } from "node:os";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import type { NodeProgram } from "../../host-processes.ts";
import { GuestAgent } from "./guest-agent.ts";
import { startInGuest } from "./guest-process.ts";

/** A guest's side of the channel. @param answer returns what the guest writes after a line of the service */
function guest(answer: (line: Record<string, unknown>, write: (bytes: Buffer | string) => void) => void): () => Promise<Duplex> {
  return async () =>
    new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        for (const line of chunk.toString("latin1").replaceAll("\xff", "").trim().split("\n"))
          answer(JSON.parse(line), (bytes) => this.push(bytes));
        done();
      },
    });
}

/** Answers to the synchronization, and passes on the other requests. */
function synced(answer: (line: Record<string, unknown>, write: (bytes: Buffer | string) => void) => void) {
  return guest((line, write) => {
    if (line["execute"] !== "guest-sync-delimited") return answer(line, write);
    const { id } = line["arguments"] as { readonly id: number };
    write(Buffer.concat([Buffer.of(0xff), Buffer.from(`${JSON.stringify({ return: id })}\n`)]));
  });
}

test("a request gets its answer, also after a late answer to another one and with parts of a line", async () => {
  const agent = new GuestAgent(
    guest((line, write) => {
      if (line["execute"] === "guest-ping") return write('{"return": {"a": 1}}\n');
      const { id } = line["arguments"] as { readonly id: number };
      write('{"return": "late"}\n{"ret');
      write('urn": 7}\n');
      write(Buffer.from([0xff]));
      write(`{"return": ${id}}\n`);
    }),
  );
  expect(await agent.ask("guest-ping")).toEqual({ value: { a: 1 } });
  expect(await agent.ask("guest-ping")).toEqual({ value: { a: 1 } });
});

test("an error of the agent is its problem", async () => {
  const agent = new GuestAgent(synced((_line, write) => write('{"error": {"class": "GenericError", "desc": "no such file"}}\n')));
  expect(await agent.ask("guest-exec")).toEqual({ problem: "no such file" });
});

test.each([
  ["no JSON", (write: (bytes: Buffer | string) => void) => write("hello\n"), "no valid answer"],
  ["a number", (write: (bytes: Buffer | string) => void) => write("7\n"), "no valid answer"],
  [
    "a line without end",
    (write: (bytes: Buffer | string) => void) => {
      for (let i = 0; i < 10; i++) write(Buffer.alloc(1 << 20, "x"));
    },
    "more than 8 MiB",
  ],
])("%s ends the exchange", async (_name, say, message) => {
  const agent = new GuestAgent(synced((_line, write) => say(write)));
  await expect(agent.ask("guest-ping")).rejects.toMatchObject({ code: "host_error", message: expect.stringContaining(message) });
});

test("a guest without an agent runs no program, and says so; its console is the way", async () => {
  const agent = new GuestAgent(guest(() => {}));
  const started = startInGuest(agent, "v1", { argv: ["true"] }, new AbortController().signal);
  await expect(started).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("v1: its guest agent does not answer"),
  });
});

test.each([[{ return: { pid: "1" } }], [{ return: [] }], [{ return: null }]])(
  "a guest that answers %j to the start of a program fails it",
  async (answer) => {
    const agent = new GuestAgent(
      synced((line, write) => write(`${JSON.stringify(line["execute"] === "guest-ping" ? { return: {} } : answer)}\n`)),
    );
    const process = await startInGuest(agent, "v1", { argv: ["true"] }, new AbortController().signal);
    process.endInput();
    const read = async () => {
      for await (const _ of process.output);
    };
    await expect(read()).rejects.toMatchObject({ code: "host_error", message: "the guest agent sent no valid answer" });
  },
);

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
