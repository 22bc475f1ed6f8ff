import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { BytesAnswer } from "../../contract/operations.ts";
import type { EventData } from "../../contract/schemas/observe.ts";

/** A body with its own media type, as a download where it has a file name. */
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

/** Events as they come: one JSON object a line, or server-sent events where Accept asks for them. */
export function sendEvents(events: AsyncIterable<EventData>, request: FastifyRequest, reply: FastifyReply, stallMs: number): FastifyReply {
  const sse = wantsSse(request);
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "Content-Type": eventsType(request),
  });
  // The header goes out at once: the first event may be long in coming.
  reply.raw.flushHeaders();
  pipeline(Readable.from(lines(events, sse, stallMs, () => reply.raw.destroy())), reply.raw).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ERR_STREAM_PREMATURE_CLOSE" || error.name === "AbortError") request.log.debug("the reader of events went away");
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

/** `cut` is called when a line is not taken for so long: there is no end to wait for at a reader that is gone without a word. */
async function* lines(events: AsyncIterable<EventData>, sse: boolean, stallMs: number, cut: () => void): AsyncGenerator<string> {
  for await (const event of events) {
    const json = JSON.stringify(event);
    const stalled = setTimeout(cut, stallMs).unref();
    try {
      yield sse ? `id: ${event.id}\nevent: ${event.type}\ndata: ${json}\n\n` : `${json}\n`;
    } finally {
      clearTimeout(stalled);
    }
  }
}
