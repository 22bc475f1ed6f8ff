import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { WebSocket } from "ws";
import type { Host } from "../../src/hosts/host.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import { type ServerOptions, startServer } from "../../src/server/start.ts";
import { fingerprintOf } from "../../src/server/tls/certificate.ts";
import { selfSigned } from "../../src/server/tls/self-signed.ts";
import { createService, type ServiceOptions } from "../../src/service/create-service.ts";
import { sqliteStore } from "../../src/service/store/sqlite.ts";
import { type Answer, RawClient } from "./raw-client.ts";

export const users = [
  { name: "admin", password: "admin-password", role: "admin" },
  { name: "ann", password: "ann-password", role: "user" },
  { name: "bob", password: "bob-password", role: "user" },
  { name: "eve", password: "eve-password", role: "viewer" },
] as const;

export interface ServedOptions {
  /** Closed with the rest. Default: a memory host with `users`. */
  readonly host?: Host;
  readonly service?: Partial<ServiceOptions>;
  readonly server?: Partial<ServerOptions>;
}

/** The real server over the real service, with TLS, on a port of its own. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly fingerprint: string;
  readonly host: Host;
  /** Everything that server and service logged, as JSON lines. */
  readonly log: string[];
  /** A client that has signed in. */
  signIn(user?: string, password?: string): Promise<RawClient>;
}

export async function serve(options: ServedOptions = {}): Promise<Served> {
  const log: string[] = [];
  const host = options.host ?? memoryHost({ users });
  const service = createService({
    host,
    store: sqliteStore(":memory:"),
    log: (level, message, fields) => log.push(JSON.stringify({ level, message, ...fields })),
    version: "1.2.3",
    ...options.service,
  });
  await service.recover();
  const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });
  const server = await startServer({
    service,
    certificate: { ...made, fingerprint: fingerprintOf(made.certificate) },
    version: "1.2.3",
    graceMs: 200,
    log: { level: "debug", stream: { write: (line) => void log.push(line) } },
    ...options.server,
  });
  const clients: RawClient[] = [];
  return {
    url: server.url,
    fingerprint: server.fingerprint,
    host,
    log,
    signIn: async (user = "admin", password = `${user}-password`) => {
      const client = new RawClient(server.url);
      clients.push(client);
      const answer = await client.post("/api/v1/login", { username: user, password });
      if (answer.status !== 200) throw new Error(`login of ${user}: ${answer.text}`);
      client.token = answer.json.data.token;
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client[Symbol.dispose]();
      await server.close();
      await service.close();
      await host.close();
    },
  };
}

/** The cookie that an answer sets, as a Cookie header; its value apart. */
export function cookieIn(answer: Answer): { readonly header: string; readonly value: string; readonly attributes: readonly string[] } {
  const [pair = "", ...attributes] = (answer.headers["set-cookie"]?.[0] ?? "").split("; ");
  return { header: pair, value: pair.slice(pair.indexOf("=") + 1), attributes };
}

/** A WebSocket of a test: the messages that it received, and how it was refused or closed. */
export interface TestSocket {
  readonly socket: WebSocket;
  /** Bytes of all binary frames. */
  readonly heard: () => string;
  readonly frames: { readonly binary: boolean; readonly size: number }[];
  /** The answer in place of 101. */
  readonly refused: () =>
    | { readonly status: number; readonly headers: NodeJS.Dict<string | string[]>; readonly json: { readonly code?: string } }
    | undefined;
  readonly closed: () => number | undefined;
}

export function openSocket(url: string, path: string, headers: Readonly<Record<string, string>>): TestSocket {
  const socket = new WebSocket(url.replace("https:", "wss:") + path, { headers, rejectUnauthorized: false, perMessageDeflate: false });
  let heard = "";
  let code: number | undefined;
  let refusal: ReturnType<TestSocket["refused"]>;
  const frames: { binary: boolean; size: number }[] = [];
  socket.on("message", (data: Buffer, binary) => {
    frames.push({ binary, size: data.length });
    heard += data.toString("latin1");
  });
  socket.on("close", (closeCode) => {
    code = closeCode;
  });
  socket.on("unexpected-response", (_request, response) => {
    let body = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    response.on("end", () => {
      refusal = { status: response.statusCode ?? 0, headers: response.headers, json: JSON.parse(body) };
    });
  });
  // A connection that is cut off emits "close".
  socket.on("error", () => {});
  return { socket, heard: () => heard, frames, refused: () => refusal, closed: () => code };
}

/** Bytes of buffers that this process still uses. */
export function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().arrayBuffers;
}
