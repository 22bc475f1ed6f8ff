import { type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import { requestSchemas } from "../../src/contract/schemas/table.ts";
import { bodyText } from "./bodies.ts";
import { type Known, known } from "./known.ts";
import { labPaths } from "./labs.ts";
import { malformedCase } from "./malformed.ts";
import { Random } from "./random.ts";
import { type Field, nastyTexts } from "./values.ts";

/**
 * How a case is sent. piped: well-formed, with others on a kept-alive connection. patient: alone on a kept-alive connection that is cut
 * when the answer takes long. alone: bytes on a connection of its own.
 */
export type Lane = "piped" | "patient" | "alone";

export interface Case {
  readonly index: number;
  readonly lane: Lane;
  readonly method: string;
  readonly bytes: Buffer;
  /** The operation that must answer; absent: the path or the method was changed, or the request is malformed. */
  readonly operation?: OperationId;
  /** The one code that the answer must have. */
  readonly mustBe?: string;
  /** The body, where nothing else of the request keeps the operation from judging it. */
  readonly judged?: string | Buffer;
  /** A job may answer instead of the result. */
  readonly async?: boolean;
  /** The client ends its side after the last byte. */
  readonly halfClose?: boolean;
  /** In plain text, not in TLS. */
  readonly plain?: boolean;
  /** The bytes go out in this many pieces. */
  readonly pieces?: number;
}

const ids = Object.keys(operations) as OperationId[];

/** Changes are dear, and a connection of its own costs a handshake: fewer of them leave time for the rest. */
const weights = Object.fromEntries(
  ids.map((id) => {
    const row: OperationRow = operations[id];
    const weight = row.answer === "upgrade" || row.answer === "events" || id === "login" || id === "getOpenApi" ? 1 : 8;
    if (id === "deployProject") return [id, 12];
    if (id === "destroyProject") return [id, 1];
    return [id, row.change ? 5 : row.body === "json" ? weight * 2 : weight];
  }),
) as Record<OperationId, number>;

/** Their answers wait for a console. */
const slow: ReadonlySet<OperationId> = new Set(["execConsole", "execConsoleMany", "runConsole"]);

/** Share of requests that are not HTTP request as it should be. */
const malformedShare = 0.004;

export function makeCase(seed: number, index: number, learnt: Known): Case {
  const random = new Random(seed, index);
  if (random.chance(malformedShare)) return malformedCase(random, index, learnt);
  const id = random.weighted(weights);
  const row: OperationRow = operations[id];
  const own = row.answer === "upgrade" || row.answer === "events";

  let method: string = row.method;
  let target = pathOf(random, id, row, learnt);
  let routed = true;
  if (random.chance(0.02)) {
    method = random.pick(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]);
    routed = false;
  }
  if (random.chance(0.03)) {
    target = changedPath(random, target);
    routed = false;
  }
  // The body of another method would be taken for what it is not.
  if (method === "HEAD" && own) method = "GET";

  const headers: string[] = [`${method} ${target} HTTP/1.1`, "Host: localhost"];
  const auth = authorization(random, id, row, learnt);
  if (auth.line !== undefined) headers.push(auth.line);
  const respondAsync = random.chance(0.03);
  if (respondAsync) headers.push("Prefer: respond-async");
  const strange = random.chance(0.05) ? strangeHeader(random) : undefined;
  if (strange !== undefined) headers.push(strange);
  if (own) {
    const word = row.protocol ?? "websocket";
    if (random.chance(0.85)) headers.push("Connection: Upgrade", `Upgrade: ${random.chance(0.8) ? word : "h2c, websocket"}`);
  }

  let body: string | Buffer | undefined;
  let plainBody = true;
  if (row.body === "json" || (row.body === "unread" && random.chance(0.5)) || (method !== "GET" && random.chance(0.1))) {
    body = bodyText(random, id, learnt);
    const type = random.chance(0.96) ? "application/json" : random.pick(contentTypes);
    if (type !== "application/json") plainBody = false;
    if (type !== "") headers.push(`Content-Type: ${type}`);
    if (random.chance(0.01)) {
      headers.push(`Content-Encoding: ${random.pick(["gzip", "identity", "br", "x"])}`);
      plainBody = false;
    }
  }
  // A ticket in the body counts only where no header claims to be better.
  const byHeader = row.auth === "bearer" || (row.auth === "ticket" && auth.line?.startsWith("Authorization:") === true);
  // A second Host header is refused before the token is looked at.
  const mustBe = strange?.startsWith("Host:") ? "bad_request" : routed && byHeader ? auth.mustBe : undefined;
  return {
    index,
    lane: own ? "alone" : slow.has(id) ? "patient" : "piped",
    method,
    bytes: requestBytes(random, headers, body),
    ...(routed && { operation: id }),
    ...(mustBe !== undefined && { mustBe }),
    ...(routed && plainBody && mustBe === undefined && row.body === "json" && body !== undefined && { judged: body }),
    ...(respondAsync && row.change && { async: true }),
  };
}

