import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Conversation, converse } from "./converse.ts";
import { login } from "./fuzz.ts";
import { Pipe } from "./pipe.ts";
import { ServiceProcess } from "./service-process.ts";

const limit = 33_554_432;
const mib = 2 ** 20;
/** Of health, while the heaviest requests are served: far above what an idle machine needs, far below what a person would call dead. */
const patienceMs = 30_000;

let service: ServiceProcess;
let token: string;

beforeAll(async () => {
  service = await ServiceProcess.start();
  token = await login(service);
});
afterAll(() => service[Symbol.asyncDispose]());

function post(
  path: string,
  body: string | Buffer,
  headers = `Content-Length: ${Buffer.byteLength(body)}\r\n`,
  bearer = token,
): Promise<Conversation> {
  const head = `POST /api/v1/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bearer}\r\nContent-Type: application/json\r\n${headers}\r\n`;
  return converse(service.port, Buffer.concat([Buffer.from(head), Buffer.from(body)]), { waitMs: 60_000, quietMs: 0 });
}

function outcome({ replies, closed }: Conversation): string {
  const [reply] = replies;
  if (reply === undefined) return closed ? "closed" : "no answer";
  const { ok, code } = JSON.parse(reply.body.toString());
  return `${reply.status} ${ok ? "ok" : code}`;
}

/** The longest that anybody waited for health while `work` ran, ms. */
async function worstHealth(work: Promise<unknown>, onAnswer: () => void = () => {}): Promise<number> {
  const pipe = await Pipe.open(service.port);
  const request = { method: "GET", bytes: Buffer.from("GET /health HTTP/1.1\r\nHost: x\r\n\r\n") };
  let worst = 0;
  let busy = true;
  const done = work.finally(() => {
    busy = false;
  });
  while (busy) {
    const asked = performance.now();
    const { replies } = await pipe.exchange([request], 60_000);
    expect(replies.map(({ status }) => status)).toEqual([200]);
    onAnswer();
    worst = Math.max(worst, performance.now() - asked);
    await wait(5);
  }
  pipe.close();
  await done;
  return worst;
}

/** Units until the body is as large as a body may be. */
function full(head: string, unit: string, tail: string): string {
  return head + unit.repeat(Math.floor((limit - head.length - tail.length) / unit.length)) + tail;
}

describe("ten clients with bodies of 32 MiB", () => {
  test("are answered while others are served, and the memory is given back", async () => {
    const body = full('{"lab":"/x","source":"', "x", '"}');
    const clients = Array.from({ length: 10 }, () => post("projects/status", body));
    const all = Promise.all(clients);
    expect(await worstHealth(all)).toBeLessThan(patienceMs);
    expect((await all).map(outcome)).toEqual(Array.from({ length: 10 }, () => "404 lab_not_found"));
    expect(service.rss() / mib).toBeLessThan(1_500);
  });

  test("that are one byte too large are refused, and the connection is used again", async () => {
    const pipe = await Pipe.open(service.port);
    const body = `${full('{"lab":"/x","source":"', "x", '"}')}  `;
    const head = `POST /api/v1/projects/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const large = { method: "POST", bytes: Buffer.from(head + body) };
    const { replies, why } = await pipe.exchange(
      [large, { method: "GET", bytes: Buffer.from("GET /health HTTP/1.1\r\nHost: x\r\n\r\n") }],
      30_000,
    );
    pipe.close();
    expect([why, replies.map(({ status }) => status)]).toEqual([undefined, [413, 200]]);
  });

  test("without a token are refused without being kept", async () => {
    const before = service.rss();
    const body = full('{"yaml":"', "x", '"}');
    const all = await Promise.all(Array.from({ length: 10 }, () => post("projects/plan", body, undefined, "stranger")));
    expect(all.map(outcome)).toEqual(Array.from({ length: 10 }, () => "401 unauthenticated"));
    expect((service.rss() - before) / mib).toBeLessThan(200);
  });

  test("that say how long they are, and then do not come, hold nothing up", async () => {
    const stalled = Array.from({ length: 10 }, () => {
      const head = `POST /api/v1/projects/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${limit}\r\n\r\n{"yaml":"`;
      return converse(service.port, Buffer.from(head), { waitMs: 1_000 });
    });
    expect(await worstHealth(Promise.all(stalled))).toBeLessThan(patienceMs);
    expect((await Promise.all(stalled)).map(outcome)).toEqual(Array.from({ length: 10 }, () => "no answer"));
  });
});

