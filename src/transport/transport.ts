import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, Agent as PlainAgent } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex, Readable } from "node:stream";
import { Failure } from "../contract/errors.ts";
import { PinnedAgent, type PinnedRequestOptions } from "./agent.ts";
import { parseFingerprint } from "./fingerprint.ts";

export interface TransportOptions {
  /** https://host[:port][/base]; http:// only with plainHttp. */
  readonly url: string;
  /** SHA-256 of the leaf certificate, in any notation of parseFingerprint. Absent: the certificate must be signed by a trusted authority. */
  readonly pin?: string | undefined;
  /** PEM certificates to trust instead of the system's; ignored with a pin. */
  readonly ca?: string | undefined;
  /**
   * Allows an http:// URL: everything, including passwords, crosses the network unencrypted. Only for hosts without HTTPS, if their administrator
   * allows it. Default false.
   */
  readonly plainHttp?: boolean | undefined;
}

export interface TransportCall {
  readonly method: string;
  /** Path below the base URL, with its query string. */
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders | undefined;
  readonly body?: string | Uint8Array | undefined;
  /** Milliseconds for the whole response; for stream and upgrade, until it begins. 0: no limit. */
  readonly timeoutMs: number;
  /** Aborting throws the signal's reason and destroys an open stream or upgraded connection. */
  readonly signal?: AbortSignal | undefined;
  /** The request may be sent again if a kept-alive connection turns out to be closed. Set for calls that change nothing. */
  readonly repeatable?: boolean | undefined;
  /** Maximum bytes of a response; default 64 MiB. A larger one throws payload_too_large. */
  readonly maxBytes?: number | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface OpenAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** Result of an upgrade: the raw connection, with the first bytes already in it, or the response that refused it. */
export type Upgraded = { readonly connection: Duplex } | { readonly refusal: Answer };

/** Loaded on demand: this module loads the whole of fetch, an eighth of the time of each command. */
const plain = () => process.getBuiltinModule("node:http");

const defaultMaxBytes = 64 * 1024 * 1024;

/**
 * Pinned HTTPS to one server. Every method throws Failure: tls_required (a URL that is not https), tls_untrusted, tls_pin_mismatch, host_unreachable
 * (no connection, or it broke), host_timeout, payload_too_large. HTTP error statuses are returned as responses.
 */
export class Transport implements Disposable {
  readonly url: URL;
  readonly #agent: PinnedAgent | PlainAgent;

  constructor(options: TransportOptions) {
    this.url = parseUrl(options.url, options.plainHttp === true);
    if (this.url.protocol === "http:") {
      this.#agent = new (plain().Agent)({ keepAlive: true });
      return;
    }
    this.#agent = new PinnedAgent({ pin: options.pin === undefined ? undefined : parseFingerprint(options.pin), ca: options.ca });
  }

  /** Returns the whole response. */
  async request(call: TransportCall): Promise<Answer> {
    using clock = new Clock(call, this.url);
    return await clock.run(async () => {
      const { response } = await this.#send(call, clock);
      return await collect(response, call.maxBytes ?? defaultMaxBytes);
    });
  }

  /** Returns the response as soon as its headers arrive. The body fails if the connection breaks or the signal aborts. */
  async stream(call: TransportCall): Promise<OpenAnswer> {
    using clock = new Clock(call, this.url);
    return await clock.run(async () => {
      const { response } = await this.#send(call, clock);
      return { status: response.statusCode ?? 0, headers: response.headers, body: response };
    });
  }

  /** Asks for another protocol on the connection. */
  async upgrade(call: TransportCall & { readonly protocol: string }): Promise<Upgraded> {
    using clock = new Clock(call, this.url);
    return await clock.run(async () => {
      const headers = { ...call.headers, Connection: "Upgrade", Upgrade: call.protocol };
      const { response, connection } = await this.#send({ ...call, headers }, clock);
      if (connection !== undefined) return { connection };
      return { refusal: await collect(response, call.maxBytes ?? defaultMaxBytes) };
    });
  }

