import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import { type ErrorCode, Failure } from "../../contract/errors.ts";
import { type AnswerKind, type BytesAnswer, type OperationId, type OperationRow, operations } from "../../contract/operations.ts";
import type { EventData } from "../../contract/schemas/observe.ts";
import type { NodeExecEvent } from "../../contract/schemas/processes.ts";
import { requestSchemas } from "../../contract/schemas/table.ts";
import type { Call, Caller, Upgrade } from "../../service/common/call.ts";
import type { Service } from "../../service/service.ts";
import { auditEntry, isAudited } from "../audit/entry.ts";
import { BodyRoom } from "../requests/body-room.ts";
import { hostCount } from "../requests/host-header.ts";
import { leavePipeline, waitInPipeline } from "../requests/pipeline.ts";
import { stateOf } from "../requests/request-state.ts";
import { deadlineOf, inTime } from "../streams/deadline.ts";
import { RequestCall } from "../streams/request-call.ts";
import { RunningCalls } from "../streams/running-calls.ts";
import { accept, isWebSocket, upgradeProblem } from "../streams/upgrades.ts";
import type { WebSockets } from "../streams/web-sockets.ts";
import { eventsType, sendBytes, sendEvents } from "./answers.ts";
import { drain, type ParseJson, readJsonBody, YieldingQueue } from "./body.ts";
import { browserCookie, keepCookie } from "./browser.ts";
import { envelopeBody } from "./envelope-body.ts";
import { badRequest, failureEnvelope, loggedFailure, toFailure } from "./failures.ts";
import { type FleetRoutes, hereOrForwarded } from "./here-or-forwarded.ts";
import { identify } from "./identify.ts";

type Handler = (request: unknown, caller: Caller | null, call: Call) => Promise<unknown>;

interface ObjectSchema {
  readonly properties?: object;
}

interface RequestParts {
  readonly body: unknown;
  readonly query: unknown;
  readonly params: unknown;
}

export interface RouteOptions {
  readonly openApi: () => unknown;
  /** Aborted when the server closes. The reason is the failure that callers get. */
  readonly closing: AbortSignal;
  /** Aborted when the time for running calls is over. */
  readonly cut: AbortSignal;
  readonly webSockets: WebSockets;
  /** A reader of events that accepts no data for this time is disconnected, ms. */
  readonly stallMs: number;
  /** The time that a client without a token has to send its body, ms. Also the time between two parts of a refused body. */
  readonly bodyWaitMs: number;
  /** Receives the entries of the audit log. Absent: there is none. */
  readonly audit?: ((entry: Readonly<Record<string, unknown>>) => void) | undefined;
  /** The other machines of the fleet. Absent: this service is not part of one. */
  readonly fleet?: FleetRoutes | undefined;
}

/**
 * Adds one route per operation of the contract. The order of the checks of a request: route, authentication, media type, size, JSON, schema,
 * dir and out, handler. Therefore the body of a caller without a token is never read.
 */
export function addRoutes(app: FastifyInstance, service: Service, options: RouteOptions): void {
  const routes: Routes = {
    app,
    service,
    options,
    running: new RunningCalls(options.closing),
    cutOffs: new Set(),
    parsing: new YieldingQueue(),
    bodies: new BodyRoom(),
    parse: jsonParser(app),
    audit: auditor(options.audit),
  };
  app.decorateRequest("labwright", null);
  // readJsonBody reads bodies: the framework's own reader closes the connection if a body is too large.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  const cutOffAll = () => {
    for (const cutOff of [...routes.cutOffs]) cutOff();
  };
  options.cut.addEventListener("abort", cutOffAll, { once: true });
  addHooks(routes);
  for (const id of Object.keys(operations) as OperationId[]) addRoute(routes, id);
}

/** The parts that all routes share. */
interface Routes {
  readonly app: FastifyInstance;
  readonly service: Service;
  readonly options: RouteOptions;
  readonly running: RunningCalls;
  /** Ends calls that run when the time for them is over. */
  readonly cutOffs: Set<() => void>;
  readonly parsing: YieldingQueue;
  readonly bodies: BodyRoom;
  readonly parse: ParseJson;
  readonly audit: Audit;
}

