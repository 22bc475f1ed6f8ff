import type { Case } from "./cases.ts";
import { type Known, known } from "./known.ts";
import type { Random } from "./random.ts";

/** Bytes that are not a well-formed request, each on a connection of its own. The answer, if one comes, is an envelope all the same. */
export function malformedCase(random: Random, index: number, learnt: Known): Case {
  const token = random.pick(learnt.tokens);
  const text = random.pick(forms)(token, random, learnt);
  const bytes = Buffer.from(text, "latin1");
  if (random.chance(0.3)) flip(random, bytes);
  return {
    index,
    lane: "alone",
    method: text.startsWith("HEAD") ? "HEAD" : "GET",
    bytes,
    halfClose: random.chance(0.7),
    plain: random.chance(0.15),
    pieces: random.chance(0.3) ? 2 + random.int(4) : 1,
  };
}

function flip(random: Random, bytes: Buffer): void {
  for (let left = 1 + random.int(4); left > 0; left--) bytes[random.int(bytes.length)] = random.int(256);
}

type Form = (token: string, random: Random, learnt: Known) => string;

const session = (token: string, line = "GET /api/v1/session HTTP/1.1", more = "") =>
  `${line}\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`;
const status = (token: string, headers: string, body = '{"lab":"/fuzz/0"}') =>
  `POST /api/v1/projects/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;

const forms: readonly Form[] = [
  (token) => session(token),
  (token) => session(token, "GET /api/v1/session HTTP/1.0"),
  (token) => session(token, "GET /api/v1/session HTTP/9.9"),
  (token) => session(token, "GET /api/v1/session"),
  (token) => session(token, "get /api/v1/session HTTP/1.1"),
  (token) => session(token, "GET  /api/v1/session  HTTP/1.1"),
  (token) => session(token, "GET https://evil.example/api/v1/session HTTP/1.1"),
  (token) => session(token, "GET http://127.0.0.1/api/v1/session HTTP/1.1"),
  (token) => session(token, "GET //evil.example/api/v1/session HTTP/1.1"),
  (token) => session(token, "CONNECT localhost:443 HTTP/1.1"),
  (token) => session(token, "OPTIONS * HTTP/1.1"),
  (token) => session(token, "TRACE /api/v1/session HTTP/1.1"),
  (token) => session(token, "PROPFIND /api/v1/session HTTP/1.1"),
  (token) => session(token, "BREW /api/v1/session HTTP/1.1"),
  (token) => session(token, "HEAD /api/v1/health HTTP/1.1"),
  (token) => session(token, `GET /${"a".repeat(20_000)} HTTP/1.1`),
  (token) => session(token, undefined, `X: ${"a".repeat(20_000)}\r\n`),
  (token) => session(token, undefined, "X-N: 1\r\n".repeat(3000)),
  (token) => session(token, undefined, "No colon\r\n"),
  (token) => session(token, undefined, "Space : x\r\n"),
  (token) => session(token, undefined, " folded: x\r\n"),
  (token) => session(token, undefined, "A: b\r\n c\r\n"),
  (token) => session(token, undefined, "A: b\0c\r\n"),
  (token) => session(token, undefined, "A: b\rInjected: c\r\n"),
  (token) => session(token, undefined, "A: b\nInjected: c\r\n"),
  (token) => session(token, undefined, ": empty\r\n"),
  (token) => session(token, undefined, `Authorization: Bearer other\r\n`),
  (token) => session(token, undefined, "Host: y\r\nHost: z\r\n"),
  (token) => session(token, undefined, "Expect: 100-continue\r\n"),
  (token) => session(token, undefined, "Expect: something\r\n"),
  (token) => session(token, undefined, "Connection: close, Content-Length\r\nUpgrade: host-telnet\r\n"),
  (token) =>
    session(token, undefined, "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"),
  () => "GET /api/v1/health HTTP/1.1\r\n\r\n",
  () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  () => "GET /api/v1/health HTTP/1.1\r\nHost: x",
  () => "\r\n\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
  () => "GET /health HTTP/1.1\nHost: x\n\n",
  () => "\x16\x03\x01\x02\x00\x01",
  () => "\x00\x01\x02\xff",
  () => "G",
  (token) => status(token, "Content-Length: 17\r\nContent-Length: 17\r\n"),
  (token) => status(token, "Content-Length: 17\r\nContent-Length: 2\r\n"),
  (token) => status(token, "Content-Length: 17, 17\r\n"),
  (token) => status(token, "Content-Length: +17\r\n"),
  (token) => status(token, "Content-Length: -1\r\n"),
  (token) => status(token, "Content-Length: 0x11\r\n"),
  (token) => status(token, "Content-Length: 99999999999999999999\r\n"),
  (token) => status(token, "Content-Length: 33554433\r\n"),
  (token) => status(token, "Content-Length: 1000\r\n"),
  (token) =>
    status(token, "Content-Length: 17\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nGET /api/v1/session HTTP/1.1\r\nHost: x\r\n\r\n"),
  (token) => status(token, "Transfer-Encoding: identity\r\n"),
  (token) => status(token, "Transfer-Encoding: chunked, identity\r\n", '11\r\n{"lab":"/fuzz/0"}\r\n0\r\n\r\n'),
  (token) => status(token, "Transfer-Encoding: xchunked\r\n", '11\r\n{"lab":"/fuzz/0"}\r\n0\r\n\r\n'),
  (token) => status(token, "Transfer-Encoding:\x0bchunked\r\n", "0\r\n\r\n"),
  (token) => status(token, "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", "0\r\n\r\n"),
  (token) =>
    status(token, "Transfer-Encoding: chunked\r\n", '11\r\n{"lab":"/fuzz/0"}\r\n0\r\nTrailer: x\r\nAuthorization: Bearer y\r\n\r\n'),
  (token) => status(token, "Transfer-Encoding: chunked\r\n", "-1\r\nx\r\n0\r\n\r\n"),
  (token) => status(token, "Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\nx\r\n0\r\n\r\n"),
  (token) => status(token, "Transfer-Encoding: chunked\r\n", `5;${"e".repeat(20_000)}\r\nhello\r\n0\r\n\r\n`),
  (token) => status(token, "Transfer-Encoding: chunked\r\n", "5\r\nhello"),
  (token, random, learnt) =>
    session(
      token,
      `GET /api/v1/console/stream/${known(random, learnt.tickets, "f".repeat(64))} HTTP/1.1`,
      "Connection: Upgrade\r\nUpgrade: host-telnet\r\nContent-Length: 5\r\n",
    ),
  (token, random, learnt) =>
    `${session(
      token,
      `GET /api/v1/console/stream/${known(random, learnt.tickets, "f".repeat(64))} HTTP/1.1`,
      "Connection: Upgrade\r\nUpgrade: host-telnet\r\n",
    )}\xff\xfb\x01\xff\xff\xff\xfa\x1f\x00\x00\r\nshow\r\n\x03`,
];