function pathOf(random: Random, id: OperationId, row: OperationRow, learnt: Known): string {
  const path = random.chance(0.1) && row.aliases?.[0] !== undefined ? row.aliases[0] : row.path;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => segment(random, name, id, learnt));
  const fields = Object.keys((requestSchemas[id] as { readonly query?: Field }).query?.properties ?? {});
  if (fields.length > 0 && random.chance(0.7)) return `${filled}?${fields.map((name) => `${name}=${queryValue(random, name)}`).join("&")}`;
  return fields.length > 0 || random.chance(0.03) ? `${filled}${query(random)}` : filled;
}

function segment(random: Random, name: string, id: OperationId, learnt: Known): string {
  if (random.chance(0.2)) return encodeURIComponent(wellFormed(random.pick(nastyTexts)) || "x");
  if (name === "ticket") return known(random, learnt.tickets, "0".repeat(64));
  if (id.includes("Job")) return known(random, learnt.jobs, "none");
  if (id.includes("Capture")) return known(random, learnt.captures, "none");
  return random.pick(["frr", "linux", "switch", "pc", "none"]);
}

function queryValue(random: Random, name: string): string {
  if (name === "lab") return encodeURIComponent(random.pick(labPaths));
  return random.pick(["", "true", "false", "0", "1", "node", "node,link", "%00", "x", "999999999999999999999"]);
}

function query(random: Random): string {
  return random.pick([
    "",
    "?",
    "?provisioned=true",
    "?provisioned=",
    "?provisioned=true&provisioned=false",
    "?lab=%2Ffuzz%2F1",
    "?lab=..%2F..",
    "?after=999999999999999999999",
    "?after=-1&types=node,%00",
    "?__proto__[x]=1&__proto__=1",
    "?constructor[prototype][x]=1",
    "?%",
    "?%ff=%c0%ae",
    "?a&&&=&=b",
    `?${"a=1&".repeat(200)}`,
    "?token=x#frag",
  ]);
}

function changedPath(random: Random, target: string): string {
  const at = random.int(target.length);
  const changed = random.pick([
    () => `/${target}`,
    () => `${target}/`,
    () => `${target}//`,
    () => target.toUpperCase(),
    () => target.replace("/api/v1/", "/api/v1/../v1/"),
    () => target.replace("/api/v1/", "/api/v1/%2e%2e/v1/"),
    () => target.replace("/api/v1/", "/api/v1//"),
    () => target.replace("/api/v1/", "/api/v1/./"),
    () => target.replace("/api/v1/", "/api/v2/"),
    () => target.replace("/api", "/%61pi"),
    () => `${target}%00`,
    () => `${target}%`,
    () => `${target}%zz`,
    () => `${target}%c0%af`,
    () => `${target};a=b`,
    () => `${target}\\..\\x`,
    () => `${target}?${"x".repeat(3000)}`,
    () => `${target}/${"y".repeat(2000)}`,
    () => target.slice(0, at) || "/",
    () => `${target.slice(0, at)}%2f${target.slice(at)}`,
    () => "/etc/passwd",
    () => "/",
    () => "*",
  ])();
  // An upgrade or an endless answer belongs on a connection of its own.
  return changed.startsWith("/") && !changed.includes("events") ? changed : "/";
}

