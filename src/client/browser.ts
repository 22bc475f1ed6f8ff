/**
 * The SDK for web pages: `import { connect } from "labwright/browser"`. It has the same operations and types as in Node, over fetch and WebSocket.
 * The browser checks the certificate. A page of the service's own origin is authenticated by its cookie (docs/browser.md).
 */
import { type OperationId, type OperationRow, operations } from "../contract/operations.ts";
import { type ComposedCall, composeCall, type Input } from "./compose.ts";
import { envelopeData, parseJson, refusal, type TextAnswer } from "./envelope.ts";
import { LabwrightError } from "./error.ts";
import { resumingEvents } from "./events.ts";
import { type JobMethods, jobMethods } from "./jobs.ts";
import type { CallOptions, InputOf, Methods, ResultOf, Stream } from "./methods.ts";

export { LabwrightError } from "./error.ts";
export type { Job, JobMethods, JobOptions, StartedJob } from "./jobs.ts";
export type { CallOptions, InputOf, Stream } from "./methods.ts";

export interface BrowserOptions {
  /** The service: https://host[:port]. Default: the origin of the page. */
  readonly url?: string | undefined;
  /** A bearer token. Absent: the cookie of the page's browser session. */
  readonly token?: string | undefined;
  /** Time-outs by operation id, ms. They replace the operation's own time-out. */
  readonly timeouts?: Readonly<Partial<Record<OperationId, number>>> | undefined;
}

export interface BrowserDownload {
  readonly mediaType: string;
  readonly filename?: string;
  readonly body: ReadableStream<Uint8Array>;
}

type AnswerOf<Id extends OperationId> = (typeof operations)[Id]["answer"];

/** ResultOf for browsers: an upgrade returns a WebSocket, bytes are a ReadableStream. */
export type BrowserResultOf<Id extends OperationId> =
  AnswerOf<Id> extends "upgrade" ? WebSocket : AnswerOf<Id> extends "bytes" ? BrowserDownload : ResultOf<Id>;

export type BrowserMethods = { readonly [Id in OperationId]: (...given: Parameters<Methods[Id]>) => Promise<BrowserResultOf<Id>> };

export interface BrowserClient extends BrowserMethods, JobMethods {
  readonly url: string;
  /** The bearer token in use; undefined with a cookie. */
  readonly token: string | undefined;
  /** Opens a console as a WebSocket. Binary frames carry its bytes; a text frame `{"resize": [columns, rows]}` sets its size. Needs the cookie. */
  openConsole(input: InputOf<"attachConsole"> & { readonly node: string }, options?: CallOptions): Promise<WebSocket>;
}

/** Returns a client of the service for a page. It sends nothing before the first call. */
export function connect(options: BrowserOptions = {}): BrowserClient {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  const url = (options.url ?? location?.origin ?? "").replace(/\/$/, "");
  let { token } = options;

  const call = async (
    id: OperationId,
    input: Input,
    callOptions: CallOptions = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> => {
    const row: OperationRow = operations[id];
    const composed = composeCall(id, row, input, callOptions, { headers, usualMs: options.timeouts?.[id] });
    if (row.answer === "upgrade") return openSocket(`${url.replace(/^http/, "ws")}${composed.path}`, composed.signal);
    const response = await send(url, composed, row.auth === "none" ? undefined : token);
    if (response.status !== 200) throw refusal(await textOf(response));
    if (row.answer === "events") return eventStream(response);
    if (row.answer === "bytes") return download(response);
    const answer = await textOf(response);
    if (row.answer === "document") return parseJson(answer);
    const data = envelopeData(answer);
    if (id === "login") token = (data as ResultOf<"login">).token;
    if (id === "logout") token = undefined;
    return data;
  };

  const methods = Object.fromEntries(
    (Object.keys(operations) as OperationId[]).map((id) => [
      id,
      (input: object = {}, callOptions?: CallOptions) => call(id, input as Input, callOptions),
    ]),
    // As in Node, the table of operations is the only list of methods.
  ) as unknown as BrowserMethods;

  return {
    ...methods,
    ...jobMethods(
      (id, input, callOptions, headers) => call(id, input as Input, callOptions, headers),
      (input, callOptions) => methods.getJob(input, callOptions),
      (input, callOptions) => methods.getPublicProject(input, callOptions),
    ),
    events: (input = {}, callOptions = {}) =>
      resumingEvents((after, signal) => methods.events({ ...input, after }, { ...callOptions, signal }), input.after, callOptions),
    get url() {
      return url;
    },
    get token() {
      return token;
    },
    openConsole: async (input, callOptions) => {
      const { stream } = await methods.attachConsole(input, callOptions);
      return await methods.streamConsole({ ticket: stream ?? "" }, callOptions);
    },
  };
}

/** Sends a request. The time-out ends when the answer begins: a stream may last longer. */
async function send(
  url: string,
  { method, path, headers, body, timeoutMs, signal }: ComposedCall,
  token: string | undefined,
): Promise<Response> {
  const late = new AbortController();
  const timer = timeoutMs > 0 ? setTimeout(() => late.abort(), timeoutMs) : undefined;
  try {
    return await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...(token === undefined ? { "X-Labwright-Csrf": "1" } : { Authorization: `Bearer ${token}` }) },
      credentials: "same-origin",
      cache: "no-store",
      signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
      ...(body !== undefined && { body }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    if (late.signal.aborted)
      throw new LabwrightError(`no answer from ${url} within ${timeoutMs / 1000} s`, { status: 0, code: "host_timeout" });
    // Browsers do not report the reason to pages: either no connection, or a certificate that is not trusted.
    throw new LabwrightError(`no connection to ${url}`, { status: 0, code: "host_unreachable", cause: error });
  } finally {
    clearTimeout(timer);
  }
}

async function textOf(response: Response): Promise<TextAnswer> {
  return { status: response.status, text: await response.text(), header: (name) => response.headers.get(name) ?? undefined };
}

function download(response: Response): BrowserDownload {
  const filename = /filename="([^"]*)"/.exec(response.headers.get("content-disposition") ?? "")?.[1];
  return {
    mediaType: response.headers.get("content-type") ?? "application/octet-stream",
    ...(filename === undefined ? {} : { filename }),
    body: response.body ?? new ReadableStream(),
  };
}

function eventStream(response: Response): Stream<unknown> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  // The stream may have failed already. The reader gets that error.
  const stop = () => void reader.cancel().catch(() => {});
  async function* lines(): AsyncGenerator<unknown, void, undefined> {
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        const parts = (rest + decoder.decode(read.value, { stream: true })).split("\n");
        rest = parts.pop() ?? "";
        for (const part of parts) if (part.trim() !== "") yield JSON.parse(part);
      }
    } finally {
      stop();
    }
  }
  const items = lines();
  return { [Symbol.asyncIterator]: () => items, [Symbol.dispose]: stop };
}

/** Resolves when the WebSocket is open. Browsers do not report why a WebSocket was refused. */
function openSocket(url: string, signal: AbortSignal | undefined): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    signal?.addEventListener("abort", () => {
      socket.close();
      reject(signal.reason);
    });
    socket.addEventListener("open", () => resolve(socket), { once: true });
    socket.addEventListener("error", () => reject(new LabwrightError("the stream was refused", { status: 0, code: "host_unreachable" })), {
      once: true,
    });
  });
}
