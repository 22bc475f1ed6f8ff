import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RawClient } from "./raw-client.ts";
import { cookieIn, type Served, serve } from "./served.ts";

const path = "/api/v1/browser/session";
const yaml = "name: pages\nnodes:\n  r1: {template: frr}\n";

let served: Served;
let client: RawClient;
let origin: string;
const time = { now: Date.now() };

beforeAll(async () => {
  served = await serve({
    service: {
      clock: { now: () => time.now },
      webUi: { page: (lab) => `https://localhost:8443/labs${lab}`, capturePage: (id) => `https://localhost:8443/ui/captures/${id}` },
    },
  });
  client = await served.signIn("ann");
  origin = served.url;
  await client.post("/api/v1/projects/deploy", { yaml });
});
afterAll(() => served[Symbol.asyncDispose]());

/** As a page of the service itself sends it. */
const page = (cookie: string) => ({ Cookie: cookie, Origin: origin, "Sec-Fetch-Site": "same-origin", "X-Labwright-Csrf": "1" });
const withCookie = (method: string, to: string, headers: Record<string, string>) =>
  client.call(method, to, { bearer: null, headers, ...(method === "POST" && { body: "{}" }) });

async function cookieOfSession(): Promise<string> {
  return cookieIn(await client.post(path, {})).header;
}

async function ticket(): Promise<string> {
  const { url } = (await client.post("/api/v1/projects/open", { lab: "/pages" })).json.data as { url: string };
  return url.split("#ticket=")[1] ?? "";
}

describe("the cookie", () => {
  test("is what a browser keeps for this host alone, away from scripts and from other sites", async () => {
    const answer = await client.post(path, {});
    const { value, header, attributes } = cookieIn(answer);
    expect(header).toMatch(/^__Host-labwright=[A-Za-z0-9_-]{43}$/);
    expect(attributes).toEqual([expect.stringMatching(/^Max-Age=\d+$/), "Path=/", "Secure", "HttpOnly", "SameSite=Strict"]);
    expect(answer.json).toEqual({ ok: true, data: { expires_at: expect.any(String) } });
    expect(answer.text).not.toContain(value);
    expect(value).not.toBe(client.token);
  });

  test("stands for the session that asked for it, on reads and on changes", async () => {
    const cookie = await cookieOfSession();
    expect((await withCookie("GET", "/api/v1/session", page(`other=1; ${cookie}`))).json.data).toEqual({ username: "ann", role: "user" });
    const plan = await client.call("POST", "/api/v1/projects/status", { bearer: null, headers: page(cookie), body: '{"lab":"/pages"}' });
    expect(plan.json.data).toMatchObject({ lab: "/pages", exists: true });
  });

  test("makes no further cookies", async () => {
    const answer = await withCookie("POST", path, page(await cookieOfSession()));
    expect([answer.status, answer.json.code, answer.headers["set-cookie"]]).toEqual([401, "unauthenticated", undefined]);
  });

  test("does not outlive the logout of its session, and a logout by cookie clears it", async () => {
    const other = await served.signIn("bob");
    const first = cookieIn(await other.post(path, {})).header;
    await other.post("/api/v1/logout", {});
    expect((await withCookie("GET", "/api/v1/session", page(first))).json.code).toBe("unauthenticated");
    const third = await served.signIn("bob");
    const second = cookieIn(await third.post(path, {})).header;
    const logout = await withCookie("POST", "/api/v1/logout", page(second));
    expect([logout.status, cookieIn(logout)]).toEqual([
      200,
      { header: "__Host-labwright=", value: "", attributes: ["Max-Age=0", "Path=/", "Secure", "HttpOnly", "SameSite=Strict"] },
    ]);
    expect((await withCookie("GET", "/api/v1/session", page(second))).json.code).toBe("unauthenticated");
    expect((await third.get("/api/v1/session")).json.code).toBe("unauthenticated");
  });

  test("expires with its session", async () => {
    const other = await served.signIn("bob");
    const cookie = cookieIn(await other.post(path, {})).header;
    time.now += 13 * 3_600_000;
    expect((await withCookie("GET", "/api/v1/session", page(cookie))).json.code).toBe("expired_agent_session");
    client = await served.signIn("ann");
  });

  test("the newest twenty of a session are good", async () => {
    const other = await served.signIn("bob");
    const cookies: string[] = [];
    for (let index = 0; index < 21; index++) cookies.push(cookieIn(await other.post(path, {})).header);
    const status = async (cookie = "") => (await withCookie("GET", "/api/v1/session", page(cookie))).status;
    expect([await status(cookies[0]), await status(cookies[1]), await status(cookies[20])]).toEqual([401, 200, 200]);
  });
});