describe("a body that costs more than it weighs is refused soon", () => {
  const yaml = (text: string) => JSON.stringify({ yaml: text });
  const lines = (count: number, line: (index: number) => string) => Array.from({ length: count }, (_, index) => line(index)).join("\n");

  test.each<[string, string, () => string | Buffer, string]>([
    ["a list of sixteen million numbers", "projects/exec", () => full('{"action":"start","nodes":[', "0,", "0]}"), "400 bad_request"],
    ["targets of the wrong type", "console/exec-many", () => full('{"lab":"/x","targets":[', "0,", "0]}"), "400 bad_request"],
    ["twenty thousand targets of the wrong type", "console/exec-many", () => `{"targets":[${"0,".repeat(20_000)}0]}`, "400 bad_request"],
    ["eleven million objects", "projects/plan", () => full('{"lab":"/x","state":[', "{},", "{}]}"), "400 bad_request"],
    ["sixteen million brackets", "projects/plan", () => `{"state":${"[".repeat(16_000_000)}`, "400 bad_request"],
    ["five million escapes", "projects/plan", () => full('{"lab":"', "\\u0041", '"}'), "400 bad_request"],
    ["a word of 32 MiB", "projects/plan", () => full('{"direction":"', "x", '"}'), "400 bad_request"],
    ["bytes that are no text", "projects/plan", () => Buffer.alloc(limit, 0xff), "400 bad_request"],
    ["a manifest of nested lists", "projects/plan", () => JSON.stringify({ manifest: "- ".repeat(8_000_000) }), "400 bad_request"],
    [
      "a manifest with one key over and over",
      "projects/plan",
      () => JSON.stringify({ manifest: "a: 1\n".repeat(13_000) }),
      "400 bad_request",
    ],
    [
      "a hundred thousand files",
      "projects/plan",
      () => `{"files":{${lines(100_000, (index) => `"/${index}":""${index < 99_999 ? "," : ""}`)}}}`,
      "400 bad_request",
    ],
    [
      "an interface format of megabytes",
      "authoring/interfaces",
      () => JSON.stringify({ template: "frr", eth_format: "{0}".repeat(5_000_000) }),
      "400 bad_request",
    ],
    ["YAML of 33 MB", "projects/validate", () => full('{"yaml":"', "a", '"}'), "422 invalid_intent"],
    ["YAML of line breaks", "projects/validate", () => yaml(`name: a\n${"\n".repeat(8_000_000)}`), "422 invalid_intent"],
    ["YAML of comments", "projects/validate", () => yaml(`name: a\n${"#\n".repeat(4_000_000)}`), "422 invalid_intent"],
    ["YAML in a million brackets", "projects/validate", () => yaml("[".repeat(1_000_000)), "422 invalid_intent"],
    ["YAML of a million documents", "projects/validate", () => yaml("---\n".repeat(1_500_000)), "422 invalid_intent"],
    ["YAML of directives", "projects/validate", () => yaml("%YAML 1.2\n".repeat(700_000)), "422 invalid_intent"],
    [
      "a billion laughs",
      "projects/validate",
      () => yaml(`a0: &a0 [x,x]\n${lines(40, (index) => `a${index + 1}: &a${index + 1} [${Array(10).fill(`*a${index}`)}]`)}\n`),
      "422 invalid_intent",
    ],
    [
      "a billion merges",
      "projects/validate",
      () =>
        yaml(
          `a0: &a0 {k: 1}\n${lines(2000, (index) => `a${index + 1}: &a${index + 1} {<<: [${Array(10).fill(`*a${index}`)}], k${index}: 1}`)}\n`,
        ),
      "422 invalid_intent",
    ],
    [
      "thousands of anchors of themselves",
      "projects/validate",
      () => yaml(`name: a\n${lines(50_000, (index) => `k${index}: &a${index} *a${index}`)}\n`),
      "422 invalid_intent",
    ],
    [
      "one key fifty thousand times",
      "projects/validate",
      () => yaml(`name: a\nnodes:\n${" k: {}\n".repeat(50_000)}`),
      "422 invalid_intent",
    ],
    [
      "a key of eight million letters",
      "projects/validate",
      () => yaml(`name: a\nnodes: {${"k".repeat(8_000_000)}: {}}\n`),
      "422 invalid_intent",
    ],
    [
      "a scalar of millions of folded lines",
      "projects/validate",
      () => yaml(`name: a\ndescription: >\n${" x\n".repeat(2_500_000)}`),
      "200 ok",
    ],
    [
      "typos among thousands of names",
      "projects/validate",
      () => {
        const word = "abcdefghij".repeat(5);
        const nodes = lines(2000, (index) => ` ${word}${10_000 + index}: {template: pc}`);
        return yaml(`name: a\nnodes:\n${nodes}\nlinks:\n${lines(3000, (index) => ` - ["${word}x${10_000 + index}:e0", "b:e0"]`)}\n`);
      },
      "422 invalid_intent",
    ],
    [
      "two thousand nodes that the host refuses",
      "projects/deploy",
      () => yaml(`name: a\nnodes:\n${lines(2000, (index) => ` n${index}: {template: no}`)}\n`),
      "422 invalid_intent",
    ],
  ])("%s", async (_name, path, body, expected) => {
    const sent = post(path, body());
    const worst = await worstHealth(sent);
    const heard = await sent;
    expect(outcome(heard)).toBe(expected);
    expect(heard.replies[0]?.body.length).toBeLessThan(4 * mib);
    expect(worst).toBeLessThan(patienceMs);
    expect(service.rss() / mib).toBeLessThan(1_500);
  });
});

