import { createHash } from "node:crypto";
import type { Duplex } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { testServer, upgradeRequest } from "../server.fixture.ts";

const on = testServer();
afterEach(() => {
  on.audited.length = 0;
});

test("a change is recorded when it begins and before its answer arrives, with its caller, lab, job and outcome; a read is not", async () => {
  on.replies = {
    deployProject: async ({ body }, _caller, call) => {
      call.onLab?.((body as { readonly lab: string }).lab);
      await call.started?.("job-1");
      if ((body as { readonly lab: string }).lab === "/busy") throw new Failure("lab_busy", "busy");
      return { status: "ok" };
    },
    planProject: () => ({ status: "ok" }),
  };
  const { headers } = await on.client.post("/api/v1/projects/deploy", { lab: "/ring", yaml: "name: secret", prune: true });
  await on.client.post("/api/v1/projects/plan", { lab: "/ring" });
  await on.client.post("/api/v1/projects/deploy", { lab: "/busy" });
  const common = { operation: "deployProject", user: "ann", role: "user", session: "s1", address: "127.0.0.1", job: "job-1" };
  const time = expect.stringMatching(/^\d{4}-.*Z$/);
  const [request, other] = [headers["x-request-id"], expect.any(String)];
  expect(on.audited).toEqual([
    { ...common, time, request, on: { lab: "/ring" }, phase: "begin" },
    { ...common, time, request, on: { lab: "/ring" }, status: 200 },
    { ...common, time, request: other, on: { lab: "/busy" }, phase: "begin" },
    { ...common, time, request: other, on: { lab: "/busy" }, status: 409, code: "lab_busy" },
  ]);
});

test("a login is recorded without its password, also a refused one; a call without a valid token is not", async () => {
  on.replies = {
    login: ({ body }) => {
      if ((body as { readonly password: string }).password === "right") return { token: "secret-token", username: "ann" };
      throw new Failure("invalid_credentials", "wrong user name or password");
    },
  };
  await on.client.post("/api/v1/login", { username: "ann", password: "right" }, { bearer: null });
  await on.client.post("/api/v1/login", { username: "x".repeat(300), password: "wrong-secret" }, { bearer: null });
  await on.client.post("/api/v1/projects/deploy", { lab: "/ring" }, { bearer: "bad" });
  expect(on.audited).toMatchObject([
    { operation: "login", user: "ann", session: createHash("sha256").update("secret-token").digest("hex").slice(0, 12), status: 200 },
    { operation: "login", user: `${"x".repeat(200)}…`, status: 401, code: "invalid_credentials" },
  ]);
  expect(on.audited).toHaveLength(2);
  expect(JSON.stringify(on.audited)).not.toMatch(/secret|right/);
});

test("grants and users are recorded, passwords and commands are not", async () => {
  on.replies = { setHostUser: () => ({ status: "ok" }), setLabGrants: () => ({ status: "ok" }), execConsole: () => ({ status: "ok" }) };
  const put = (path: string, body: unknown) => on.client.send({ method: "PUT", path }, body);
  await put("/api/v1/host/users", { user: "bob", add: true, password: "hidden-1", role: "user" });
  await put("/api/v1/labs/grants", { lab: "/ring", grants: [{ user: "bob", right: "view" }] });
  await on.client.post("/api/v1/console/exec", { lab: "/ring", node: "r1", command: "enable secret hidden-2" });
  expect(on.audited.map(({ operation, on }) => [operation, on])).toEqual([
    ["setHostUser", { user: "bob", role: "user" }],
    ["setLabGrants", { grants: [{ user: "bob", right: "view" }] }],
    ["execConsole", { node: "r1" }],
  ]);
  expect(JSON.stringify(on.audited)).not.toContain("hidden");
});

test("an opened console is recorded, without its ticket", async () => {
  on.replies = { streamConsole: () => ({ protocol: "host-telnet", attach: (connection: Duplex) => connection.end("bye") }) };
  const { heard, ended } = await on.client.secure(upgradeRequest("the-ticket"));
  await ended();
  expect(heard()).toContain("101 Switching Protocols");
  expect(on.audited).toMatchObject([{ operation: "streamConsole", user: "ann", status: 101 }]);
  expect(JSON.stringify(on.audited)).not.toContain("the-ticket");
});

test("a process in a node is recorded when its stream begins", async () => {
  on.replies = {
    execNodes: (_request, _caller, call) => {
      call.onLab?.("/ring");
      return (async function* () {
        yield { type: "end" };
      })();
    },
  };
  await on.client.post("/api/v1/nodes/exec", { node: "r1", argv: ["login", "hidden-3"] });
  expect(on.audited).toMatchObject([{ operation: "execNodes", user: "ann", on: { lab: "/ring", node: "r1" }, status: 200 }]);
  expect(JSON.stringify(on.audited)).not.toContain("hidden");
});

test("API tokens and loads of URLs are recorded with their id and address, without the secret parts", async () => {
  on.replies = {
    createToken: () => ({ id: "c3cf", name: "ci", token: "lw_secret" }),
    revokeToken: () => ({ tokens: [] }),
    importFile: () => ({ yaml: "" }),
  };
  await on.client.post("/api/v1/tokens", { name: "ci", scope: "read" });
  await on.client.post("/api/v1/tokens/revoke", { id: "c3cf" });
  await on.client.post("/api/v1/projects/import-file", { url: "https://labs.example/a.unl?key=secret#secret" });
  await on.client.post("/api/v1/projects/import-file", { url: "https://ann:secret@labs.example/b@2.unl" });
  await on.client.post("/api/v1/projects/import-file", { text: "name: a" });
  expect(on.audited.map(({ operation, on }) => [operation, on])).toEqual([
    ["createToken", { name: "ci", scope: "read", id: "c3cf" }],
    ["revokeToken", { id: "c3cf" }],
    ["importFile", { url: "https://labs.example/a.unl" }],
    ["importFile", { url: "https://labs.example/b@2.unl" }],
  ]);
  expect(JSON.stringify(on.audited)).not.toContain("secret");
});