/** Writes a call to the audit log, if it belongs there. @param status of its answer; undefined when it begins a change */
type Audit = (
  request: FastifyRequest,
  status: number | undefined,
  outcome?: { readonly code?: ErrorCode; readonly answer?: unknown },
) => void;

/** The route of one operation. */
interface Route {
  readonly id: OperationId;
  readonly row: OperationRow;
  readonly schema: { readonly body?: TSchema; readonly query?: TSchema; readonly params?: TSchema };
  readonly handler: Handler;
}

/** Returns a function that writes a call to the audit log. Called before the answer is sent. */
function auditor(record: RouteOptions["audit"]): Audit {
  return (request, status, { code, answer } = {}) => {
    const id = operationOf(request);
    if (record === undefined || id === undefined || !isAudited(id, operations[id], request.body)) return;
    const caller = stateOf(request).caller;
    // Anybody can send calls without a valid token: they would fill the disk. Logins are slowed down.
    if (caller === undefined && (operations[id].auth === "bearer" || (operations[id].auth === "ticket" && code !== undefined))) return;
    const call = stateOf(request).call;
    record(auditEntry({ id, caller, status, answer, code, job: call?.job, lab: call?.lab }, request));
  };
}

/** Logs and counts a request that has ended. */
function countEnd(service: Service, request: FastifyRequest, reply: FastifyReply, status: number | undefined): void {
  const operation = operationOf(request);
  logRequest(operation, request, reply, status);
  // The duration of a stream is not a response time.
  const ms = operation !== undefined && operations[operation].answer === "events" && status === 200 ? undefined : reply.elapsedTime;
  service.requestEnded({ operation, status, ms });
}

/** Adds the checks of all requests, also of those without a route. */
function addHooks({ app, service, audit, running, options: { closing, bodyWaitMs } }: Routes): void {
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers({ "X-Request-Id": request.id, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" });
    const state = stateOf(request);
    // An answer closes once, so `on` is enough.
    reply.raw.on("close", () => {
      const isSent = reply.raw.writableFinished;
      // No status: the client disconnected before its answer was sent.
      countEnd(service, request, reply, isSent ? reply.raw.statusCode : undefined);
      state.place?.leave();
      if (state.running !== undefined) running.remove(state.running, isSent);
      if (state.isInPipeline === true) leavePipeline(request.socket);
    });
    closing.throwIfAborted();
    const hosts = hostCount(request.raw.rawHeaders);
    if (hosts === 0 && request.raw.httpVersion === "1.1") throw badRequest([{ path: "", message: "the header Host is missing" }]);
    if (hosts > 1) throw badRequest([{ path: "", message: "the header Host is there more than once" }]);
    const begin = () => {
      state.isInPipeline = true;
      done();
    };
    const wait = waitInPipeline(request.socket);
    if (wait === undefined) begin();
    else void wait.then(begin);
  });
  app.addHook("onSend", (request, reply, _payload, done) => {
    // The answer comes from memory: it may be as old as the last answer of the database.
    const silentMs = service.storeSilentMs();
    if (silentMs !== undefined && reply.statusCode < 300) reply.header("Age", String(Math.ceil(silentMs / 1_000)));
    if (!drain(request.raw, bodyWaitMs) || closing.aborted) reply.header("Connection", "close");
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const failure = toFailure(error);
    audit(request, failure.status, { code: failure.code });
    return sendFailure(failure, request, reply);
  });
}

