import { afterAll, afterEach, beforeAll } from "vitest";
import { RawClient } from "../../test/wire/raw-client.ts";
import { Failure } from "../contract/errors.ts";
import type { OperationId } from "../contract/operations.ts";
import type { Call, Caller } from "../service/common/call.ts";
import type { EndedRequest } from "../service/metrics/metrics.ts";
import type { Handlers, Service } from "../service/service.ts";
import { type RunningServer, startServer } from "./start.ts";
import { fingerprintOf } from "./tls/certificate.ts";
import { selfSigned } from "./tls/self-signed.ts";

type TestHandler = (request: { body: unknown; query: unknown; params: unknown }, caller: Caller | null, call: Call) => unknown;

export const token = "good-token";

export const health = { status: "ok", tls: true, version: "0.0.0" };

export const upgradeRequest = (ticket: string, headers = `Authorization: Bearer ${token}\r\n`) =>
  `GET /api/v1/console/stream/${ticket} HTTP/1.1\r\nHost: x\r\n${headers}Connection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`;

/** A server and its client for all tests of a file. */
export class TestServer {
  /** The answers of the service. Each test begins without any. */
  replies: Partial<Record<OperationId, TestHandler>> = {};
  /** Lines of the server's log. */
  readonly log: string[] = [];
  readonly ended: EndedRequest[] = [];
  /** Entries of the audit log. */
  readonly audited: Readonly<Record<string, unknown>>[] = [];
  server!: RunningServer;
  client!: RawClient;

  readonly service: Service = {
    handlers: new Proxy({} as Handlers, {
      get: (_target, id: OperationId) => async (request: Parameters<TestHandler>[0], caller: Caller | null, call: Call) => {
        const reply = this.replies[id];
        if (reply === undefined) throw new Failure("unsupported", `${id} is not part of this test`, { data: { feature: id } });
        return reply(request, caller, call);
      },
    }),
    answerMachine: () => Promise.reject(new Error("no other machine calls")),
    storeSilentMs: () => undefined,
    authenticate: (given) => {
      if (given === token) return { user: "ann", role: "user", session: "s1" };
      throw new Failure(given === "old-token" ? "expired_agent_session" : "unauthenticated", "sign in");
    },
    authenticateBrowser: (cookie) => {
      if (cookie === "good-cookie") return { user: "ann", role: "user", session: "s1" };
      throw new Failure("unauthenticated", "sign in");
    },
    passedOn: (caller) => caller,
    requestEnded: (request) => void this.ended.push(request),
    recover: async () => {},
    signInBrowser: async () => {
      throw new Failure("unsupported", "no provider", { data: { feature: "userChanges" } });
    },
    signInProgram: async () => {
      throw new Failure("unsupported", "no provider", { data: { feature: "userChanges" } });
    },
    lookAtLeases: async () => {},
    lookAtMachines: async () => {},
    keepReady: () => undefined,
    close: async () => {},
  };

  /** Returns the lines of the log as objects. */
  logged(): readonly Record<string, unknown>[] {
    return this.log.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async start(): Promise<void> {
    const made = selfSigned({ names: ["localhost", "127.0.0.1"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });
    this.server = await startServer({
      service: this.service,
      certificate: { ...made, fingerprint: fingerprintOf(made.certificate) },
      version: "0.0.0",
      log: { level: "debug", stream: { write: (line) => void this.log.push(line) } },
      // Long enough for a handshake on a busy machine.
      headerWaitMs: 2_000,
      stallMs: 200,
      graceMs: 200,
      audit: (entry) => void this.audited.push(entry),
    });
    this.client = new RawClient(this.server.url, token);
  }
}

/** Starts a server before the tests of a file, and closes it after them. */
export function testServer(): TestServer {
  const made = new TestServer();
  beforeAll(() => made.start());
  afterAll(async () => {
    made.client[Symbol.dispose]();
    await made.server.close();
  });
  afterEach(() => {
    made.replies = {};
  });
  return made;
}
