import { expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";

import { health, testServer, token } from "./server.fixture.ts";

const on = testServer();

test("a success is an envelope with data and a request id that the log contains too", async () => {
  on.replies = { getSession: (_request, caller) => ({ username: caller?.user }) };
  const answer = await on.client.get("/api/v1/session");
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual({ ok: true, data: { username: "ann" } });
  await expect
    .poll(() => on.logged().find((line) => line.request_id === answer.headers["x-request-id"]))
    .toMatchObject({
      operation: "getSession",
      status: 200,
      user: "ann",
    });
});

test("health answers without a token, also without /api/v1", async () => {
  on.replies = { getHealth: () => health };
  for (const path of ["/api/v1/health", "/health"]) {
    const { status, json, headers } = await on.client.get(path, { bearer: null });
    expect({ status, json }).toEqual({ status: 200, json: { ok: true, data: { status: "ok", tls: true, version: "0.0.0" } } });
    expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    const line = () => on.logged().find((each) => each.request_id === headers["x-request-id"]);
    await expect
      .poll(line)
      .toMatchObject({ level: 20, msg: "request", operation: "getHealth", method: "GET", status: 200, address: "127.0.0.1" });
    expect(on.ended.at(-1)).toMatchObject({ operation: "getHealth", status: 200 });
  }
});

test.each([
  ["no token", null, "unauthenticated"],
  ["an unknown token", "bad", "unauthenticated"],
  ["an expired token", "old-token", "expired_agent_session"],
])("%s answers 401 before the body is read", async (_name, bearer, code) => {
  const answer = await on.client.call("POST", "/api/v1/projects/plan", {
    bearer,
    body: "not json",
    headers: { "Content-Type": "text/plain" },
  });
  expect(answer.status).toBe(401);
  expect(answer.headers["www-authenticate"]).toBe("Bearer");
  expect(answer.json).toMatchObject({ ok: false, code });
  expect(answer.headers["x-request-id"]).toBeTruthy();
});

test("a failure of the service keeps its code, data and Retry-After", async () => {
  const operation = { name: "deploy", user: "ann", started_at: "2026-01-01T00:00:00Z", step: 1, steps: 3 };
  on.replies = {
    deployProject: () => {
      throw new Failure("lab_busy", "busy", { data: { operation }, retryAfter: 1.2 });
    },
  };
  const answer = await on.client.post("/api/v1/projects/deploy", { lab: "/x" });
  expect(answer.status).toBe(409);
  expect(answer.headers["retry-after"]).toBe("2");
  expect(answer.json).toEqual({ ok: false, error: "busy", code: "lab_busy", data: { operation } });
});

test("a defect answers 500 with the request id and without its message; the log has the cause", async () => {
  on.replies = {
    getSession: () => {
      throw new TypeError("secret inner text");
    },
  };
  const answer = await on.client.get("/api/v1/session");
  expect(answer.status).toBe(500);
  expect(answer.json).toEqual({
    ok: false,
    error: "internal error",
    code: "internal",
    data: { request_id: answer.headers["x-request-id"] },
  });
  expect(on.log.some((line) => line.includes("secret inner text") && line.includes("server.test.ts"))).toBe(true);
});

test("a path with two methods names them in Allow; an unknown path is not_found", async () => {
  const wrong = await on.client.call("DELETE", "/api/v1/projects/plan");
  expect([wrong.status, wrong.json.code, wrong.headers.allow]).toEqual([405, "method_not_allowed", "POST"]);
  const nothing = await on.client.get("/api/v1/nothing");
  expect([nothing.status, nothing.json.code]).toEqual([404, "not_found"]);
  const parameter = await on.client.call("PUT", "/api/v1/templates/frr/images");
  expect([parameter.status, parameter.headers.allow]).toEqual([405, "GET"]);
});

test("a text that is not JSON is refused, and the message does not quote it", async () => {
  const answer = await on.client.post("/api/v1/login", '{"username": "ann", "password": hunter2}', { bearer: null });
  expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
  expect(answer.text).not.toContain("hunter2");
});

test("a client that disconnects aborts the call's signal", async () => {
  const leaving = new AbortController();
  let seen: AbortSignal | undefined;
  on.replies = {
    planProject: async (_request, _caller, { signal }) => {
      seen = signal;
      leaving.abort();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      return {};
    },
  };
  await expect(on.client.post("/api/v1/projects/plan", {}, { signal: leaving.signal })).rejects.toThrow("aborted");
  await expect.poll(() => seen?.aborted).toBe(true);
});

test("a download carries its media type and file name", async () => {
  on.replies = {
    downloadCapture: () => ({
      mediaType: "application/x-pcapng",
      filename: 'r1".pcapng',
      body: (async function* () {
        yield Buffer.from("packets");
      })(),
    }),
  };
  const answer = await on.client.get("/api/v1/projects/captures/c1/pcapng");
  expect(answer.text).toBe("packets");
  expect(answer.headers["content-type"]).toBe("application/x-pcapng");
  expect(answer.headers["content-disposition"]).toBe('attachment; filename="r1_.pcapng"');
});

test("the OpenAPI document is served without an envelope", async () => {
  const answer = await on.client.get("/api/v1/openapi.json");
  expect(answer.json.openapi).toBe("3.1.0");
  expect(answer.json.info.version).toBe("0.0.0");
});

test("neither token, password nor ticket is ever logged", async () => {
  on.replies = { login: () => ({ token: "new-token" }) };
  await on.client.post("/api/v1/login", { username: "ann", password: "hunter2" }, { bearer: null });
  await on.client.get("/api/v1/console/stream/0123ticket");
  await expect.poll(() => on.logged().some((line) => line.operation === "login")).toBe(true);
  const everything = on.log.join("");
  for (const secret of [token, "new-token", "hunter2", "0123ticket"]) expect(everything).not.toContain(secret);
});
