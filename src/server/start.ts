import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { DEFAULT_CIPHERS } from "node:tls";
import fastify, { type FastifyInstance, LogController } from "fastify";
import { Failure } from "../contract/errors.ts";
import { openApiDocument } from "../contract/openapi.ts";
import type { HostParts } from "../hosts/host-fleet.ts";
import type { Service } from "../service/service.ts";
import type { Fleet } from "./fleet/fleet.ts";
import { handleMachineCall, machineCallPath } from "./fleet/machine-calls.ts";
import { acceptPartStreams, partStreamsPath } from "./fleet/part-streams.ts";
import { memberNumber } from "./forwarding/forwarded.ts";
import { defaultMaxConnections } from "./http/connection-limit.ts";
import { toFailure } from "./http/failures.ts";
import { answerMalformed } from "./http/malformed.ts";
import { addDocs, addPages, type Pages } from "./http/pages.ts";
import { addRoutes, answerUnknown, sendFailure } from "./http/routes.ts";
import { addOidc, type OidcOptions } from "./oidc/routes.ts";
import { newRequestId } from "./requests/request-id.ts";
import { noteRequest } from "./streams/last-answer.ts";
import { routeUpgrades, wantsStream } from "./streams/upgrades.ts";
import { type WebSocketLimits, WebSockets } from "./streams/web-sockets.ts";
import { acceptConnections } from "./tls/accept-connections.ts";
import type { ServerCertificate } from "./tls/certificate.ts";
import { compileAtFirstUse } from "./validators.ts";

export interface ServerOptions {
  readonly service: Service;
  readonly certificate: ServerCertificate;
  /** Default: 127.0.0.1 and any free port. anyPort: also any free port if the port is in use. */
  readonly listen?: { readonly host?: string; readonly port?: number; readonly anyPort?: boolean };
  /** The web pages, served below /ui/. Absent: the server has no pages. */
  readonly pages?: Pages | undefined;
  /** Loads the documentation, which is served below /docs/. Absent, or undefined as its result: the server has no documentation. */
  readonly docs?: () => Promise<Pages | undefined>;
  /** The provider at which users may sign in. Absent: none. */
  readonly oidc?: OidcOptions | undefined;
  /** The version of the product, for the OpenAPI document. */
  readonly version: string;
  /** Receives JSON lines. Absent: the server writes no log. */
  readonly log?: { readonly level?: "debug" | "info" | "warn" | "error"; readonly stream?: { write(line: string): void } };
  /** Receives the entries of the audit log. Absent: there is none. */
  readonly audit?: ((entry: Readonly<Record<string, unknown>>) => void) | undefined;
  /** This service as a machine of a fleet. Absent: it is none. */
  readonly fleet?: Pick<Fleet, "routes" | "listen" | "hasMember"> | undefined;
  /** The parts of other machines' labs on this one. Absent: it takes none. */
  readonly parts?: HostParts | undefined;
  /** The time that a client has for its first byte, for its TLS handshake and for its header, ms. Default: 10,000. */
  readonly headerWaitMs?: number;
  readonly webSockets?: WebSocketLimits;
  /** A reader of events that accepts no data for this time is disconnected, ms. Default: 30,000. */
  readonly stallMs?: number;
  /** The time that close() leaves to running requests, ms. Default: 3,000. */
  readonly graceMs?: number;
  /** The maximum of open connections. Default: derived from the limit of file descriptors, at most 8,192. */
  readonly maxConnections?: number;
}

export interface RunningServer {
  /** For example https://127.0.0.1:8443. */
  readonly url: string;
  /** The SHA-256 fingerprint of the certificate, which clients pin. */
  readonly fingerprint: string;
  /** Uses this certificate for new connections; open connections keep theirs. Throws if TLS cannot use the certificate, and then keeps the old one. */
  useCertificate(certificate: ServerCertificate): void;
  /**
   * Stops listening, ends open streams and waits `graceMs` for running requests. Requests that still run then, and new requests on open
   * connections, fail with shutting_down. Does not close the service.
   */
  close(): Promise<void>;
}

const fastestCipher = "TLS_AES_128_GCM_SHA256";
/** Node's ciphers with the fastest of TLS 1.3 first. Consoles and captures have much data to encrypt, and every processor supports this cipher in hardware. */
const ciphers = DEFAULT_CIPHERS.split(":")
  .toSorted((a, b) => Number(b === fastestCipher) - Number(a === fastestCipher))
  .join(":");

/** The time that clients have to read the answer to a call that was cut off, ms. */
const lastAnswerMs = 1_000;

