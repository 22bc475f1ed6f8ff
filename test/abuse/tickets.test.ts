import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Conversation, converse } from "./converse.ts";
import { call, login } from "./fuzz.ts";
import { ServiceProcess } from "./service-process.ts";

const lab = "/tickets";
const yaml = "name: tickets\nnodes: {a: {template: linux, start: true}, b: {template: linux, start: true}}\n";
let service: ServiceProcess;
let token: string;

beforeAll(async () => {
  service = await ServiceProcess.start();
  token = await login(service);
  await call(service, "POST", "/api/v1/projects/deploy", token, { lab, yaml });
});
afterAll(() => service[Symbol.asyncDispose]());

async function attach(bearer = token): Promise<string> {
  const { json } = await call(service, "POST", "/api/v1/console/attach", bearer, { lab, node: "a" });
  return (json.data as { readonly stream: string }).stream;
}

const hangMs = 30_000;

function redeem(
  ticket: string,
  bearer: string | null = token,
  upgrade = "host-telnet",
  until?: (rest: string) => boolean,
): Promise<Conversation> {
  const auth = bearer === null ? "" : `Authorization: Bearer ${bearer}\r\n`;
  const text = `GET /api/v1/console/stream/${ticket} HTTP/1.1\r\nHost: x\r\n${auth}Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n\r\n`;
  return converse(service.port, Buffer.from(text, "latin1"), { waitMs: hangMs, quietMs: 50, ...(until && { until }) });
}

function outcome({ replies }: Conversation): string {
  const [reply] = replies;
  if (reply === undefined) return "none";
  return reply.status === 101 ? "101" : `${reply.status} ${JSON.parse(reply.body.toString()).code}`;
}

const refused = "403 browser_token_invalid";

test("a ticket opens its console once", async () => {
  const ticket = await attach();
  expect(ticket).toMatch(/^[0-9a-f]{64}$/);
  const stream = await redeem(ticket, token, "host-telnet", (rest) => rest.includes("a# "));
  expect(outcome(stream)).toBe("101");
  expect(stream.rest.toString()).toContain("a# ");
  for (let again = 0; again < 3; again++) expect(outcome(await redeem(ticket))).toBe(refused);
});

/** A request as it goes over the wire; with a body it is a POST. */
function request(path: string, more = "", body?: string): string {
  const length = body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  const auth = `Authorization: Bearer ${token}\r\n`;
  return `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\nHost: x\r\n${auth}${length}${more}\r\n${body ?? ""}`;
}

const asUpgrade = "Connection: Upgrade\r\nUpgrade: host-telnet\r\n";
const earlier = {
  health: () => request("/api/v1/health"),
  status: () => request("/api/v1/projects/status", "", JSON.stringify({ lab })),
  nothing: () => request("/nothing/here"),
};

/** These requests and then the upgrade, all in one write. */
function redeemAfter(before: readonly (keyof typeof earlier)[], ticket: string, until?: (rest: string) => boolean): Promise<Conversation> {
  const text = `${before.map((name) => earlier[name]()).join("")}${request(`/api/v1/console/stream/${ticket}`, asUpgrade)}`;
  return converse(service.port, Buffer.from(text, "latin1"), {
    waitMs: hangMs,
    quietMs: 50,
    replies: before.length + 1,
    ...(until && { until }),
  });
}

test.each([[["health"]], [["health", "health", "health"]], [["status"]], [["health", "status", "nothing"]]] as const)(
  "an upgrade that comes before %j are answered waits its turn",
  async (before) => {
    const statuses = before.map((name) => (name === "nothing" ? 404 : 200));
    const wrong = await redeemAfter(before, "0".repeat(64));
    expect(wrong.replies.map((reply) => reply.status)).toEqual([...statuses, 403]);
    const right = await redeemAfter(before, await attach(), (rest) => rest.includes("a# "));
    expect(right.replies.map((reply) => reply.status)).toEqual([...statuses, 101]);
    expect(right.rest.toString()).toContain("a# ");
  },
);

test("whoever leaves while an upgrade waits its turn does no harm", async () => {
  const text = `${earlier.status().repeat(20)}${request(`/api/v1/console/stream/${"0".repeat(64)}`, asUpgrade)}`;
  for (let i = 0; i < 20; i++) await converse(service.port, Buffer.from(text, "latin1"), { waitMs: i * 2 });
  const { json } = await call(service, "POST", "/api/v1/projects/status", token, { lab });
  expect(json.data).toMatchObject({ live: { nodes: expect.any(Array) } });
});

test("of many who use a ticket at the same moment one gets through", async () => {
  const ticket = await attach();
  const all = await Promise.all(Array.from({ length: 20 }, () => redeem(ticket)));
  const outcomes = all.map(outcome).sort();
  expect(outcomes).toEqual(["101", ...Array.from({ length: 19 }, () => refused)]);
});