function addRoute(routes: Routes, id: OperationId): void {
  const { app, service, options, parse, parsing, bodies } = routes;
  const { openApi, bodyWaitMs } = options;
  const row: OperationRow = operations[id];
  const schema: Route["schema"] = requestSchemas[id];
  const handler = id === "getOpenApi" ? async () => openApi() : (service.handlers[id] as Handler);
  const local = ["dir", "out"].filter((name) => Object.hasOwn((schema.body as ObjectSchema | undefined)?.properties ?? {}, name));
  for (const path of [row.path, ...(row.aliases ?? [])]) {
    app.route({
      method: row.method === "GET" ? ["GET", "HEAD"] : row.method,
      url: path.replaceAll(/\{(\w+)\}/g, ":$1"),
      config: { operation: id },
      schema: {
        ...(schema.body && { body: schema.body }),
        ...(schema.query && { querystring: schema.query }),
        ...(schema.params && { params: schema.params }),
      },
      ...(row.auth !== "none" && {
        onRequest: async (request) => {
          const caller = identify(service, request, row.auth);
          if (caller !== null) stateOf(request).caller = caller;
        },
      }),
      ...(row.body === "json" && {
        preValidation: async (request) => {
          // The schema refuses every unknown field by its name, including __proto__. No unknown field reaches a handler.
          const read = row.unknownFields === "refuse" ? (text: string): unknown => JSON.parse(text) : parse;
          const within = row.auth === "bearer" ? {} : { withinMs: bodyWaitMs };
          const place = bodies.enter(stateOf(request).caller?.user);
          stateOf(request).place = place;
          request.body = await readJsonBody(request.raw, { limit: row.maxBody, parse: read, parsing, place, ...within });
        },
        preHandler: async (request) => refuseLocalPaths(request.body as Readonly<Record<string, unknown>>, local),
      }),
      handler: (request, reply) => answer(routes, { id, row, schema, handler }, request, reply),
    });
  }
}

/** Calls the handler of a route, and sends its answer. */
async function answer(routes: Routes, { id, row, schema, handler }: Route, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { service, options, running, cutOffs, audit } = routes;
  const problem = row.answer === "upgrade" ? upgradeProblem(request.raw, row.protocol) : undefined;
  if (problem !== undefined) {
    if (isWebSocket(request.raw)) reply.header("Sec-WebSocket-Version", "13");
    throw badRequest([{ path: "", message: problem }]);
  }
  // HEAD needs only the headers, which are known: no stream is opened.
  if (request.method === "HEAD" && row.answer === "events") return reply.type(eventsType(request)).send();
  const parts: RequestParts = {
    body: schema.body && request.body,
    query: schema.query && queryOf(request, row),
    params: schema.params && request.params,
  };
  const state = stateOf(request);
  const late = running.add();
  state.running = late;
  // The client has left while its request was read.
  if (reply.raw.closed) running.remove(late, false);
  const cookie = row.auth === "ticket" ? browserCookie(request.headers.cookie) : undefined;
  const call = new RequestCall(request, late, { cookie, onJob: () => audit(request, undefined) });
  state.call = call;
  const ms = row.errors.includes("host_timeout") ? deadlineOf(row, call.prefer, request.body) : undefined;
  const run = () =>
    inTime(ms, { late, cutOffs, job: () => call.job }, handler(parts, state.caller ?? null, call), (outcome) =>
      request.log.warn({ operation: id, outcome: outcome.status }, "ended after its answer"),
    );
  const done = await hereOrForwarded(options.fleet, request, reply, run);
  if (done === undefined) return reply;
  const { result } = done;
  if (row.answer === "upgrade") {
    // A stream that was granted while the server began to close has ended with the call's signal.
    options.closing.throwIfAborted();
    reply.hijack();
    running.removeAfter(request.socket, late);
    audit(request, 101);
    accept(request.raw, reply.raw, result as Upgrade, { "X-Request-Id": request.id }, options.webSockets);
    countEnd(service, request, reply, 101);
    return reply;
  }
  const answer = keepCookie(id, result, reply);
  audit(request, reply.statusCode, { answer });
  return send(row.answer, answer, request, reply, options.stallMs);
}

