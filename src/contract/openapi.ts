import type { TProperties, TSchema } from "typebox";
import { answerStatus, type ErrorCode, errors } from "./errors.ts";
import { commonErrors, type OperationId, type OperationRow, operations } from "./operations.ts";
import * as authoring from "./schemas/authoring.ts";
import * as captures from "./schemas/captures.ts";
import * as catalogue from "./schemas/catalogue.ts";
import * as consoles from "./schemas/console.ts";
import * as editing from "./schemas/editing.ts";
import { CommonErrorData, type ErrorDataTable, errorData } from "./schemas/error-data.ts";
import * as jobs from "./schemas/jobs.ts";
import * as links from "./schemas/links.ts";
import * as observe from "./schemas/observe.ts";
import * as plan from "./schemas/plan.ts";
import * as project from "./schemas/project.ts";
import * as session from "./schemas/session.ts";
import { dataSchemas, requestSchemas } from "./schemas/table.ts";

type Json = Readonly<Record<string, unknown>>;

const { selectorFields: _fields, ...projectSchemas } = project;
const named: Readonly<Record<string, TSchema>> = {
  ...authoring,
  ...captures,
  ...catalogue,
  ...consoles,
  ...editing,
  ...jobs,
  ...links,
  ...observe,
  ...plan,
  ...projectSchemas,
  ...session,
};
const nameOf = new Map<string, string>(Object.entries(named).map(([name, schema]) => [JSON.stringify(schema), name]));

/** The OpenAPI 3.1 document of API v1, from the operation table and the schemas. */
export function openApiDocument(version: string): Json {
  const ids = Object.keys(operations) as OperationId[];
  const paths: Record<string, Record<string, Json>> = {};
  for (const id of ids) {
    const row: OperationRow = operations[id];
    for (const [index, path] of [row.path, ...(row.aliases ?? [])].entries()) {
      paths[path] ??= {};
      paths[path][row.method.toLowerCase()] = operationObject(id, row, index === 0 ? id : `${id}Alias${index}`);
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Labwright API",
      version,
      description:
        "HTTPS only. Every JSON answer is an envelope {ok, data, error, code}; key off code and HTTP status, never off error. Every answer has X-Request-Id. An unknown path answers 404 not_found, a wrong method 405 method_not_allowed with Allow. v1 is append-only.",
    },
    servers: [{ url: "https://localhost:8443" }],
    security: [{ bearer: [] }, { browser: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        browser: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-labwright",
          description: "of createBrowserSession; same origin only, and every POST with the header X-Labwright-Csrf",
        },
      },
      schemas: { Failure: failureSchema(), ...Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, inside(schema)])) },
    },
    "x-errors": Object.fromEntries(Object.entries(errors).map(([code, row]) => [code, { status: row.status, when: row.when }])),
  };
}

function operationObject(id: OperationId, row: OperationRow, operationId: string): Json {
  const request: { readonly body?: TSchema; readonly query?: TSchema; readonly params?: TSchema } = requestSchemas[id];
  const headers = row.change ? changeHeaders : [];
  const parameters = [...parametersIn("path", request.params), ...parametersIn("query", request.query), ...headers];
  return {
    operationId,
    summary: row.summary,
    tags: [row.path.split("/")[3] ?? "service"],
    ...(row.auth === "none" ? { security: [] } : row.auth === "ticket" ? { security: [{ bearer: [] }, {}] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(request.body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: reference(request.body) } } } }),
    responses: { ...success(id, row), ...failures(row) },
    "x-timeout-ms": row.timeoutMs,
    "x-replay": row.replay,
    ...(row.body === "json" ? { "x-max-body-bytes": row.maxBody, "x-unknown-fields": row.unknownFields } : {}),
    ...(row.change ? { "x-respond-async": true } : {}),
    ...(row.feature === undefined ? {} : { "x-feature": row.feature }),
    "x-client-errors": codesOf(row).filter((code) => errors[code].status === 0),
  };
}

