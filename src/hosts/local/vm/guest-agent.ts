import { once } from "node:events";
import type { Duplex } from "node:stream";
import { Failure } from "../../../contract/errors.ts";

/** Maximum bytes of one answer. The guest is not trusted: a larger one ends the exchange. */
const maxAnswer = 8 << 20;
/** The time for an answer, ms: of a guest that has never answered, which may have no agent, and of others. */
const firstAnswerMs = 2_000;
const answerMs = 10_000;
/** The agent sends this byte before the answer to guest-sync-delimited. No JSON text contains it. */
const delimiter = 0xff;

export type AgentAnswer = { readonly value: unknown } | { readonly problem: string };

/**
 * The QEMU guest agent of one virtual machine (https://qemu-project.gitlab.io/qemu/interop/qemu-ga-ref.html). Its channel has one client at a time, so
 * each request opens it, and requests wait for each other.
 */
export class GuestAgent {
  readonly #open: () => Promise<Duplex>;
  #last: Promise<unknown> = Promise.resolve();
  #hasAnswered = false;
  #syncId = 0;

  /** @param open opens the channel. Throws node_not_running. */
  constructor(open: () => Promise<Duplex>) {
    this.#open = open;
  }

  /** Sends a command and returns the agent's answer. Throws host_timeout without an answer, host_error for a broken channel, and what `open` throws. */
  ask(command: string, args: object = {}): Promise<AgentAnswer> {
    const asked = this.#last.then(() => this.#exchange(command, args));
    this.#last = asked.catch(() => undefined); // thrown to the caller
    return asked;
  }

  async #exchange(command: string, args: object): Promise<AgentAnswer> {
    const late = AbortSignal.timeout(this.#hasAnswered ? answerMs : firstAnswerMs);
    const channel = await this.#open();
    try {
      const id = ++this.#syncId;
      const lines = linesOf(channel, late);
      channel.write(Buffer.concat([Buffer.of(delimiter), request("guest-sync-delimited", { id })]));
      // An answer to a request that was given up comes first.
      for (let line = await lines.next(); ; line = await lines.next()) {
        const at = line.lastIndexOf(delimiter);
        if (at >= 0 && returnedBy(line.subarray(at + 1)) === id) break;
      }
      this.#hasAnswered = true;
      channel.write(request(command, args));
      return answerOf(await lines.next());
    } finally {
      channel.destroy();
    }
  }
}

function request(execute: string, args: object): Buffer {
  return Buffer.from(`${JSON.stringify({ execute, arguments: args })}\n`);
}

/** Reads the lines of the channel, each within the limit. */
function linesOf(channel: Duplex, late: AbortSignal): { next(): Promise<Buffer> } {
  let rest: Buffer = Buffer.alloc(0);
  channel.on("error", () => {}); // its end is seen by the reader
  const more = async (): Promise<Buffer> => {
    for (;;) {
      const chunk = channel.read() as Buffer | null;
      if (chunk !== null) return chunk;
      if (channel.destroyed || channel.readableEnded) throw new Failure("host_error", "the channel of the guest agent was closed");
      const done = new AbortController();
      const signal = AbortSignal.any([late, done.signal]);
      const events = ["readable", "end", "close"].map((name) => once(channel, name, { signal }));
      try {
        await Promise.race(events);
      } catch (error) {
        if (late.aborted) throw new Failure("host_timeout", "the guest agent does not answer");
        throw error;
      } finally {
        for (const event of events) event.catch(() => {}); // aborted below
        done.abort();
      }
    }
  };
  return {
    next: async () => {
      const pieces = [rest];
      let length = rest.length;
      for (;;) {
        const last = pieces.at(-1) ?? rest;
        const end = last.indexOf(10);
        if (end >= 0) {
          rest = last.subarray(end + 1);
          return Buffer.concat([...pieces.slice(0, -1), last.subarray(0, end)]);
        }
        if (length > maxAnswer) throw new Failure("host_error", `the guest agent sent more than ${maxAnswer >> 20} MiB`);
        const chunk = await more();
        length += chunk.length;
        pieces.push(chunk);
      }
    },
  };
}

function answerOf(line: Buffer): AgentAnswer {
  const parsed = jsonOf(line);
  if (typeof parsed === "object" && parsed !== null) {
    if ("return" in parsed) return { value: parsed.return };
    if ("error" in parsed && typeof parsed.error === "object" && parsed.error !== null && "desc" in parsed.error)
      return { problem: String(parsed.error.desc).slice(0, 500) };
  }
  throw new Failure("host_error", "the guest agent sent no valid answer");
}

function returnedBy(line: Buffer): unknown {
  const parsed = jsonOf(line);
  return typeof parsed === "object" && parsed !== null && "return" in parsed ? parsed.return : undefined;
}

function jsonOf(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined; // no JSON: the caller refuses it or reads on
  }
}
