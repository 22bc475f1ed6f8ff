import type { TSchema } from "typebox";
import { Check, Errors } from "typebox/value";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ErrorCode, errors } from "../../src/contract/errors.ts";
import { commonErrors, type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import { dataSchemas } from "../../src/contract/schemas/table.ts";
import { type Answer, RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

const yaml = `name: wire
nodes:
  r1: {template: frr}
  h1: {template: linux}
links:
  - ["r1:eth0", "h1:eth0"]
`;
const lab = "/wire";
const endpoints = ["r1:eth0", "h1:eth0"];

let served: Served;
let client: RawClient;

/** The real server and service over real TLS, on the memory host. */
beforeAll(async () => {
  served = await serve();
  client = await served.signIn("admin");
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

/** Every answer keeps to its row: envelope, request id, documented codes with their status, data of its schema. */
function expectContract(id: OperationId, answer: Answer): void {
  const row: OperationRow = operations[id];
  expect(answer.headers["x-request-id"]).toMatch(/^[\w-]+$/);
  if (answer.status === 200) {
    if (row.answer !== "data") return;
    expect(Object.keys(answer.json).sort()).toEqual(["data", "ok"]);
    expect(answer.json.ok).toBe(true);
    const schema: TSchema = dataSchemas[id];
    if (!Check(schema, answer.json.data))
      expect([...Errors(schema, answer.json.data)].map((each) => `${id}${each.instancePath} ${each.message}`)).toEqual([]);
    return;
  }
  const { ok, error, code } = answer.json as { ok: boolean; error: string; code: ErrorCode };
  expect([ok, typeof error]).toEqual([false, "string"]);
  expect([id, ...commonErrors, ...row.errors]).toContain(code);
  expect(answer.status).toBe(errors[code].status);
  expect(Object.keys(answer.json).every((key) => ["ok", "error", "code", "data"].includes(key))).toBe(true);
  if (answer.status === 401) expect(answer.headers["www-authenticate"]).toBe("Bearer");
}

async function post(id: OperationId, body: unknown): Promise<Answer> {
  const answer = await client.post(operations[id].path, body);
  expectContract(id, answer);
  return answer;
}

const outcome = ({ status, json }: Answer) => (status === 200 ? 200 : `${status} ${json.code}`);

describe("before a lab is there", () => {
  test("a failed login does not show which part was wrong", async () => {
    const wrong = [
      { username: "admin", password: "hunter2" },
      { username: "nobody", password: "admin" },
    ];
    const answers = await Promise.all(wrong.map((body) => client.post("/api/v1/login", body, { bearer: null })));
    for (const answer of answers) expectContract("login", answer);
    expect(answers.map(outcome)).toEqual(["401 invalid_credentials", "401 invalid_credentials"]);
    expect(answers[0]?.json.error).toBe(answers[1]?.json.error);
    expect(answers[0]?.text).not.toContain("hunter2");
  });

  test.each((Object.entries(operations) as [OperationId, OperationRow][]).filter(([, { auth }]) => auth !== "none"))(
    "%s refuses a stranger",
    async (id, { method, path }) => {
      const answer = await client.call(method, path.replace(/\{\w+\}/, "x"), {
        bearer: "never-issued",
        ...(method === "POST" && { body: "{}" }),
      });
      expect(outcome(answer)).toBe("401 unauthenticated");
      expectContract(id, answer);
    },
  );

  test.each<[OperationId, string, number | string]>([
    ["getHealth", "/api/v1/health", 200],
    ["getHealth", "/health", 200],
    ["getSession", "/api/v1/session", 200],
    ["getCapabilities", "/api/v1/capabilities", 200],
    ["listTemplates", "/api/v1/templates", 200],
    ["listTemplates", "/api/v1/templates?provisioned=true&other=1", 200],
    ["getTemplate", "/api/v1/templates/frr", 200],
    ["getTemplate", "/api/v1/templates/none", "404 template_not_found"],
    ["getTemplate", "/api/v1/templates/..%2F..%2Fetc%2Fpasswd", "404 template_not_found"],
    ["getTemplate", "/api/v1/templates/__proto__", "404 template_not_found"],
    ["listTemplateImages", "/api/v1/templates/frr/images", 200],
    ["listTemplateAttributes", "/api/v1/templates/frr/attributes", 200],
    ["listNetworkTypes", "/api/v1/network-types", 200],
    ["listIcons", "/api/v1/icons", 200],
    ["listLabs", "/api/v1/labs", 200],
    ["getOpenApi", "/api/v1/openapi.json", 200],
    ["getJob", "/api/v1/jobs/none", "404 job_not_found"],
  ])("%s answers %s with %s", async (id, path, expected) => {
    const answer = await client.get(path);
    expectContract(id, answer);
    expect(outcome(answer)).toBe(expected);
  });

  test.each([
    "/api/v1/../../etc/passwd",
    "/api/v1/%2e%2e/health",
    "/api/v1//health",
    "/api/v1/health/",
    "/API/V1/HEALTH",
    "/",
    "/api/v2/health",
  ])("%s is not a path", async (path) => {
    expect(outcome(await client.get(path))).toBe("404 not_found");
  });

  test.each<[OperationId, unknown, number | string]>([
    ["validateProject", { yaml }, 200],
    ["validateProject", { yaml: "name: [" }, "422 invalid_intent"],
    ["validateProject", { yaml, files: { "../../etc/passwd": "" } }, "400 bad_request"],
    ["validateProject", { yaml, files: { "/etc/passwd": "" } }, "400 bad_request"],
    ["previewInterfaces", { yaml }, 200],
    ["previewInterfaces", { template: "frr", eth_format: "eth{0}" }, 200],
    ["completeLinkInterfaces", { yaml, node: "r1", excludeUsed: true }, 200],
    ["planProject", { lab, yaml, direction: "auto" }, "400 invalid_direction"],
    ["planProject", { lab: "/../etc", yaml }, "400 bad_request"],
    ["planProject", {}, "400 bad_request"],
    ["reconcileProject", { lab, yaml, direction: "both" }, "400 invalid_direction"],
    ["execProject", { lab, action: "explode" }, "400 invalid_action"],
    ["execProject", { lab, action: "stop", stopmode: 4 }, "400 invalid_action"],
    ["destroyProject", { lab: "/nothing" }, "404 lab_not_found"],
    ["inspectProject", { lab: "/nothing" }, "404 lab_not_found"],
    ["execConsole", { lab: "/nothing", node: "r1", command: "x" }, "404 lab_not_found"],
  ])("%s of %j answers %s", async (id, body, expected) => {
    expect(outcome(await post(id, body))).toBe(expected);
  });
});

describe("a lab from plan to destroy", () => {
  test("plans, deploys, refuses a second deploy, converges", async () => {
    const plan = await post("planProject", { lab, yaml });
    expect(plan.json.data).toMatchObject({ exists: false, direction: "to_host", applicable: true });
    expect((await post("deployProject", { lab, yaml })).json.data).toMatchObject({ nodes: 2, links: 1 });
    expect(outcome(await post("deployProject", { lab, yaml }))).toBe("409 lab_exists");
    expect((await post("planProject", { lab, yaml, direction: "" })).json.data.operations).toEqual([]);
  });

  test("names the lab by its YAML as well as by its path", async () => {
    expect((await post("getProjectStatus", { yaml })).json.data).toMatchObject({ exists: true, live: { available: true } });
  });

  test.each<[OperationId, object, number | string]>([
    ["getProjectStatus", { lab }, 200],
    ["inspectProject", { lab, refresh: true }, 200],
    ["listProjectConsoles", { lab }, 200],
    ["execProject", { lab, action: "stop", node: "h1", stopmode: 0 }, 200],
    ["execProject", { lab, action: "start", node: "" }, 200],
    ["execProject", { lab, action: "start", node: "nobody" }, "404 node_not_found"],
    ["execConsole", { lab, node: "r1", command: "hello" }, 200],
    [
      "execConsoleMany",
      {
        lab,
        targets: [
          { node: "r1", command: "a" },
          { node: "none", command: "b" },
        ],
      },
      200,
    ],
    ["attachConsole", { lab, node: "r1" }, 200],
    ["reconcileProject", { lab, yaml }, 200],
    ["reconcileProject", { lab, direction: "from_host" }, 200],
    ["reconcileProject", { lab, yaml, confirm: true, plan_identity: "made up" }, "409 plan_stale"],
  ])("%s of %j answers %s", async (id, body, expected) => {
    expect(outcome(await post(id, body))).toBe(expected);
  });

  test.each<[OperationId, object]>([
    ["openProject", {}],
    ["importProject", {}],
    ["applyLinkQuality", { endpoints, a: { delay: 1 } }],
    ["setLinkSuspend", { endpoints, suspended: true }],
    ["startCapture", { node: "r1", interface: "eth0" }],
    ["getPublicProject", {}],
    ["editProject", { section: "description", value: "new" }],
    ["attachTraffic", {}],
    ["runConsole", { node: "r1", steps: [{ send: "hello\n", expect: "hello" }] }],
  ])("%s keeps to its row, and names the feature where the host has it not", async (id, body) => {
    const answer = await post(id, { lab, ...body });
    if (answer.json.code === "unsupported") expect(answer.json.data.feature).toEqual(expect.any(String));
  });

  test("the console stream takes its ticket once, from the session it was given to", async () => {
    const ticket = (await post("attachConsole", { lab, node: "r1" })).json.data.stream as string;
    expect(ticket).toMatch(/^[0-9a-f]{64}$/);
    const request = (token: string | null) =>
      `GET /api/v1/console/stream/${ticket} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`;
    const stream = await client.secure(request(client.token));
    await expect.poll(stream.heard).toMatch(/^HTTP\/1\.1 101 /);
    stream.socket.write("over the wire\r");
    await expect.poll(() => stream.heard().split("\r\n\r\n").slice(1).join("")).toContain("over the wire");
    const again = await client.secure(request(client.token));
    await again.ended();
    expect(again.heard()).toMatch(/^HTTP\/1\.1 403 .*"code":"browser_token_invalid"/s);
    stream.socket.destroy();
  });

  test("destroys, and the lab is gone", async () => {
    expect(outcome(await post("destroyProject", { lab }))).toBe(200);
    expect(outcome(await post("inspectProject", { lab }))).toBe("404 lab_not_found");
  });
});

test("a token that was logged out is unauthenticated at once", async () => {
  using other = new RawClient(served.url);
  const login = await other.post("/api/v1/login", { username: "admin", password: "admin-password" });
  expectContract("login", login);
  other.token = login.json.data.token;
  expect(outcome(await other.get("/api/v1/session"))).toBe(200);
  const logout = await other.post("/api/v1/logout", {});
  expectContract("logout", logout);
  expect(logout.status).toBe(200);
  expect(outcome(await other.get("/api/v1/session"))).toBe("401 unauthenticated");
  expect(outcome(await client.get("/api/v1/session"))).toBe(200);
});
