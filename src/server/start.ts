import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { DEFAULT_CIPHERS } from "node:tls";
import fastify, { type FastifyInstance, LogController } from "fastify";
import { Failure } from "../contract/errors.ts";
import { openApiDocument } from "../contract/openapi.ts";
import type { Service } from "../service/service.ts";
import { defaultMaxConnections } from "./http/connection-limit.ts";
import { toFailure } from "./http/failures.ts";
import { answerHealth } from "./http/health.ts";
import { answerMalformed, noteRequest } from "./http/malformed.ts";
import { addDocs, addPages, type Pages } from "./http/pages.ts";
import { newRequestId } from "./http/request-id.ts";
import { addRoutes, answerUnknown, sendFailure } from "./http/routes.ts";
import { routeUpgrades, wantsStream } from "./streams/upgrades.ts";
import { type WebSocketLimits, WebSockets } from "./streams/web-sockets.ts";
import type { ServerCertificate } from "./tls/certificate.ts";
import { createFront } from "./tls/front.ts";

export interface ServerOptions {
  readonly service: Service;
  readonly certificate: ServerCertificate;
  /** Default 127.0.0.1, and any free port. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  /** The web pages, served below /ui/; absent: none. */
  readonly pages?: Pages | undefined;
  /** Loads the documentation, which is served below /docs/; absent, or undefined as its result: none. */
  readonly docs?: () => Promise<Pages | undefined>;
  /** Of the product; in the OpenAPI document. */
  readonly version: string;
  /** JSON lines; absent: none. */
  readonly log?: { readonly level?: "debug" | "info" | "warn" | "error"; readonly stream?: { write(line: string): void } };
  /** How long a client may take to send its first byte, its handshake and its header, ms. Default 10,000. */
  readonly headerWaitMs?: number;
  readonly webSockets?: WebSocketLimits;
  /** A reader of events that takes nothing for so long, while there is something, is cut off, ms. Default 30,000. */
  readonly stallMs?: number;
  /** How long close() lets running requests end, ms. Default 3,000. */
  readonly graceMs?: number;
  /** Connections at once. Default: what the limit of file descriptors leaves, 8,192 at most. */
  readonly maxConnections?: number;
}

export interface RunningServer {
  /** https://127.0.0.1:8443 */
  readonly url: string;
  /** SHA-256 of the certificate, to pin. */
  readonly fingerprint: string;
  /** New connections get this certificate; open ones stay as they are. Throws if TLS cannot use it, which changes nothing. */
  useCertificate(certificate: ServerCertificate): void;
  /** Stops listening, ends open streams, lets running requests end for a moment, answers the rest and new ones shutting_down. Not the service. */
  close(): Promise<void>;
}

const quickest = "TLS_AES_128_GCM_SHA256";
/** Node's own, the quickest of TLS 1.3 first: every machine has it in hardware, and consoles and captures are much to encrypt. */
const ciphers = DEFAULT_CIPHERS.split(":")
  .toSorted((a, b) => Number(b === quickest) - Number(a === quickest))
  .join(":");

/** A client has so long to take the answer that its call was cut off, ms. */
const lastAnswerMs = 1_000;

