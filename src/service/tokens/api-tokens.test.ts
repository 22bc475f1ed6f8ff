import { afterEach, expect, test } from "vitest";
import { type OperationId, type OperationRow, operations } from "../../contract/operations.ts";
import { tokenScopes } from "../../contract/token-scopes.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { type Bench, createBench, failureOf, pair, until, users } from "../service.fixture.ts";

const benches: Bench[] = [];
function bench(options: Parameters<typeof createBench>[0] = {}): Bench {
  const made = createBench(options);
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

type Client = Awaited<ReturnType<Bench["login"]>>;

/** The client of a program that has a token. */
function withToken({ service }: Bench, token: string): Client {
  const call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };
  type Any = (request: unknown, caller: unknown, call: unknown) => never;
  const run = (id: string, request: object, options: object = {}) =>
    (service.handlers[id as "login"] as unknown as Any)(request, service.authenticate(token), { ...call, ...options });
  return {
    token,
    caller: service.authenticate(token),
    call: (id, body, options) => run(id, { body, query: {}, params: {} }, options),
    get: (id, params = {}, query = {}) => run(id, { body: undefined, query, params }),
  };
}

const hour = 3_600_000;

test("a token acts as its user within its scope, longer than a session, and survives a restart of the service", async () => {
  const made = bench();
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  const create = async (scope: "read" | "operate" | "labs") =>
    withToken(made, (await ann.call("createToken", { name: scope, scope })).token);
  const [read, operate, labs] = [await create("read"), await create("operate"), await create("labs")];
  made.time.now += 29 * 24 * hour;
  const refused = async (work: Promise<unknown>) => (await failureOf(work)).message;
  expect(await read.call("getProjectStatus", { lab: "/pair" })).toMatchObject({ exists: true, right: "view" });
  expect(await refused(read.call("execProject", { lab: "/pair", action: "stop" }))).toMatch(
    /has the scope read: execProject needs the scope operate/,
  );
  expect(await refused(read.call("deployProject", { yaml: pair.replace("name: pair", "name: new") }))).toMatch(
    /deployProject needs the scope deploy/,
  );
  await operate.call("execProject", { lab: "/pair", action: "stop" });
  expect(await refused(operate.call("destroyProject", { lab: "/pair" }))).toMatch(/needs the scope deploy/);
  expect(await refused(operate.call("setLabGrants", { lab: "/pair", grants: [] }))).toMatch(/needs the scope labs/);
  const { jobs } = await labs.get("listJobs");
  expect(await refused(operate.get("removeDisks", { id: "x" }))).toMatch(/needs the scope labs/);
  expect(await refused(operate.get("cancelJob", { id: jobs[0]!.job }))).toMatch(/needs the scope deploy/);
  // The lab of another user stays hidden from all of them.
  const bob = await made.login("bob");
  await bob.call("deployProject", { yaml: pair.replace("name: pair", "name: bobs") });
  for (const one of [read, operate, labs]) {
    expect((await failureOf(one.call("getProjectStatus", { lab: "/bobs" }))).code).toBe("lab_not_found");
    expect((await one.get("listLabs")).labs.map(({ lab }) => lab)).toEqual(["/pair"]);
  }
  const next = made.restart();
  await withToken({ ...made, service: next.service }, labs.token).call("destroyProject", { lab: "/pair" });
  made.time.now += 24 * hour;
  expect((await failureOf(() => made.service.authenticate(labs.token))).code).toBe("expired_agent_session");
});

test("a token of an admin has an admin's power with the scope admin only, and an ordinary user cannot make one", async () => {
  const made = bench();
  const [admin, ann] = [await made.login("admin"), await made.login()];
  await ann.call("deployProject", { yaml: pair });
  const labs = withToken(made, (await admin.call("createToken", { name: "ci" })).token);
  expect((await failureOf(labs.call("destroyProject", { lab: "/pair" }))).code).toBe("lab_not_found");
  expect(await labs.get("getSession")).toEqual({ username: "admin", role: "user" });
  await labs.call("deployProject", { yaml: pair.replace("name: pair", "name: own") });
  expect((await failureOf(ann.call("createToken", { name: "x", scope: "admin" }))).message).toMatch(/only an admin/);
  const all = withToken(made, (await admin.call("createToken", { name: "all", scope: "admin" })).token);
  await all.call("destroyProject", { lab: "/pair" });
});

