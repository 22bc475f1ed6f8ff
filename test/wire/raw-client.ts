import type { IncomingMessage } from "node:http";
import { Agent, request as secureRequest } from "node:https";
import { connect as connectPlain } from "node:net";
import { connect as connectSecure, type TLSSocket } from "node:tls";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
  /** The request went over a connection that an earlier one had used. */
  readonly reused: boolean;
}

export interface Sent {
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer | undefined;
  /** null: no Authorization header; absent: the client's own token. */
  readonly bearer?: string | null;
  readonly signal?: AbortSignal;
}

/** A connection on which a test writes bytes itself. */
export interface RawConnection {
  readonly socket: TLSSocket;
  /** Everything received until now. */
  readonly heard: () => string;
  readonly ended: () => Promise<void>;
}

/** Requests as a stranger would write them, past the SDK: one kept-alive connection, nothing added, nothing checked. */
export class RawClient implements Disposable {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  token: string | null;

  constructor(url: string, token: string | null = null) {
    this.#url = url;
    this.token = token;
  }

  call(method: string, path: string, { headers = {}, body, bearer = this.token, signal }: Sent = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = secureRequest(new URL(this.#url), {
        method,
        // Not through URL, which would resolve "..".
        path,
        agent: this.#agent,
        ...(signal && { signal }),
        headers: {
          ...(bearer !== null && { Authorization: `Bearer ${bearer}` }),
          ...(body !== undefined && { "Content-Type": "application/json", "Content-Length": String(Buffer.byteLength(body)) }),
          ...headers,
        },
      });
      sent.on("error", reject);
      sent.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = text !== "" && response.headers["content-type"]?.startsWith("application/json") === true;
          const json = isJson ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json, reused: sent.reusedSocket });
        });
      });
      sent.end(body);
    });
  }

  get(path: string, sent: Sent = {}): Promise<Answer> {
    return this.call("GET", path, sent);
  }

  /** An object is sent as JSON, a string or a buffer as it is. */
  /** A JSON body, with the method of its row. */
  send({ method, path }: { readonly method: string; readonly path: string }, body: unknown): Promise<Answer> {
    return this.call(method, path, { body: JSON.stringify(body) });
  }

  post(path: string, body: unknown, sent: Sent = {}): Promise<Answer> {
    return this.call("POST", path, { ...sent, body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body) });
  }

  /** All bytes that a plain TCP connection receives after `text`, until it is closed. */
  plain(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connectPlain(Number(new URL(this.#url).port), new URL(this.#url).hostname, () => socket.write(text));
      let heard = "";
      socket.setEncoding("latin1").on("data", (chunk: string) => {
        heard += chunk;
      });
      socket.on("close", () => resolve(heard)).on("error", reject);
    });
  }

  secure(text: string): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      let heard = "";
      const { port, hostname: host } = new URL(this.#url);
      const socket = connectSecure({ port: Number(port), host, rejectUnauthorized: false }, () => {
        socket.write(text);
        resolve({
          socket,
          heard: () => heard,
          ended: () => new Promise((done) => (socket.destroyed ? done() : socket.once("close", () => done()))),
        });
      });
      socket.setEncoding("latin1").on("data", (chunk: string) => {
        heard += chunk;
      });
      socket.on("error", reject);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