function authorization(
  random: Random,
  id: OperationId,
  row: OperationRow,
  learnt: Known,
): { readonly line?: string; readonly mustBe?: string } {
  if (row.auth === "none") return random.chance(0.1) ? { line: "Authorization: Bearer x" } : {};
  const token = random.pick(learnt.tokens);
  if (random.chance(0.95)) {
    const spare = id === "logout" ? learnt.spareTokens.shift() : token;
    return spare === undefined ? { mustBe: "unauthenticated" } : { line: `Authorization: Bearer ${spare}` };
  }
  const last = token.at(-1) === "A" ? "B" : "A";
  const line = random.pick([
    undefined,
    "Authorization: Bearer",
    "Authorization: Bearer ",
    `Authorization: Basic ${Buffer.from("admin:admin").toString("base64")}`,
    // The last character of a token carries fewer bits than it could: the text must match, not the bytes.
    `Authorization: Bearer ${token.slice(0, -2)}${token.at(-2) === "A" ? "B" : "A"}${last}`,
    `Authorization: Bearer ${token}=`,
    `Authorization: Bearer ${token}${token}`,
    `Authorization: Bearer ${token.toLowerCase()}x`,
    `Authorization: Bearer "${token}"`,
    `Authorization: Bearer x ${token}`,
    `Authorization: ${token}`,
    `X-Authorization: Bearer ${token}`,
    `Cookie: token=${token}; session=${token}`,
    "Authorization: Bearer __proto__",
    `Authorization: Bearer ${"a".repeat(4000)}`,
    "Authorization: Bearer ' OR 1=1 --",
  ]);
  return { ...(line !== undefined && { line }), mustBe: "unauthenticated" };
}

const contentTypes = [
  "",
  "text/plain",
  "application/json; charset=utf-16",
  "application/json;charset=utf-8",
  'APPLICATION/JSON ; charset="UTF-8"',
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/json, text/plain",
  "application/ld+json",
  "__proto__",
  ";;;",
];

function strangeHeader(random: Random): string {
  return random.pick([
    "Accept: text/html",
    "Accept: text/event-stream",
    "Accept-Encoding: gzip, br",
    "X-Request-Id: forged-id",
    "X-Forwarded-For: 10.0.0.1, ::1",
    "X-Forwarded-Proto: http",
    "X-HTTP-Method-Override: DELETE",
    "Forwarded: for=unknown",
    "Host: other.example",
    "Prefer: wait=0",
    "Last-Event-ID: 99999999999999999999",
    "Range: bytes=0-0,-1",
    "If-None-Match: *",
    "Upgrade: websocket",
    "Connection: keep-alive, Upgrade",
    "TE: trailers, deflate",
    "__proto__: x",
    "constructor: x",
    "Origin: https://evil.example",
    "Content-Length-X: 5",
    `X-Long: ${"x".repeat(4000)}`,
    `${"X-Y: z\r\n".repeat(60)}X-Last: 1`,
    "X-Bytes: \xff\xfe\x80",
  ]);
}

function requestBytes(random: Random, headers: readonly string[], body: string | Buffer | undefined): Buffer {
  if (body === undefined) return Buffer.from(`${headers.join("\r\n")}\r\n\r\n`, "latin1");
  const bytes = Buffer.from(body);
  if (random.chance(0.05)) {
    const head = Buffer.from(`${headers.join("\r\n")}\r\nTransfer-Encoding: chunked\r\n\r\n`, "latin1");
    return Buffer.concat([head, ...chunks(random, bytes), Buffer.from("0\r\n\r\n")]);
  }
  return Buffer.concat([Buffer.from(`${headers.join("\r\n")}\r\nContent-Length: ${bytes.length}\r\n\r\n`, "latin1"), bytes]);
}

function* chunks(random: Random, bytes: Buffer): Iterable<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const part = bytes.subarray(at, at + 1 + random.int(400));
    const extension = random.chance(0.05) ? ";x=y" : "";
    yield Buffer.concat([Buffer.from(`${part.length.toString(16)}${extension}\r\n`), part, Buffer.from("\r\n")]);
    at += part.length;
  }
}

/** encodeURIComponent refuses a lone surrogate. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Cs}/gu, "?");
}