test("a token cannot manage tokens, is in no log and no list, and ends with its revocation, by its user or an admin", async () => {
  const made = bench();
  const [admin, ann, bob] = [await made.login("admin"), await made.login(), await made.login("bob")];
  const { token, id } = await ann.call("createToken", { name: "ci", lifetime: 60 });
  expect(token).toMatch(/^lw_[\w-]{43}$/);
  const program = withToken(made, token);
  const { cookie } = (await made.service.handlers.createBrowserSession({ body: {} } as never, program.caller, {} as never)) as {
    cookie: string;
  };
  expect(made.service.authenticateBrowser(cookie)).toMatchObject({ user: "ann", limit: "own" });
  for (const attempt of [program.call("createToken", { name: "y" }), program.get("listTokens"), program.call("revokeToken", { id })]) {
    expect((await failureOf(attempt)).message).toMatch(/cannot manage tokens/);
  }
  const listed = await ann.get("listTokens");
  expect(listed.tokens).toMatchObject([{ id, user: "ann", name: "ci", scope: "labs" }]);
  expect((await bob.get("listTokens")).tokens).toEqual([]);
  expect((await admin.get("listTokens")).tokens).toEqual(listed.tokens);
  expect(JSON.stringify([listed, made.log, made.store.sessions.tokens()])).not.toContain(token.slice(3));
  expect((await failureOf(bob.call("revokeToken", { id }))).code).toBe("bad_request");
  expect(await admin.call("revokeToken", { id })).toEqual({ tokens: [] });
  expect((await failureOf(() => made.service.authenticate(token))).code).toBe("unauthenticated");
  expect((await failureOf(() => made.service.authenticateBrowser(cookie))).code).toBe("unauthenticated");
});

const ids = (Object.keys(operations) as OperationId[]).filter((id) => id !== "getOpenApi");

test("an API token may call an operation only if its scope includes that of the table: each operation, with each scope", async () => {
  const made = bench();
  const admin = await made.login("admin");
  const wrong: string[] = [];
  for (const scope of tokenScopes) {
    for (const id of ids) {
      const { auth, token: least }: OperationRow = operations[id];
      if (auth === "none") {
        if (least !== undefined) wrong.push(`${id} needs no token`);
        continue;
      }
      if (least === undefined) wrong.push(`${id} has no scope`);
      const { token } = await admin.call("createToken", { name: id, scope });
      const mayCall = least !== "never" && tokenScopes.indexOf(scope) >= tokenScopes.indexOf(least!);
      // Without a request, an operation that the scope includes fails or answers in its own way.
      const { call } = withToken(made, token);
      const refused = await Promise.resolve()
        .then(() => call(id as "getSession"))
        .then(
          () => false,
          (error: unknown) => /needs the scope|cannot manage tokens/.test((error as Error).message),
        );
      if (refused === mayCall) wrong.push(`${id} with ${scope}: ${refused ? "refused" : "allowed"}`);
      for (const one of (await admin.get("listTokens")).tokens) await admin.call("revokeToken", { id: one.id });
    }
  }
  expect(wrong).toEqual([]);
});

test("a token for some labs reaches no other lab, existing or new, in no call, list or event, also with the scope admin", async () => {
  const made = bench();
  const [admin, ann] = [await made.login("admin"), await made.login()];
  const named = (name: string) => pair.replace("name: pair", `name: ${name}`);
  for (const name of ["ci-1", "prod"]) await ann.call("deployProject", { yaml: named(name) });
  const { token, labs } = await ann.call("createToken", { name: "ci", scope: "deploy", labs: ["ci-*", "/courses/**"] });
  expect(labs).toEqual(["/ci-*", "/courses/**"]);
  const ci = withToken(made, token);
  const outOfReach = /is for the labs \/ci-\*, \/courses\/\*\*, not for/;
  expect((await ci.get("listLabs")).labs.map(({ lab }) => lab)).toEqual(["/ci-1"]);
  for (const lab of ["/prod", "/absent"]) {
    for (const id of ["getProjectStatus", "destroyProject", "planProject", "getPublicProject", "listHistory"] as const) {
      const failure = await failureOf(ci.call(id, { lab }));
      expect([id, failure.code, failure.message]).toEqual([id, "operation_not_allowed", expect.stringMatching(outOfReach)]);
    }
    expect((await failureOf(ci.get("getLabGrants", {}, { lab }))).message).toMatch(outOfReach);
    expect((await failureOf(ci.get("events", {}, { lab }))).message).toMatch(outOfReach);
  }
  expect((await failureOf(ci.call("deployProject", { yaml: named("other") }))).message).toMatch(outOfReach);
  expect((await failureOf(ci.call("importProject", { lab: "/ci-1", manifest: "version: 1\nmode: import\nlab: /copy\n" }))).message).toMatch(
    outOfReach,
  );
  await ci.call("importProject", { lab: "/ci-1", manifest: "version: 1\nmode: import\nlab: /courses/a/b\n" });
  const { jobs } = await ci.get("listJobs");
  expect(new Set(jobs.map(({ lab }) => lab))).toEqual(new Set(["/ci-1", "/courses/a/b"]));
  const prod = (await ann.get("listJobs")).jobs.find(({ lab }) => lab === "/prod");
  expect((await failureOf(ci.get("getJob", { id: prod!.job }))).code).toBe("job_not_found");
  // Its browser session has the same limits.
  const { cookie } = (await made.service.handlers.createBrowserSession({ body: {} } as never, ci.caller, {} as never)) as {
    cookie: string;
  };
  expect(made.service.authenticateBrowser(cookie)).toMatchObject({ limit: "own", apiToken: { labs } });

  const all = withToken(made, (await admin.call("createToken", { name: "ci", scope: "admin", labs: ["/ci-*"] })).token);
  await all.call("execProject", { lab: "/ci-1", action: "stop" });
  expect((await failureOf(all.call("destroyProject", { lab: "/prod" }))).message).toMatch(/not for \/prod/);
  for (const id of ["listHostUsers", "listQuarantine", "getMetrics"] as const) {
    expect((await failureOf(all.get(id))).message).toMatch(/needs a token for all labs/);
  }
  expect((await failureOf(all.call("adoptLab", { lab: "/prod" }))).message).toMatch(/not for \/prod/);
  expect((await failureOf(ann.call("createToken", { name: "x", labs: ["/a/../b"] }))).code).toBe("bad_request");
});