/** Answers 404 for a path without an operation, and 405 with the header Allow for a method without an operation. */
export function answerUnknown(app: FastifyInstance): void {
  const paths = (Object.values(operations) as OperationRow[]).flatMap(({ method, path, aliases = [] }) =>
    [path, ...aliases].map((each) => ({ method, pattern: new RegExp(`^${each.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`) })),
  );
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split("?", 1)[0] ?? "";
    const allowed = [...new Set(paths.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))].sort();
    if (allowed.length === 0) return sendFailure(new Failure("not_found", "no such path"), request, reply);
    reply.header("Allow", allowed.join(", "));
    return sendFailure(new Failure("method_not_allowed", `this path allows only ${allowed.join(", ")}`), request, reply);
  });
}

export function sendFailure(failure: Failure, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // The framework refuses some requests before any hook runs.
  reply.header("X-Request-Id", request.id);
  if (failure.status === 401) reply.header("WWW-Authenticate", "Bearer");
  if (failure.retryAfter !== undefined) reply.header("Retry-After", String(Math.ceil(failure.retryAfter)));
  if (failure.status >= 500)
    request.log[failure.code === "internal" ? "error" : "warn"]({ err: loggedFailure(failure), code: failure.code }, "failed");
  const data = failure.status >= 500 ? { ...failure.data, request_id: request.id } : failure.data;
  stateOf(request).code = failure.code;
  return reply
    .code(failure.status)
    .type("application/json; charset=utf-8")
    .send(failureEnvelope(failure.code, failure.message, data));
}

function send(
  kind: Exclude<AnswerKind, "upgrade">,
  answer: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  stallMs: number,
): unknown {
  switch (kind) {
    case "data":
      return reply.type("application/json; charset=utf-8").send(counted(request, envelopeBody(answer)));
    case "document":
      return answer;
    case "bytes":
      return sendBytes(answer as BytesAnswer, request, reply);
    case "events":
      return sendEvents(answer as AsyncIterable<EventData | NodeExecEvent>, request, reply, stallMs);
  }
}

/** Counts an answer that waits for its reader. Bytes that several callers share do not belong to one of them. */
function counted(request: FastifyRequest, answer: string | Buffer): string | Buffer {
  if (typeof answer === "string") stateOf(request).place?.hold(answer.length);
  return answer;
}

/** Refuses paths on the caller's disk: the service must not use them as its own. @param names the fields of the operation that contain such paths */
function refuseLocalPaths(body: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const given = names.filter((name) => Object.hasOwn(body, name) && typeof body[name] === "string" && body[name] !== "");
  if (given.length > 0) {
    throw new Failure("field_not_allowed", `${given.join(" and ")} must be empty or absent`, {
      data: { problems: given.map((name) => ({ path: `/${name}`, message: "is not allowed" })) },
    });
  }
}

function queryOf(request: FastifyRequest, row: OperationRow): unknown {
  const query = { ...(request.query as Record<string, unknown>) };
  const last = request.headers["last-event-id"];
  if (row.answer === "events" && query.after === undefined && typeof last === "string") query.after = last;
  return query;
}

/** Writes one log line per request, with the operation. Paths, headers and bodies are not logged: they may contain tickets, tokens and passwords. */
function logRequest(operation: OperationId | undefined, request: FastifyRequest, reply: FastifyReply, status: number | undefined): void {
  // Probes would fill the log: they come each second from each load balancer.
  const level = operation === "getHealth" && status === 200 ? "debug" : "info";
  request.log[level](
    {
      operation,
      method: request.method,
      status,
      code: stateOf(request).code,
      user: stateOf(request).caller?.user,
      address: request.socket.remoteAddress,
      ms: Math.round(reply.elapsedTime),
    },
    "request",
  );
}

function operationOf(request: FastifyRequest): OperationId | undefined {
  return (request.routeOptions.config as { operation?: OperationId } | undefined)?.operation;
}

function jsonParser(app: FastifyInstance): ParseJson {
  // "remove": a __proto__ key is ignored like any other unknown field.
  const parse = app.getDefaultJsonParser("remove", "remove");
  return (text) => {
    let result: unknown;
    parse(undefined as never, text, (error, value) => {
      if (error === null) result = value;
      // JSON.parse throws an error with the place of the mistake. The framework's error has no place.
      else JSON.parse(text);
      if (error !== null) throw error;
    });
    return result;
  };
}
