import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Conversation, converse } from "./converse.ts";
import { login } from "./fuzz.ts";
import { Pipe } from "./pipe.ts";
import { headerOf } from "./replies.ts";
import { ServiceProcess } from "./service-process.ts";

let service: ServiceProcess;
let token: string;

beforeAll(async () => {
  service = await ServiceProcess.start();
  token = await login(service);
});
afterAll(async () => {
  const log = await service.log();
  const alive = service.alive;
  await service[Symbol.asyncDispose]();
  expect(alive).toBe(true);
  expect(log.split("\n").filter((line) => /"level":(?:50|60)\b/.test(line))).toEqual([]);
});

const session = (more = "", line = "GET /api/v1/session HTTP/1.1") =>
  `${line}\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`;
const status = (more: string, body: string) =>
  `POST /api/v1/projects/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${more}\r\n${body}`;

/** @param replies that must come; more are heard, too */
function say(text: string, replies = 1): Promise<Conversation> {
  return converse(service.port, Buffer.from(text, "latin1"), { waitMs: hangMs, quietMs: 60, replies });
}

/** To the end that the service makes. */
function sayLast(text: string): Promise<Conversation> {
  return converse(service.port, Buffer.from(text, "latin1"), { waitMs: hangMs });
}

const hangMs = 30_000;

/** "400 bad_request", "200 ok" of each answer, each of them an envelope with a request id. */
function outcomes({ replies, broken }: Conversation): readonly string[] {
  expect(broken).toBeUndefined();
  return replies.map((reply) => {
    expect(headerOf(reply, "x-request-id")).toMatch(/^[\w-]{36}$/);
    const { ok, code } = JSON.parse(reply.body.toString());
    return `${reply.status} ${ok ? "ok" : code}`;
  });
}

const hidden = "GET /api/v1/capabilities HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer stolen\r\n\r\n";