/** The HTTPS server of API v1: routes, authentication, envelope and upgrades; what is answered comes from the service. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { service, certificate, headerWaitMs = 10_000, graceMs = 3_000 } = options;
  const closing = new AbortController();
  const cut = new AbortController();
  let secure!: SecureServer;
  const { level = "info", stream = process.stdout } = options.log ?? {};
  const healthLines = options.log !== undefined && (level === "debug" || level === "info") ? stream : undefined;
  const health = answerHealth(service.health, (requestId, address, ms) => {
    healthLines?.write(healthLine(requestId, address ?? "", ms));
    service.requestEnded({ operation: "getHealth", status: 200, ms });
  });
  const app: FastifyInstance = fastify({
    serverFactory: (handler) => {
      secure = createSecureServer(
        {
          ...tlsOptions(certificate),
          ALPNProtocols: ["http/1.1"],
          handshakeTimeout: headerWaitMs,
          headersTimeout: headerWaitMs,
          connectionsCheckingInterval: Math.min(headerWaitMs, 5_000),
          keepAliveTimeout: 65_000,
          noDelay: true,
          // Node would refuse without an envelope; the routes ask for it.
          requireHostHeader: false,
          shouldUpgradeCallback: wantsStream,
        },
        (request, response) => {
          noteRequest(request, response);
          if (!closing.signal.aborted && health(request, response)) return;
          readByStream(request.socket);
          handler(request, response);
        },
      );
      return secure as never;
    },
    logger: options.log === undefined ? false : { level, stream },
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "request_id" }),
    genReqId: newRequestId,
    requestIdHeader: false,
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 1024 },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: true } },
    clientErrorHandler: answerMalformed,
    frameworkErrors: (error, request, reply) => void sendFailure(toFailure(error), request, reply),
  });
  addRoutes(app, service, {
    openApi: openApiDocument(options.version),
    closing: closing.signal,
    cut: cut.signal,
    webSockets: new WebSockets(options.webSockets),
    stallMs: options.stallMs ?? 30_000,
    bodyWaitMs: headerWaitMs,
  });
  if (options.pages !== undefined) addPages(app, options.pages);
  if (options.docs !== undefined) addDocs(app, options.docs);
  answerUnknown(app);
  await app.ready();

  // This server never listens by itself, and Node begins to watch header time-outs at this event only.
  secure.emit("listening");
  // An expectation other than 100-continue is ignored, as HTTP allows; Node would refuse it without an envelope.
  secure.on("checkExpectation", (request, response) => secure.emit("request", request, response));
  const streams = routeUpgrades(secure, app.routing as never);
  const most = options.maxConnections ?? defaultMaxConnections();
  const front = createFront(secure, headerWaitMs, most, () => {
    app.log.warn(
      { connections: most },
      "as many connections as may be: further ones take the place of those that never sent a request, or are closed at once until some end",
    );
  });
  secure.on("tlsClientError", (error) => app.log.debug({ err: error }, "TLS handshake failed"));
  const { host = "127.0.0.1", port = 0 } = options.listen ?? {};
  await new Promise<void>((resolve, reject) => {
    front.server.once("error", reject);
    front.server.listen({ host, port }, () => {
      front.server.off("error", reject);
      resolve();
    });
  });

  let shown = certificate;
  let closed: Promise<void> | undefined;
  const close = async () => {
    const ended = new Promise<void>((resolve) => front.server.close(() => resolve()));
    closing.abort(new Failure("shutting_down", "the service goes down: the call was cut off"));
    streams.destroy();
    secure.closeIdleConnections();
    const late = setTimeout(() => cut.abort(), graceMs);
    const last = setTimeout(() => front.destroy(), graceMs + lastAnswerMs);
    const idle = setInterval(() => secure.closeIdleConnections(), 50);
    try {
      await ended;
      await app.close();
      secure.close();
    } finally {
      clearTimeout(late);
      clearTimeout(last);
      clearInterval(idle);
    }
  };
  return {
    url: urlOf(front.server.address() as AddressInfo),
    get fingerprint() {
      return shown.fingerprint;
    },
    useCertificate: (next) => {
      secure.setSecureContext(tlsOptions(next));
      shown = next;
    },
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

function tlsOptions({ certificate, key }: ServerCertificate) {
  return { cert: certificate, key, minVersion: "TLSv1.2", ciphers } as const;
}

/** What of its line is the same for all answers of less than a millisecond to one address; the last such. */
let quick = { address: "", rest: "" };

/** As the framework's logger would write it, of few parts. Nothing in it needs escaping. */
function healthLine(requestId: string, address: string, ms: number): string {
  const whole = Math.round(ms);
  if (quick.address !== address || quick.rest === "") quick = { address, rest: healthLineRest(address, 0) };
  return lineBegin + Date.now() + lineId + requestId + (whole === 0 ? quick.rest : healthLineRest(address, whole));
}

const lineBegin = '{"level":30,"time":';
const lineId = `,"pid":${process.pid},"request_id":"`;

/** Joined, which makes one piece of it: it is written far more often than made. */
function healthLineRest(address: string, ms: number): string {
  return ['","operation":"getHealth","method":"GET","status":200,"address":"', address, '","ms":', ms, ',"msg":"request"}\n'].join("");
}

/**
 * Node's parser reads TLS below the stream until someone listens there: it is quicker so, but a pause between two records would break it (HPE_PAUSED).
 * Nothing pauses a connection that asks for nothing but health, one after the other; from its first other request on it is read by its stream.
 */
function readByStream(socket: Socket & { [byStream]?: true }): void {
  if (socket[byStream] === true) return;
  socket[byStream] = true;
  socket.on("data", heard).off("data", heard);
}

const byStream = Symbol("read by its stream");

/** Nothing to do: that it was added is what counts. */
function heard(): void {}

function urlOf({ address, port, family }: AddressInfo): string {
  const host = address === "0.0.0.0" || address === "::" ? "localhost" : family === "IPv6" ? `[${address}]` : address;
  return `https://${host}:${port}`;
}