/** Headers of every change. */
const changeHeaders: readonly Json[] = [
  {
    name: "Prefer",
    in: "header",
    required: false,
    schema: { type: "string" },
    description: "respond-async: answer {job} at once and go on",
  },
  {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    schema: { type: "string", minLength: 1, maxLength: 255 },
    description:
      "for 24 hours, a request repeated with the same key runs once and returns the same answer; the same key with another request is bad_request",
  },
];

function parametersIn(place: "path" | "query", schema: TSchema | undefined): Json[] {
  const properties = (schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {};
  const required = (schema as { required?: readonly string[] } | undefined)?.required ?? [];
  return Object.entries(properties).map(([name, each]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: inside(each),
  }));
}

function success(id: OperationId, row: OperationRow): Json {
  const data = reference(dataSchemas[id]);
  const content: Record<OperationRow["answer"], Json> = {
    data: { "application/json": { schema: envelope(row.change ? { anyOf: [data, { $ref: "#/components/schemas/JobStarted" }] } : data) } },
    upgrade: {},
    events: { "application/x-ndjson": { schema: data }, "text/event-stream": { schema: { type: "string" } } },
    bytes: { "*/*": { schema: { type: "string", format: "binary" } } },
    document: { "application/json": { schema: data } },
  };
  if (row.answer === "upgrade") {
    const description = `Switching Protocols; raw bytes after Upgrade: ${row.protocol}, binary frames after Upgrade: websocket; no envelope`;
    return { 101: { description } };
  }
  return { 200: { description: "success", content: content[row.answer] } };
}

function envelope(data: unknown): Json {
  return { type: "object", required: ["ok", "data"], properties: { ok: { const: true }, data } };
}

function failures(row: OperationRow): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codesOf(row)) {
    const status = row.errors.includes(code) ? answerStatus(code) : errors[code].status;
    if (status !== 0) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const answers = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(
    answers.map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `${code}: ${errors[code].when}`).join("; "),
        content: {
          "application/json": {
            schema: { allOf: [{ $ref: "#/components/schemas/Failure" }, { type: "object", properties: { code: { enum: codes } } }] },
          },
        },
      },
    ]),
  );
}

function codesOf(row: OperationRow): ErrorCode[] {
  return [...new Set<ErrorCode>([...commonErrors, ...row.errors])].sort();
}

function failureSchema(): Json {
  return {
    type: "object",
    required: ["ok", "error", "code"],
    properties: {
      ok: { const: false },
      error: { type: "string", description: "for people; not a compatibility surface" },
      code: { enum: Object.keys(errors).filter((code) => answerStatus(code as ErrorCode) !== 0) },
      data: { ...(inside(CommonErrorData) as Json), description: "details that depend on the code" },
    },
    allOf: codesWithData().map((code) => ({
      if: { properties: { code: { const: code } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { data: ownData(code) } },
    })),
  };
}

function codesWithData(): readonly (keyof ErrorDataTable)[] {
  return (Object.keys(errorData) as (keyof ErrorDataTable)[]).filter((code) => answerStatus(code) !== 0);
}

/** The data of a code without the fields that any error may have. */
function ownData(code: keyof ErrorDataTable): Json {
  const { properties, required = [] }: { readonly properties: TProperties; readonly required?: readonly string[] | undefined } =
    errorData[code];
  const own = Object.entries(properties).filter(([name]) => !(name in CommonErrorData.properties));
  const schemas = Object.fromEntries(own.map(([name, schema]) => [name, reference(schema)]));
  return { type: "object", properties: schemas, ...(required.length > 0 && { required }) };
}

/** Returns a $ref for a named schema; any other schema inline. */
function reference(schema: TSchema): unknown {
  const name = nameOf.get(JSON.stringify(schema));
  return name === undefined ? inside(schema) : { $ref: `#/components/schemas/${name}` };
}

/** The schema itself, with references to the named ones below it. */
function inside(schema: TSchema): unknown {
  const plain = JSON.parse(JSON.stringify(schema)) as Json;
  return Object.fromEntries(Object.entries(plain).map(([key, value]) => [key, withReferences(value)]));
}

function withReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReferences);
  if (typeof value !== "object" || value === null) return value;
  const name = nameOf.get(JSON.stringify(value));
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withReferences(each)]));
}
