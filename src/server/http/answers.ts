import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { BytesAnswer } from "../../contract/operations.ts";

/** Sends a body with its own media type. If it has a file name, browsers save it as a download. */
export function sendBytes(answer: BytesAnswer, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.type(answer.mediaType);
  if (answer.filename !== undefined) {
    reply.header("Content-Disposition", `attachment; filename="${answer.filename.replaceAll(/[^A-Za-z0-9 ._-]/g, "_")}"`);
  }
  const { body } = answer;
  if (request.method === "HEAD" && typeof body !== "string") {
    if (body instanceof Readable) body.destroy();
    return reply.send();
  }
  return reply.send(typeof body === "string" || body instanceof Readable ? body : Readable.from(body));
}

interface StreamedEvent {
  readonly type: string;
  readonly id?: string | undefined;
}

/** Sends events as they occur: one JSON object per line, or server-sent events if the Accept header asks for them. */
export function sendEvents(
  events: AsyncIterable<StreamedEvent>,
  request: FastifyRequest,
  reply: FastifyReply,
  stallMs: number,
): FastifyReply {
  const sse = wantsSse(request);
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "Content-Type": eventsType(request),
  });
  // The header is sent at once: the first event may come much later.
  reply.raw.flushHeaders();
  // By default 16 lines wait for the reader, however long they are.
  const body = Readable.from(
    lines(events, sse, stallMs, () => reply.raw.destroy()),
    { highWaterMark: 1 },
  );
  pipeline(body, reply.raw).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ERR_STREAM_PREMATURE_CLOSE" || error.name === "AbortError")
      request.log.debug("the reader of events has disconnected");
    else request.log.error({ err: error }, "events failed");
  });
  return reply;
}

export function eventsType(request: FastifyRequest): string {
  return wantsSse(request) ? "text/event-stream; charset=utf-8" : "application/x-ndjson; charset=utf-8";
}

function wantsSse({ headers }: FastifyRequest): boolean {
  return /text\/event-stream/i.test(headers.accept ?? "");
}

/** Calls `cut` if the reader accepts no line for `stallMs`: a reader that vanished without closing the connection never ends it. */
async function* lines(events: AsyncIterable<StreamedEvent>, sse: boolean, stallMs: number, cut: () => void): AsyncGenerator<string> {
  for await (const event of events) {
    const json = JSON.stringify(event);
    const stalled = setTimeout(cut, stallMs).unref();
    try {
      const id = event.id === undefined ? "" : `id: ${event.id}\n`;
      yield sse ? `${id}event: ${event.type}\ndata: ${json}\n\n` : `${json}\n`;
    } finally {
      clearTimeout(stalled);
    }
  }
}
