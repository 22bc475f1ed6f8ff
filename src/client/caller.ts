import type { Duplex, Readable } from "node:stream";
import { type OperationId, type OperationRow, operations } from "../contract/operations.ts";
import { type Answer, Transport, type TransportCall } from "../transport/transport.ts";
import { composeCall, type Input } from "./compose.ts";
import { envelopeData, isRecord, parseJson, refusal, type TextAnswer } from "./envelope.ts";
import { fromTransport, LabwrightError } from "./error.ts";
import { jsonLines } from "./lines.ts";
import type { CallOptions, Download, Stream } from "./methods.ts";

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface ConnectOptions {
  /** The service: https://host[:port]. */
  readonly url: string;
  /** SHA-256 fingerprint of the certificate: hex, optionally with colons and a sha256: prefix. Absent: the usual certificate authorities. */
  readonly pin?: string | undefined;
  /** PEM certificates to trust instead of the usual authorities. Ignored with a pin. */
  readonly ca?: string | undefined;
  /** A bearer token from an earlier login. */
  readonly token?: string | undefined;
  /** Used to log in before the first call, and again after the session has expired. A function may ask a person. */
  readonly credentials?: Credentials | (() => Promise<Credentials>) | undefined;
  /** Called with each new token, so that the program can store it. */
  readonly onToken?: ((token: string) => void) | undefined;
  /** Time-outs by operation id, ms. They replace the operation's own time-out. */
  readonly timeouts?: Readonly<Partial<Record<OperationId, number>>> | undefined;
}

const expired: ReadonlySet<string | undefined> = new Set(["unauthenticated", "expired_agent_session", "expired_host_session"]);

/**
 * Sends operations and holds the session. If the session has expired, it logs in again and repeats the request once. It repeats only operations whose
 * table row allows a replay, because they change nothing. For other operations the program gets the error, and the next call logs in first.
 */
export class Caller implements Disposable {
  readonly #transport: Transport;
  readonly #options: ConnectOptions;
  #token: string | undefined;
  #login: Promise<void> | undefined;

  constructor(options: ConnectOptions) {
    try {
      this.#transport = new Transport(options);
    } catch (error) {
      throw fromTransport(error);
    }
    this.#options = options;
    this.#token = options.token;
  }

  get token(): string | undefined {
    return this.#token;
  }

  get url(): string {
    return this.#transport.url.href.replace(/\/$/, "");
  }

  /** Sends an operation. `headers` are added to the headers of every call. */
  async call(id: OperationId, input: Input, options: CallOptions = {}, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const row: OperationRow = operations[id];
    const call = composeCall(id, row, input, options, { headers, usualMs: this.#options.timeouts?.[id] });
    if (row.auth === "none") return await this.#answered(id, row, call);
    if (this.#token === undefined) await this.#renew(undefined, options.signal);
    const used = this.#token;
    try {
      return await this.#answered(id, row, call);
    } catch (error) {
      if (!(error instanceof LabwrightError) || error.status !== 401 || !expired.has(error.code)) throw error;
      if (this.#options.credentials === undefined) throw error;
      if (!row.replay) {
        if (this.#token === used) this.#token = undefined;
        throw error;
      }
      await this.#renew(used, options.signal);
      return await this.#answered(id, row, call);
    }
  }

  [Symbol.dispose](): void {
    this.#transport.close();
  }

  /** Logs in with the credentials, if there are any and no other call has renewed the token already. One login runs at a time. */
  async #renew(used: string | undefined, signal: AbortSignal | undefined): Promise<void> {
    const { credentials } = this.#options;
    if (credentials === undefined || this.#token !== used) return;
    this.#login ??= (async () => {
      const { username, password } = typeof credentials === "function" ? await credentials() : credentials;
      await this.call("login", { username, password });
    })().finally(() => {
      this.#login = undefined;
    });
    const login = this.#login;
    if (signal === undefined) return await login;
    // Another call may wait for the same login: an abort ends the waiting, not the login.
    let onAbort: () => void = () => undefined;
    const aborted = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort);
    });
    try {
      await Promise.race([login, aborted]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #answered(id: OperationId, row: OperationRow, composed: TransportCall): Promise<unknown> {
    const bearer = row.auth !== "none" && this.#token !== undefined ? { Authorization: `Bearer ${this.#token}` } : {};
    const call = { ...composed, headers: { ...composed.headers, ...bearer } };
    try {
      switch (row.answer) {
        case "upgrade":
          return await this.#upgrade(row, call);
        case "events":
        case "bytes":
          return await this.#stream(row, call);
        case "document": {
          const answer = await this.#transport.request(call);
          if (answer.status !== 200) throw refusal(textOf(answer));
          return parseJson(textOf(answer));
        }
        case "data": {
          const data = envelopeData(textOf(await this.#transport.request(call)));
          if (id === "login") this.#keep(data);
          if (id === "logout") this.#token = undefined;
          return data;
        }
      }
    } catch (error) {
      throw fromTransport(error);
    }
  }

  #keep(data: unknown): void {
    if (!isRecord(data) || typeof data.token !== "string") throw new LabwrightError("the login answer has no token", { status: 200 });
    this.#token = data.token;
    this.#options.onToken?.(this.#token);
  }

  async #upgrade(row: OperationRow, call: TransportCall): Promise<Duplex> {
    const upgraded = await this.#transport.upgrade({ ...call, protocol: row.protocol ?? "" });
    if ("connection" in upgraded) return upgraded.connection;
    throw refusal(textOf(upgraded.refusal));
  }

  async #stream(row: OperationRow, call: TransportCall): Promise<Download | Stream<unknown>> {
    const open = await this.#transport.stream(call);
    if (open.status !== 200) {
      const chunks: Buffer[] = [];
      for await (const chunk of open.body as AsyncIterable<Buffer>) chunks.push(chunk);
      throw refusal(textOf({ ...open, body: Buffer.concat(chunks) }));
    }
    if (row.answer === "events") return eventStream(open.body);
    const filename = /filename="([^"]*)"/.exec(String(open.headers["content-disposition"] ?? ""))?.[1];
    return {
      mediaType: open.headers["content-type"] ?? "application/octet-stream",
      ...(filename === undefined ? {} : { filename }),
      body: open.body,
    };
  }
}

function eventStream(body: Readable): Stream<unknown> {
  const lines = untilBroken(jsonLines<unknown>(body));
  return { [Symbol.asyncIterator]: () => lines, [Symbol.dispose]: () => void body.destroy() };
}

/** Throws the error of a connection that breaks as host_unreachable. */
async function* untilBroken(lines: AsyncGenerator<unknown>): AsyncGenerator<unknown, void, undefined> {
  try {
    yield* lines;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ECONNRESET") throw error;
    throw new LabwrightError("the connection to the service broke: it has stopped or cannot be reached", {
      status: 0,
      code: "host_unreachable",
      cause: error,
    });
  }
}

function textOf({ status, headers, body }: Answer): TextAnswer {
  const header = (name: string) => {
    const value = headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
  return { status, text: body.toString("utf8"), header };
}