describe("a request whose length can be read in two ways is refused, and what follows it is never taken for a request", () => {
  test.each<[string, () => string]>([
    ["two lengths", () => status(`Content-Length: 2\r\nContent-Length: ${2 + hidden.length}\r\n`, `{}${hidden}`)],
    ["two equal lengths", () => status("Content-Length: 2\r\nContent-Length: 2\r\n", `{}${hidden}`)],
    ["a list of lengths", () => status(`Content-Length: 2, ${2 + hidden.length}\r\n`, `{}${hidden}`)],
    ["a length and chunks", () => status("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${hidden}`)],
    ["chunks and a length", () => status("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", `0\r\n\r\n${hidden}`)],
    ["a length with a sign", () => status("Content-Length: +2\r\n", `{}${hidden}`)],
    ["a negative length", () => status("Content-Length: -1\r\n", `{}${hidden}`)],
    ["a hexadecimal length", () => status("Content-Length: 0x2\r\n", `{}${hidden}`)],
    ["a length beyond all numbers", () => status("Content-Length: 99999999999999999999\r\n", `{}${hidden}`)],
    ["a length behind a space", () => status("Content-Length : 2\r\n", `{}${hidden}`)],
    ["an unknown coding", () => status("Transfer-Encoding: xchunked\r\n", `0\r\n\r\n${hidden}`)],
    ["chunked that is not last", () => status("Transfer-Encoding: chunked, identity\r\n", `0\r\n\r\n${hidden}`)],
    ["chunked twice", () => status("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", `0\r\n\r\n${hidden}`)],
    ["chunked behind a control character", () => status("Transfer-Encoding: \x0bchunked\r\n", `0\r\n\r\n${hidden}`)],
    ["chunked on a folded line", () => status("Transfer-Encoding:\r\n chunked\r\n", `0\r\n\r\n${hidden}`)],
    ["a chunk of negative size", () => status("Transfer-Encoding: chunked\r\n", `-1\r\n\r\n${hidden}`)],
    ["a chunk size beyond all numbers", () => status("Transfer-Encoding: chunked\r\n", `fffffffffffffffff\r\n${hidden}`)],
    ["a chunk without its end", () => status("Transfer-Encoding: chunked\r\n", `2\r\n{}${hidden}`)],
    ["chunks that end in bare line feeds", () => status("Transfer-Encoding: chunked\r\n", `2\n{}\n0\n\n${hidden}`)],
    ["a bare carriage return in a header", () => session("X: a\rTransfer-Encoding: chunked\r\n") + hidden],
    ["a bare line feed before a header", () => status("X: a\nContent-Length: 2\r\n", `{}${hidden}`)],
    ["NUL in a header", () => session("X: a\0b\r\n") + hidden],
    ["a header without a colon", () => session("Content-Length 2\r\n") + hidden],
    ["a header without a name", () => session(": x\r\n") + hidden],
    ["a folded first header", () => `GET /api/v1/session HTTP/1.1\r\n Host: x\r\n\r\n${hidden}`],
  ])("%s", async (_name, text) => {
    const heard = await sayLast(text());
    const seen = outcomes(heard);
    // Whether it is refused at its header or for its body: one answer, an error, and the end.
    expect(seen).toEqual(["400 bad_request"]);
    expect(heard.closed).toBe(true);
  });
});

test.each([
  ["a header over the limit", () => session(`X: ${"a".repeat(20_000)}\r\n`)],
  ["a path over the limit", () => session("", `GET /${"a".repeat(20_000)} HTTP/1.1`)],
  ["headers over the limit", () => session("X: 1\r\n".repeat(5000))],
])("%s is refused with its envelope", async (_name, text) => {
  const heard = await say(text());
  expect(outcomes(heard)).toEqual(["400 bad_request"]);
  expect(heard.replies[0]?.body.toString()).toContain("header is too large");
});

test("a chunk extension over the limit ends the connection", async () => {
  const heard = await sayLast(status("Transfer-Encoding: chunked\r\n", `2;${"e".repeat(40_000)}\r\n{}\r\n0\r\n\r\n`));
  expect(outcomes(heard)).toEqual(["400 bad_request"]);
  expect(heard.closed).toBe(true);
});

test.each([
  ["https://evil.example/api/v1/session", "200 ok"],
  ["http://127.0.0.1/api/v1/session", "200 ok"],
  ["//evil.example/api/v1/session", "404 not_found"],
  ["/api/v1/session#x", "200 ok"],
  ["/api/v1/../v1/session", "404 not_found"],
  ["/api/v1/%2e%2e/v1/session", "404 not_found"],
  ["/api/v1/.%2e/session", "404 not_found"],
  ["/api/v1//session", "404 not_found"],
  ["/api/v1/session/", "404 not_found"],
  ["/api/v1/session;x=y", "404 not_found"],
  ["/api/v1/session%00", "404 not_found"],
  ["/api/v1/session%", "400 bad_request"],
  ["/api/v1/session%c0%af", "400 bad_request"],
  ["/api\\v1\\session", "404 not_found"],
  ["/api/v1/templates/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "404 template_not_found"],
  ["/api/v1/templates/frr%00.png", "404 template_not_found"],
  ["/api/v1/templates/constructor", "404 template_not_found"],
  ["/api/v1/jobs/..%2f..%2fx", "404 job_not_found"],
  [`/api/v1/templates/${"a".repeat(2000)}`, "400 bad_request"],
])("the target %s answers %s", async (target, expected) => {
  const heard = await say(session("", `GET ${target} HTTP/1.1`));
  expect(outcomes(heard)).toEqual([expected]);
});

test("a name that differs from the server's own changes nothing but is no secret path either", async () => {
  const heard = await say(
    `GET /api/v1/session HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  expect(outcomes(heard)).toEqual(["200 ok"]);
  expect(heard.replies[0]?.head).not.toContain("evil");
});

test("no header that a client sends comes back in the answer", async () => {
  const heard = await say(session("X-Request-Id: forged\r\nX-Echo: a%0d%0aSet-Cookie: x=y\r\nOrigin: https://evil.example\r\n"));
  expect(outcomes(heard)).toEqual(["200 ok"]);
  expect(heard.replies[0]?.head).not.toMatch(/forged|set-cookie|evil|access-control/i);
});

test("an encoded line break in a path or query is not written into a header", async () => {
  const heard = await say(session("", "GET /api/v1/templates/a%0d%0aSet-Cookie:%20x=y?b=%0d%0aX-Injected:%201 HTTP/1.1"));
  expect(outcomes(heard)).toEqual(["404 template_not_found"]);
  expect(heard.replies[0]?.head).not.toMatch(/set-cookie|x-injected/i);
});

describe("several requests in one write", () => {
  test("over more than one TLS record are all answered, in order", async () => {
    const pipe = await Pipe.open(service.port);
    // The first answer is large enough to make the server pause reading.
    const requests = ["/api/v1/openapi.json", ...Array.from({ length: 40 }, (_, index) => `/api/v1/templates/none-${index}`)].map(
      (path) => ({
        method: "GET",
        bytes: Buffer.from(session(`X: ${"x".repeat(900)}\r\n`, `GET ${path} HTTP/1.1`)),
      }),
    );
    const { replies, why } = await pipe.exchange(requests, hangMs);
    pipe.close();
    expect(why).toBeUndefined();
    expect(replies.map(({ status: code }) => code)).toEqual([200, ...Array.from({ length: 40 }, () => 404)]);
    for (const [index, reply] of replies.slice(1).entries()) expect(reply.body.toString()).toContain(`none-${index}`);
  });

  test("a malformed one is answered in its own place, after those before it", async () => {
    const plan = `{"lab":"/x","yaml":"name: x\\nnodes: {a: {template: linux}}\\n"}`;
    const text = `POST /api/v1/projects/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${plan.length}\r\n\r\n${plan}`;
    const heard = await sayLast(`${text}${session()}BROKEN\r\n\r\n${session()}`);
    expect(outcomes(heard)).toEqual(["200 ok", "200 ok", "400 bad_request"]);
    expect(heard.closed).toBe(true);
  });

  test("a malformed body is answered once, in its own place", async () => {
    const heard = await sayLast(`${session()}${status("Transfer-Encoding: chunked\r\n", "zz\r\n")}`);
    expect(outcomes(heard)).toEqual(["200 ok", "400 bad_request"]);
    expect(heard.closed).toBe(true);
  });

  test("a request that is refused by its header and malformed in its body has one answer", async () => {
    const refused = "POST /api/v1/projects/status HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    const seen = outcomes(await say(`${refused}5\r\nhello\r\nzz`));
    expect(seen).toHaveLength(1);
    expect(["400 bad_request", "401 unauthenticated"]).toContain(seen[0]);
  });
});

describe("tokens", () => {
  const forms: readonly [string, (token: string) => string][] = [
    ["a changed character", (good) => `Authorization: Bearer ${good.slice(0, 10)}${good[10] === "A" ? "B" : "A"}${good.slice(11)}`],
    ["other bits behind the last character", (good) => `Authorization: Bearer ${good.slice(0, -1)}${nextLetter(good)}`],
    ["padding", (good) => `Authorization: Bearer ${good}=`],
    ["another case", (good) => `Authorization: Bearer ${swapCase(good)}`],
    ["the other base64 alphabet", (good) => `Authorization: Bearer ${good.replaceAll("-", "+").replaceAll("_", "/")}!`],
    ["a part of it", (good) => `Authorization: Bearer ${good.slice(0, 20)}`],
    ["itself twice", (good) => `Authorization: Bearer ${good}${good}`],
    ["quotes", (good) => `Authorization: Bearer "${good}"`],
    ["a comma list", (good) => `Authorization: Bearer x, Bearer ${good}`],
    ["another scheme", (good) => `Authorization: Basic ${good}`],
    ["no scheme", (good) => `Authorization: ${good}`],
    ["another header", (good) => `X-Auth-Token: ${good}`],
    ["a cookie", (good) => `Cookie: token=${good}`],
    ["a second header", (good) => `Authorization: Bearer x\r\nAuthorization: Bearer ${good}`],
    ["the name of a prototype", () => "Authorization: Bearer __proto__"],
    ["a pattern", () => "Authorization: Bearer %"],
    ["SQL", () => "Authorization: Bearer ' OR '1'='1"],
  ];

  test.each(forms)("with %s are unauthenticated", async (_name, line) => {
    const heard = await say(`GET /api/v1/session HTTP/1.1\r\nHost: x\r\n${line(token)}\r\n\r\n`);
    expect(outcomes(heard)).toEqual(["401 unauthenticated"]);
    expect(heard.replies[0] && headerOf(heard.replies[0], "www-authenticate")).toBe("Bearer");
  });

  test("in a query are unauthenticated", async () => {
    const heard = await say(
      `GET /api/v1/session?token=${token}&access_token=${token}&authorization=Bearer%20${token} HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    expect(outcomes(heard)).toEqual(["401 unauthenticated"]);
  });

  test("that were logged out stay dead, on the same connection too", async () => {
    const other = await login(service);
    const request = (line: string) => `${line}\r\nHost: x\r\nAuthorization: Bearer ${other}\r\n\r\n`;
    const get = request("GET /api/v1/session HTTP/1.1");
    const heard = await say(`${get}${request("POST /api/v1/logout HTTP/1.1")}${get}${get}`, 2);
    expect(outcomes(heard).slice(0, 2)).toEqual(["200 ok", "200 ok"]);
    expect(outcomes(await say(get))).toEqual(["401 unauthenticated"]);
  });
});

/** The last of 43 characters carries 4 bits: others with the same four would decode to the same bytes. */
function nextLetter(text: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const at = alphabet.indexOf(text.at(-1) ?? "A");
  return alphabet[at ^ 1] as string;
}

function swapCase(text: string): string {
  return [...text].map((letter) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase())).join("");
}
