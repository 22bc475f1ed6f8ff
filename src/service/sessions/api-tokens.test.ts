import { afterEach, expect, test } from "vitest";
import { type Bench, createBench, failureOf, pair } from "../service.fixture.ts";

const benches: Bench[] = [];
function bench(): Bench {
  const made = createBench();
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
  const run = (id: string, request: object) =>
    (service.handlers[id as "login"] as unknown as Any)(request, service.authenticate(token), call);
  return {
    token,
    caller: service.authenticate(token),
    call: (id, body) => run(id, { body, query: {}, params: {} }),
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
  expect(await refused(read.call("execProject", { lab: "/pair", action: "stop" }))).toMatch(/this API token allows to view labs/);
  expect(await refused(read.call("deployProject", { yaml: pair.replace("name: pair", "name: new") }))).toMatch(/allows to view labs/);
  await operate.call("execProject", { lab: "/pair", action: "stop" });
  expect(await refused(operate.call("destroyProject", { lab: "/pair" }))).toMatch(/allows to operate labs/);
  expect(await refused(operate.call("setLabGrants", { lab: "/pair", grants: [] }))).toMatch(/allows to operate labs/);
  const { jobs } = await labs.get("listJobs");
  expect(await refused(operate.get("removeDisks", { id: "x" }))).toMatch(/needs the scope labs/);
  expect(await refused(operate.get("cancelJob", { id: jobs[0]!.job }))).toMatch(/needs the scope labs/);
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