describe("requests that show only the cookie", () => {
  test.each<[string, string, Record<string, string>]>([
    ["a POST without our header", "POST", { "X-Labwright-Csrf": "" }],
    ["a POST of another origin", "POST", { Origin: "https://evil.example" }],
    ["a POST of another port of this host", "POST", { Origin: "https://127.0.0.1:1", "Sec-Fetch-Site": "same-site" }],
    ["a POST of a page without an origin", "POST", { Origin: "null" }],
    ["a POST over plain HTTP from here", "POST", { Origin: "http://HOST" }],
    ["a POST that another site's link made", "POST", { "Sec-Fetch-Site": "cross-site" }],
    ["a POST that nobody's page made", "POST", { "Sec-Fetch-Site": "none" }],
    ["a GET of another site", "GET", { "Sec-Fetch-Site": "cross-site" }],
    ["a GET of another port of this host", "GET", { "Sec-Fetch-Site": "same-site" }],
    ["a GET of another origin", "GET", { Origin: "https://evil.example" }],
  ])("%s is unauthenticated", async (_name, method, changed) => {
    const headers = { ...page(await cookieOfSession()), ...changed };
    if (headers.Origin === "http://HOST") headers.Origin = origin.replace("https:", "http:");
    const answer = await withCookie(method, method === "GET" ? "/api/v1/session" : "/api/v1/projects/validate", headers);
    expect([answer.status, answer.json.code]).toEqual([401, "unauthenticated"]);
  });

  test.each<[string, Record<string, string>]>([
    ["typed by a person", { "Sec-Fetch-Site": "none" }],
    ["of an old browser, which says nothing", {}],
  ])("a GET %s is answered", async (_name, headers) => {
    expect((await withCookie("GET", "/api/v1/session", { Cookie: await cookieOfSession(), ...headers })).status).toBe(200);
  });

  test("with a made-up cookie are unauthenticated, and a bearer token wins over a cookie", async () => {
    expect((await withCookie("GET", "/api/v1/session", page("__Host-labwright=made-up"))).json.code).toBe("unauthenticated");
    const foreign = { ...page(await cookieOfSession()), Origin: "https://evil.example" };
    expect((await client.get("/api/v1/session", { headers: foreign })).status).toBe(200);
    expect((await client.get("/api/v1/session", { bearer: "made-up", headers: page(await cookieOfSession()) })).status).toBe(401);
  });
});