test("an event stream of a token for some labs has the events of these only", async () => {
  const made = bench();
  const ann = await made.login();
  const { token } = await ann.call("createToken", { name: "ci", scope: "read", labs: ["/ci-*"] });
  const end = new AbortController();
  const handle = made.service.handlers.events as unknown as (...args: readonly unknown[]) => Promise<AsyncIterable<{ lab?: string }>>;
  const events = await handle({ query: { types: "lab" } }, made.service.authenticate(token), { signal: end.signal });
  for (const name of ["prod", "ci-1"]) await ann.call("deployProject", { yaml: pair.replace("name: pair", `name: ${name}`) });
  for await (const { lab } of events) {
    if (lab === undefined) continue;
    expect(lab).toBe("/ci-1");
    break;
  }
  end.abort();
});

test("a token does not get the answer of another call by its Idempotency-Key", async () => {
  const made = bench();
  const ann = await made.login();
  const body = { yaml: pair };
  const options = { idempotencyKey: "once" };
  await ann.call("deployProject", body, options);
  const { token } = await ann.call("createToken", { name: "ci", scope: "deploy", labs: ["/ci-*"] });
  expect((await failureOf(withToken(made, token).call("deployProject", body, options))).message).toMatch(/used for another request/);
});

test("a change of an admin's token without the scope admin is finished after a crash without the rights of an admin", async () => {
  const asked: unknown[] = [];
  let isDead = false;
  const memory = memoryHost({
    users,
    beforeStep: () => {
      if (asked.length > 0) return undefined;
      isDead = true;
      return new Promise<void>(() => {});
    },
  });
  const host = {
    ...memory,
    resume: (user: string, limit?: "user") => {
      if (isDead) asked.push([user, limit]);
      return memory.resume!(user, limit);
    },
  };
  const made = bench({ host });
  const admin = await made.login("admin");
  const { token } = await admin.call("createToken", { name: "ci", scope: "deploy" });
  withToken(made, token)
    .call("deployProject", { yaml: pair })
    .catch(() => {});
  await until(() => isDead);
  const next = made.restart();
  await next.service.recover();
  expect(asked[0]).toEqual(["admin", "user"]);
  expect(await next.store.jobs.lastOf("/pair")).toMatchObject({ status: "done", outcome: "finished_after_restart" });
});

test("unknown API tokens of one address are refused for a while, valid ones never", async () => {
  const made = bench();
  const ann = await made.login();
  const { token } = await ann.call("createToken", { name: "ci" });
  const guess = async (address = "10.0.0.1") => failureOf(() => made.service.authenticate("lw_guess", address));
  for (let tries = 0; tries < 20; tries += 1) expect((await guess()).code).toBe("unauthenticated");
  const refused = await guess();
  expect([refused.code, refused.retryAfter]).toEqual(["rate_limited", 60]);
  expect(made.service.authenticate(token, "10.0.0.1").user).toBe("ann");
  expect((await guess("10.0.0.2")).code).toBe("unauthenticated");
  // Sessions that have ended are not guesses, and logins are not slower.
  expect((await failureOf(() => made.service.authenticate("stale", "10.0.0.1"))).code).toBe("unauthenticated");
  made.time.now += 60_000 * 2;
  expect((await guess()).code).toBe("unauthenticated");
});