  /** Closes idle and busy connections; running calls throw host_unreachable. Upgraded connections belong to their callers. */
  close(): void {
    this.#agent.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #send(call: TransportCall, clock: Clock): Promise<Sent> {
    const options: PinnedRequestOptions = {
      agent: this.#agent,
      host: this.url.hostname.replace(/^\[|\]$/g, ""),
      port: this.url.port === "" ? (this.url.protocol === "http:" ? 80 : 443) : Number(this.url.port),
      method: call.method,
      path: this.url.pathname.replace(/\/$/, "") + call.path,
      headers: {
        Host: this.url.host,
        ...call.headers,
        ...(call.body === undefined ? {} : { "Content-Length": Buffer.byteLength(call.body) }),
      },
      signal: clock.signal,
      dialSignal: clock.signal,
    };
    const request = this.url.protocol === "http:" ? plain().request(options) : httpsRequest(options);
    try {
      return await exchange(request, call.body);
    } catch (error) {
      // The server closed the idle connection just as it was taken from the pool: the request is sent again on a new one.
      const idleClosed = request.reusedSocket && isReset(error) && !clock.signal.aborted;
      if (idleClosed && call.repeatable === true) return await this.#send(call, clock);
      throw error;
    }
  }
}

interface Sent {
  readonly response: IncomingMessage;
  readonly connection?: Duplex;
}

function exchange(request: ClientRequest, body: string | Uint8Array | undefined): Promise<Sent> {
  return new Promise((resolve, reject) => {
    // Stays for the request's life: a connection that breaks after the response began also fails the response's body.
    request.on("error", reject);
    request.once("response", (response) => resolve({ response }));
    request.once("upgrade", (response, connection, head) => {
      if (head.length > 0) connection.unshift(head);
      resolve({ response, connection });
    });
    request.end(body);
  });
}

async function collect(response: IncomingMessage, maxBytes: number): Promise<Answer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Failure("payload_too_large", `the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}

/** One call's time: the caller's signal and the time-out as one signal, and the errors for both. */
class Clock implements Disposable {
  readonly signal: AbortSignal;
  readonly #call: TransportCall;
  readonly #url: URL;
  readonly #expiry = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(call: TransportCall, url: URL) {
    this.#call = call;
    this.#url = url;
    this.signal = call.signal === undefined ? this.#expiry.signal : AbortSignal.any([call.signal, this.#expiry.signal]);
    if (call.timeoutMs > 0) this.#timer = setTimeout(() => this.#expiry.abort(), call.timeoutMs);
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#call.signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (error instanceof Failure) throw error;
      if (this.#call.signal?.aborted === true) throw this.#call.signal.reason;
      if (this.#expiry.signal.aborted) {
        throw new Failure("host_timeout", `no answer from ${this.#url.origin} within ${this.#call.timeoutMs / 1000} s`);
      }
      throw new Failure("host_unreachable", `no connection to ${this.#url.origin}: ${describe(error)}`, { cause: error });
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

function parseUrl(text: string, plainHttp: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === "")
    throw new Failure("host_unreachable", `"${text}" is not a URL such as https://localhost:8443`);
  // Refused before a token or a password could cross the network unencrypted.
  if (url.protocol !== "https:" && !(plainHttp && url.protocol === "http:"))
    throw new Failure("tls_required", `the service accepts only HTTPS: use https://${url.host}`);
  return url;
}

function isReset(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  if (code === "ECONNREFUSED") return "connection refused";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "the name is not known";
  if (code === "ECONNRESET") return "the connection broke before the answer came";
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") return "the server there does not speak TLS";
  // Several addresses were tried: the first error is enough.
  if (error instanceof AggregateError && error.errors[0] !== undefined) return describe(error.errors[0]);
  return error.message;
}