describe("a browser ticket", () => {
  test("comes in the link that opens a lab, and makes a cookie of that session once", async () => {
    const opened = (await client.post("/api/v1/projects/open", { lab: "/pages" })).json.data;
    expect(opened).toMatchObject({
      lab: "/pages",
      url: expect.stringMatching(/^https:\/\/localhost:8443\/labs\/pages#ticket=[0-9a-f]{64}$/),
    });
    expect(Date.parse(opened.expires_at) - time.now).toBe(120_000);
    const body = { ticket: opened.url.split("#ticket=")[1] };
    const cookie = cookieIn(await client.post(path, body, { bearer: null })).header;
    expect((await withCookie("GET", "/api/v1/session", page(cookie))).json.data.username).toBe("ann");
    const again = await client.post(path, body, { bearer: null });
    expect([again.status, again.json.code, again.headers["set-cookie"]]).toEqual([403, "browser_token_invalid", undefined]);
  });

  test("is no good after two minutes, for another session, malformed, or after a logout", async () => {
    const late = await ticket();
    time.now += 120_000;
    const bob = await served.signIn("bob");
    const code = async (from: RawClient, value: string, bearer?: null) =>
      (await from.post(path, { ticket: value }, bearer === undefined ? {} : { bearer })).json.code;
    expect(await code(client, late, null)).toBe("browser_token_invalid");
    expect(await code(bob, await ticket())).toBe("browser_token_invalid");
    expect(await code(client, "../etc/passwd", null)).toBe("browser_token_invalid");
    const left = await ticket();
    await client.post("/api/v1/logout", {});
    expect(await code(bob, left, null)).toBe("unauthenticated");
    client = await served.signIn("ann");
  });

  test("of another user replaces the session of a browser only if the page says so, and stays good meanwhile", async () => {
    const bob = await served.signIn("bob");
    const bobs = cookieIn(await bob.post(path, {})).header;
    const link = await ticket();
    const redeem = (body: object, headers: Record<string, string>) => client.post(path, body, { bearer: null, headers });
    const asked = await redeem({ ticket: link }, page(bobs));
    expect([asked.status, asked.json.code, asked.json.data]).toEqual([409, "session_exists", { username: "bob", ticket_username: "ann" }]);
    expect(asked.headers["set-cookie"]).toBeUndefined();
    expect((await withCookie("GET", "/api/v1/session", page(bobs))).json.data.username).toBe("bob");
    const replaced = await redeem({ ticket: link, replace: true }, page(bobs));
    expect((await withCookie("GET", "/api/v1/session", page(cookieIn(replaced).header))).json.data.username).toBe("ann");
    expect((await redeem({ ticket: link, replace: true }, page(bobs))).json.code).toBe("browser_token_invalid");
  });

  test("of the same user, or beside a session that has ended, needs no question", async () => {
    const anns = await cookieOfSession();
    expect((await client.post(path, { ticket: await ticket() }, { bearer: null, headers: page(anns) })).status).toBe(200);
    const bob = await served.signIn("bob");
    const ended = cookieIn(await bob.post(path, {})).header;
    await bob.post("/api/v1/logout", {});
    expect((await client.post(path, { ticket: await ticket() }, { bearer: null, headers: page(ended) })).status).toBe(200);
    expect((await client.post(path, { ticket: await ticket() }, { bearer: null, headers: page("__Host-labwright=made-up") })).status).toBe(
      200,
    );
  });

  test.each<[string, Record<string, string>]>([
    ["origin", { Origin: "https://evil.example" }],
    ["site", { "Sec-Fetch-Site": "cross-site" }],
    ["port of this host", { "Sec-Fetch-Site": "same-site" }],
  ])("that a page of another %s posts makes no cookie", async (_name, headers) => {
    const answer = await client.post(path, { ticket: await ticket(), replace: true }, { bearer: null, headers });
    expect([answer.status, answer.json.code, answer.headers["set-cookie"]]).toEqual([401, "unauthenticated", undefined]);
  });

  test("is needed where there is no token, in a small JSON body", async () => {
    expect((await client.post(path, {}, { bearer: null })).json.code).toBe("unauthenticated");
    expect((await client.post(path, { ticket: 1 }, { bearer: null })).json.code).toBe("bad_request");
    expect((await client.post(path, { ticket: "a".repeat(16_384) }, { bearer: null })).json.code).toBe("payload_too_large");
    const plain = { bearer: null, headers: { "Content-Type": "text/plain" } };
    expect((await client.post(path, { ticket: await ticket() }, plain)).json.code).toBe("unsupported_media_type");
  });

  test("is for a lab that the caller may see", async () => {
    const bob = await served.signIn("bob");
    expect((await bob.post("/api/v1/projects/open", { lab: "/pages" })).json.code).toBe("lab_not_found");
    expect((await client.post("/api/v1/projects/open", { lab: "/nothing" })).json.code).toBe("lab_not_found");
  });
});

test("without web pages open is unsupported, and capabilities say so; the cookie works all the same", async () => {
  await using bare = await serve();
  const bob = await bare.signIn("bob");
  await bob.post("/api/v1/projects/deploy", { yaml });
  const answer = await bob.post("/api/v1/projects/open", { lab: "/pages" });
  expect([answer.status, answer.json.data]).toEqual([422, { feature: "webUi" }]);
  expect((await bob.get("/api/v1/capabilities")).json.data.features.webUi).toBe(false);
  expect((await client.get("/api/v1/capabilities")).json.data.features.webUi).toBe(true);
  expect((await bob.post(path, {})).status).toBe(200);
});