/** Starts the HTTPS server of API v1: routes, authentication, envelopes and upgrades. The service computes the answers. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { certificate, headerWaitMs = 10_000, graceMs = 3_000 } = options;
  const closing = new AbortController();
  const cut = new AbortController();
  const { app, secure } = createApp(options, headerWaitMs, { closing: closing.signal, cut: cut.signal });
  await app.ready();

  // HTTP allows a server to ignore expectations other than 100-continue. Node's default answer has no envelope.
  secure.on("checkExpectation", (request, response) => secure.emit("request", request, response));
  secure.on("tlsClientError", (error) => app.log.debug({ err: error }, "TLS handshake failed"));
  const streams = routeUpgrades(secure, app.routing as never);
  const members = await options.fleet?.listen((request, response) => {
    if (request.url === machineCallPath) {
      const from = memberNumber(request.socket);
      if (from === undefined) request.socket.destroy();
      else void handleMachineCall(from, request, response, options.service.answerMachine);
      return;
    }
    if (noteRequest(request, response)) readByStream(request.socket);
    app.routing(request, response);
  });
  const memberStreams =
    members &&
    routeUpgrades(members, (request, response) => {
      if (request.url !== partStreamsPath) return app.routing(request, response);
      const from = memberNumber(request.socket);
      if (from === undefined) request.socket.destroy();
      else acceptPartStreams(from, request, response, { parts: options.parts, isMember: () => options.fleet?.hasMember(from) === true });
    });
  const maxConnections = options.maxConnections ?? defaultMaxConnections();
  const connections = acceptConnections(secure, {
    waitMs: headerWaitMs,
    maxConnections,
    onFull: () =>
      app.log.warn(
        { connections: maxConnections },
        "the maximum of connections is open: new connections replace those that never sent a request, or are closed at once",
      ),
  });
  const { host = "127.0.0.1", port = 0, anyPort = false } = options.listen ?? {};
  await listen(secure, host, port).catch((error: NodeJS.ErrnoException) => {
    if (!anyPort || error.code !== "EADDRINUSE") throw error;
    return listen(secure, host, 0);
  });

  let shown = certificate;
  let closed: Promise<void> | undefined;
  const close = async () => {
    const ended = Promise.all(
      [secure, members].map((server) => new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())))),
    );
    closing.abort(new Failure("shutting_down", "the service is shutting down and has cut off the call"));
    streams.destroy();
    memberStreams?.destroy();
    const late = setTimeout(() => cut.abort(), graceMs);
    const last = setTimeout(() => {
      connections.destroy();
      members?.closeAllConnections();
    }, graceMs + lastAnswerMs);
    const idle = setInterval(() => {
      secure.closeIdleConnections();
      members?.closeIdleConnections();
    }, 50);
    try {
      await ended;
      await app.close();
    } finally {
      clearTimeout(late);
      clearTimeout(last);
      clearInterval(idle);
    }
  };
  return {
    url: urlOf(secure.address() as AddressInfo),
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

/** Creates the HTTPS server, which does not listen yet, and the framework's application with all routes. */
function createApp(options: ServerOptions, headerWaitMs: number, signals: { readonly closing: AbortSignal; readonly cut: AbortSignal }) {
  let secure!: SecureServer;
  const { level = "info", stream = process.stdout } = options.log ?? {};
  const app: FastifyInstance = fastify({
    serverFactory: (handler) => {
      secure = createSecureServer(
        {
          ...tlsOptions(options.certificate),
          ALPNProtocols: ["http/1.1"],
          handshakeTimeout: headerWaitMs,
          headersTimeout: headerWaitMs,
          connectionsCheckingInterval: Math.min(headerWaitMs, 5_000),
          keepAliveTimeout: 65_000,
          noDelay: true,
          // Node's own refusal has no envelope; the routes check the header.
          requireHostHeader: false,
          shouldUpgradeCallback: wantsStream,
        },
        (request, response) => {
          if (noteRequest(request, response)) readByStream(request.socket);
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
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: true },
      onCreate: (ajv) => compileAtFirstUse(ajv as never),
    },
    clientErrorHandler: answerMalformed,
    frameworkErrors: (error, request, reply) => void sendFailure(toFailure(error), request, reply),
  });
  addRoutes(app, options.service, {
    ...signals,
    openApi: openApiOnce(options.version),
    webSockets: new WebSockets(options.webSockets),
    stallMs: options.stallMs ?? 30_000,
    bodyWaitMs: headerWaitMs,
    audit: options.audit,
    fleet: options.fleet?.routes,
  });
  if (options.oidc !== undefined) addOidc(app, options.service, options.oidc, options.audit);
  if (options.pages !== undefined) addPages(app, options.pages);
  if (options.docs !== undefined) addDocs(app, options.docs);
  answerUnknown(app);
  return { app, secure };
}

/** Returns a function that makes the document at its first call: a service that nobody asks for it starts 30 ms earlier. */
function openApiOnce(version: string): () => unknown {
  let document: unknown;
  return () => {
    document ??= openApiDocument(version);
    return document;
  };
}

function listen(secure: SecureServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    secure.once("error", reject);
    secure.listen({ host, port }, () => {
      secure.off("error", reject);
      resolve();
    });
  });
}

function tlsOptions({ certificate, key }: ServerCertificate) {
  return { cert: certificate, key, minVersion: "TLSv1.2", ciphers } as const;
}

/** Connections that Node's HTTP parser reads through their stream. */
const readByStreams = new WeakSet<Socket>();

/**
 * Makes Node's HTTP parser read a TLS connection through its stream. By default the parser reads below the stream, which is faster, but fails with HPE_PAUSED
 * if Node pauses it between two TLS records. Node pauses only connections with several requests in progress. It changes to the stream when a listener for
 * data is added.
 */
function readByStream(socket: Socket): void {
  if (readByStreams.has(socket)) return;
  readByStreams.add(socket);
  const onData = () => {};
  socket.on("data", onData).off("data", onData);
}

function urlOf({ address, port, family }: AddressInfo): string {
  const host = address === "0.0.0.0" || address === "::" ? "localhost" : family === "IPv6" ? `[${address}]` : address;
  return `https://${host}:${port}`;
}