test("a ticket of another session opens nothing, and is used up by the try", async () => {
  const ticket = await attach();
  const other = await login(service);
  expect(outcome(await redeem(ticket, other))).toBe(refused);
  expect(outcome(await redeem(ticket))).toBe(refused);
});

test("a ticket without a token, or with a false one, is not even looked at", async () => {
  const ticket = await attach();
  expect(outcome(await redeem(ticket, null))).toBe("401 unauthenticated");
  expect(outcome(await redeem(ticket, "x".repeat(43)))).toBe("401 unauthenticated");
  expect(outcome(await redeem(ticket))).toBe("101");
});

test("a ticket dies with its session, and an open stream ends with it", async () => {
  const other = await login(service);
  const [used, unused] = [await attach(other), await attach(other)];
  const text = `GET /api/v1/console/stream/${used} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${other}\r\nConnection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`;
  let opened = false;
  const answered = () => {
    opened = true;
  };
  const stream = converse(service.port, Buffer.from(text), { waitMs: hangMs, answered });
  await expect.poll(() => opened).toBe(true);
  expect((await call(service, "POST", "/api/v1/logout", other, {})).status).toBe(200);
  const ended = await stream;
  expect([outcome(ended), ended.closed]).toEqual(["101", true]);
  expect(outcome(await redeem(unused, other))).toBe("401 unauthenticated");
  expect(outcome(await redeem(unused))).toBe(refused);
});

test.each([
  ["uppercase", (ticket: string) => ticket.toUpperCase().replace(/^[0-9]/, "A")],
  ["too short", (ticket: string) => ticket.slice(1)],
  ["too long", (ticket: string) => `${ticket}0`],
  ["with a space", (ticket: string) => `${ticket}%20`],
  ["with a line break", (ticket: string) => `${ticket}%0d%0a`],
  ["with NUL", (ticket: string) => `${ticket}%00`],
  ["twice encoded", (ticket: string) => ticket.replace(/./, (first) => `%25${first.charCodeAt(0).toString(16)}`)],
  ["climbing", () => "..%2f..%2fsession"],
  ["named like a prototype", () => "__proto__"],
  ["empty", () => "%20"],
])("a ticket that is %s is refused, and the true one is not used up", async (_name, change) => {
  const ticket = await attach();
  expect(outcome(await redeem(change(ticket)))).toBe(refused);
  expect(outcome(await redeem(ticket))).toBe("101");
});

test("thousands of guesses find nothing, and a true ticket outlives them", async () => {
  const ticket = await attach();
  const guess = () =>
    `GET /api/v1/console/stream/${randomBytes(32).toString("hex")} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
  const upgrade = "Connection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n";
  let refusals = 0;
  // Upgrades end their connection: a few at a time, each alone.
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (let tries = 0; tries < 25; tries++) {
        const heard = await converse(service.port, Buffer.from(guess() + upgrade), { waitMs: hangMs, quietMs: 0 });
        if (outcome(heard) === refused) refusals++;
      }
    }),
  );
  expect(refusals).toBe(500);
  expect(outcome(await redeem(ticket))).toBe("101");
});

test("a traffic ticket and a console ticket do not stand for each other", async () => {
  const ticket = await attach();
  const text = `GET /api/v1/projects/traffic/stream/${ticket} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: host-traffic\r\n\r\n`;
  const heard = await converse(service.port, Buffer.from(text), { waitMs: hangMs, quietMs: 50 });
  expect(["403 browser_token_invalid", "422 unsupported"]).toContain(outcome(heard));
});

test("without the upgrade that the path offers nothing is opened, and the ticket still counts", async () => {
  const ticket = await attach();
  expect(outcome(await redeem(ticket, token, "h2c"))).toBe("400 bad_request");
  expect(outcome(await redeem(ticket))).toBe("101");
});

test("bytes that come with the upgrade reach the console, telnet commands among them do no harm", async () => {
  const ticket = await attach();
  const head = `GET /api/v1/console/stream/${ticket} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`;
  const bytes = Buffer.concat([
    Buffer.from(head),
    Buffer.from([255, 251, 1, 255, 255, 255, 250, 31, 0, 255, 240]),
    Buffer.from("\recho over\r"),
  ]);
  const heard = await converse(service.port, bytes, { waitMs: hangMs, quietMs: 0, until: (rest) => rest.includes("over") });
  expect(outcome(heard)).toBe("101");
  expect(heard.rest.toString("latin1")).toContain("over");
  expect(service.alive).toBe(true);
});

test("no ticket stands in the log", async () => {
  const ticket = await attach();
  await redeem(ticket);
  expect(await service.log()).not.toMatch(/[0-9a-f]{64}/);
  expect(await service.log()).not.toContain(token);
});
