import { Duplex } from "node:stream";
import { expect, test } from "vitest";
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
