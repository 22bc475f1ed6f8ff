import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Failure } from "../../contract/errors.ts";
import type { MachineAnswer, MachineCall } from "../../service/common/fleet-calls.ts";

/*
 * Calls of machines to each other. They exist only on the listener for machines, beside the operations of the API that are passed on there. A request is
 * JSON; an answer is one line of JSON, { facts } or { failure }, and any bytes behind it.
 */

export const machineCallPath = "/machine/call";

/** Maximum bytes of a request, and of the first line of an answer. */
const maxJson = 4 * 1024 * 1024;

/** Answers a call. @param from number of the machine that calls */
export type AnswerMachine = (from: number, call: MachineCall, signal: AbortSignal) => Promise<MachineAnswer>;

/** The first line of an answer. */
export type Line =
  | { readonly facts: unknown }
  | { readonly failure: { readonly code: string; readonly message: string; readonly data: Failure["data"] | undefined } };

/** Answers a request of another machine. Never rejects. */
export async function handleMachineCall(
  from: number,
  request: IncomingMessage,
  response: ServerResponse,
  answer: AnswerMachine,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Failure("cancelled", "the machine that called has gone")));
  const line = (value: Line) => response.write(`${JSON.stringify(value)}\n`);
  try {
    const call = machineCall(JSON.parse((await readUpTo(request, maxJson)).toString("utf8")));
    const { facts, body } = await answer(from, call, gone.signal);
    response.writeHead(200, { "content-type": "application/octet-stream" });
    line({ facts: facts ?? null });
    // A body that fails ends the connection before its time: the caller sees a broken answer.
    await pipeline(body, response).catch(() => response.destroy());
  } catch (error) {
    if (response.destroyed) return;
    if (!response.headersSent) response.writeHead(200, { "content-type": "application/octet-stream" });
    line(failureLine(error));
    response.end();
  }
}

/** Returns the call of another machine. Throws bad_request for anything else. */
export function machineCall(call: unknown): MachineCall {
  const { name, args } = (call ?? {}) as Partial<MachineCall>;
  if (typeof name !== "string") throw new Failure("bad_request", "the call of a machine has no name");
  return { name, args: args ?? {} };
}

export function failureLine(error: unknown): Line {
  const { code, message, data } =
    error instanceof Failure
      ? error
      : { code: "internal", message: `the machine could not answer: ${(error as Error).message}`, data: undefined };
  return { failure: { code, message, data } };
}

async function readUpTo(stream: AsyncIterable<unknown>, most: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > most) throw new Failure("bad_request", "the call of the machine is too large");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Returns the facts of an answer, and the stream behind them. Throws the failure of the machine. */
export async function readMachineAnswer<Body extends Readable>(response: Body): Promise<{ readonly facts: unknown; readonly body: Body }> {
  const line = (await readLine(response, maxJson)) as Line;
  if ("failure" in line) {
    response.resume();
    const { code, message, data } = line.failure;
    throw new Failure(code as "internal", message, data === undefined ? {} : { data: data as never });
  }
  return { facts: line.facts, body: response };
}

/** Returns the first line of a stream, which is JSON. The bytes behind it stay in the stream. */
export async function readLine(response: Readable, most: number): Promise<unknown> {
  let head = Buffer.alloc(0);
  let end = -1;
  while (end < 0) {
    const part = response.read() as Buffer | null;
    if (part === null) {
      await readableOrEnd(response);
      if (response.readableEnded || response.destroyed) throw new Error("the answer ended before its first line");
      continue;
    }
    head = Buffer.concat([head, part]);
    end = head.indexOf(10);
    if (end < 0 && head.length > most) throw new Error("the answer has no first line");
  }
  if (end + 1 < head.length) response.unshift(head.subarray(end + 1));
  return JSON.parse(head.subarray(0, end).toString("utf8"));
}

/** Resolves when more can be read, or the stream has ended. */
function readableOrEnd(stream: Readable): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      for (const name of ["readable", "end", "close"] as const) stream.off(name, done);
      stream.off("error", settle);
      if (error === undefined) resolve();
      else reject(error);
    };
    const done = () => settle();
    for (const name of ["readable", "end", "close"] as const) stream.once(name, done);
    stream.once("error", settle);
  });
}

/** Returns the bytes of a stream, whose error becomes another one. */
export function relabelled(body: Readable, to: (error: Error) => unknown): Readable {
  const bytes = async function* (): AsyncGenerator<Buffer> {
    try {
      for await (const part of body) yield part as Buffer;
    } catch (error) {
      throw to(error as Error);
    }
  };
  return Readable.from(bytes(), { objectMode: false });
}