test("health is answered all the time while ten heavy intents are read", async () => {
  const nodes = Array.from({ length: 100_000 }, (_, index) => `n${index}: {x: 1}`).join(",");
  const body = JSON.stringify({ yaml: `name: a\nnodes: {${nodes}}` });
  const clients = Array.from({ length: 10 }, () => post("projects/validate", body));
  let answered = 0;
  const worst = worstHealth(Promise.all(clients), () => answered++);
  expect((await Promise.all(clients)).map(outcome)).toEqual(Array.from({ length: 10 }, () => "422 invalid_intent"));
  expect(await worst).toBeLessThan(patienceMs);
  // Between two intents alone it would be about once for each.
  expect(answered).toBeGreaterThan(50);
});

test("an expression that takes exponential time is stopped", async () => {
  const yaml = "name: r\nnodes: {a: {template: linux, start: true}}\n";
  expect(outcome(await post("projects/deploy", JSON.stringify({ lab: "/r", yaml })))).toBe("200 ok");
  const steps = Array.from({ length: 5 }, () => ({ send: `echo ${"x".repeat(60)}`, expect: { regex: "(x+x+)+y" }, timeout_ms: 2_000 }));
  const sent = post("console/run", JSON.stringify({ lab: "/r", node: "a", steps }));
  expect(await worstHealth(sent)).toBeLessThan(patienceMs);
  expect(["400 bad_request", "504 console_timeout"]).toContain(outcome(await sent));
});

test("after all of it the service is alive and its log has no defect", async () => {
  expect(service.alive).toBe(true);
  expect(
    (await service.log()).split("\n").filter((line) => /"level":(?:50|60)\b/.test(line) || (line !== "" && !line.startsWith("{"))),
  ).toEqual([]);
});
