import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { openUsers } from "../../src/hosts/local/accounts/users.ts";
import { eventually, type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "./raw-client.ts";
import { cookieIn, openSocket, type Served, serve, type TestSocket } from "./served.ts";

/** Open sessions when another process edits the accounts of the embedded host. */

let local: TestLocalHost;
let served: Served;
let admin: RawClient;
let ann: RawClient;

beforeAll(async () => {
  local = await testLocalHost();
  served = await serve({ host: local.host });
  admin = await served.signIn("admin", "test");
  const deployed = await admin.post("/api/v1/projects/deploy", { yaml: "name: kept\nnodes:\n  h1: {template: linux}\n" });
  expect(deployed.status).toBe(200);
  const live = async () => (await admin.post("/api/v1/projects/status", { lab: "/kept" })).json.data.live.nodes[0].status;
  await eventually("a running node", 60_000, live, (status) => status === "running");
});
afterAll(async () => {
  await local?.[Symbol.asyncDispose]();
  await served?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await openUsers(join(local.paths.state, "users.json")).put("ann", "ann-password", "user");
  await share(admin, { lab: "/kept", grants: [{ user: "ann", right: "operate" }] });
  ann = await served.signIn("ann");
});
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** `labwright users`, as an administrator runs it beside the service. */
async function usersCommand(words: readonly string[], password = ""): Promise<void> {
  const program = testedProgram("server/users");
  const child = spawn(process.execPath, [program, ...words], {
    env: { ...process.env, LABWRIGHT_STATE_DIR: local.paths.state },
    stdio: ["pipe", "ignore", "inherit"],
  });
  child.stdin.end(password);
  expect(await once(child, "close")).toEqual([0, null]);
}

/** An events stream and a console, with the session's token and with its cookie. */
async function openStreams(client: RawClient): Promise<{ readonly ended: () => boolean; readonly cookie: string }> {
  const events = await client.secure(`GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\n\r\n`);
  await expect.poll(events.heard).toContain("200 OK");
  let eventsEnded = false;
  void events.ended().then(() => {
    eventsEnded = true;
  });
  // The end of the answer, on a connection that may live on.
  const haveEnded = () => eventsEnded || events.heard().endsWith("\r\n0\r\n\r\n");
  const cookie = cookieIn(await client.post("/api/v1/browser/session", {})).header;
  const consoles: TestSocket[] = [];
  for (const headers of [{ Authorization: `Bearer ${client.token}` }, { Cookie: cookie, Origin: served.url }]) {
    const { stream } = (await client.post("/api/v1/console/attach", { lab: "/kept", node: "h1" })).json.data;
    const console = openSocket(served.url, `/api/v1/console/stream/${stream}`, headers);
    await expect.poll(() => console.socket.readyState).toBe(console.socket.OPEN);
    consoles.push(console);
  }
  closers.push(() => {
    events.socket.destroy();
    for (const { socket } of consoles) socket.terminate();
  });
  return { ended: () => haveEnded() && consoles.every(({ closed }) => closed() !== undefined), cookie };
}

async function share(owner: RawClient, grants: { readonly lab: string; readonly grants: readonly object[] }): Promise<void> {
  expect((await owner.call("PUT", "/api/v1/labs/grants", { body: JSON.stringify(grants) })).status).toBe(200);
}

const role = async (client: RawClient) => (await client.get("/api/v1/session")).json;
const byCookie = (cookie: string) =>
  ann.get("/api/v1/session", { bearer: null, headers: { Cookie: cookie, "Sec-Fetch-Site": "same-origin", "X-Labwright-Csrf": "1" } });

async function expectEnded(cookie: string, ended: () => boolean): Promise<void> {
  const answer = await ann.get("/api/v1/session");
  expect([answer.status, answer.json.code]).toEqual([401, "unauthenticated"]);
  const inBrowser = await byCookie(cookie);
  expect([inBrowser.status, inBrowser.json.code]).toEqual([401, "unauthenticated"]);
  await expect.poll(ended).toBe(true);
}

test("who was removed is not known any more with the next request, and a new account of that name gives nothing back", async () => {
  const { ended, cookie } = await openStreams(ann);
  expect((await byCookie(cookie)).status).toBe(200);
  const others = await openStreams(admin);
  await usersCommand(["remove", "ann"]);
  await expectEnded(cookie, ended);
  await usersCommand(["add", "ann", "--password-stdin"], "ann-password");
  expect((await ann.get("/api/v1/session")).status).toBe(401);
  expect((await byCookie(cookie)).status).toBe(401);
  expect((await role(await served.signIn("ann"))).data).toMatchObject({ username: "ann", role: "user" });
  expect(others.ended()).toBe(false);
});

test("a new password ends sessions, also in browsers and also where it is the old one again", async () => {
  for (const password of ["another-password", "ann-password"]) {
    const { ended, cookie } = await openStreams(ann);
    await usersCommand(["passwd", "ann", "--password-stdin"], password);
    await expectEnded(cookie, ended);
    ann = await served.signIn("ann", password);
  }
});

test("streams of who was removed end when no request is made at all", async () => {
  const { ended } = await openStreams(ann);
  await usersCommand(["remove", "ann"]);
  await expect.poll(ended).toBe(true);
});

test("a new role counts from the next request on, and streams opened with the old one end", async () => {
  const deploy = async () =>
    ann.post("/api/v1/projects/deploy", { yaml: "name: own\nnodes:\n  h1: {template: linux, start: false}\n", replace: true });
  expect((await deploy()).status).toBe(200);
  expect((await ann.get("/metrics")).status).toBe(403);
  const { ended, cookie } = await openStreams(ann);
  await usersCommand(["role", "ann", "viewer"]);
  const refused = await deploy();
  expect([refused.status, refused.json.code]).toEqual([403, "operation_not_allowed"]);
  expect((await role(ann)).data.role).toBe("viewer");
  expect((await byCookie(cookie)).json.data.role).toBe("viewer");
  await expect.poll(ended).toBe(true);
  expect((await ann.post("/api/v1/console/attach", { lab: "/kept", node: "h1" })).json.code).toBe("operation_not_allowed");
  // Of the host's own session too: it shows a viewer all labs, and a user the own ones.
  const labs = async () => (await ann.get("/api/v1/labs")).json.data.labs.map(({ lab }: { lab: string }) => lab);
  expect((await ann.get("/metrics")).status).toBe(200);
  await usersCommand(["role", "ann", "user"]);
  expect((await ann.get("/metrics")).status).toBe(403);
  expect((await deploy()).status).toBe(200);
  expect(await labs()).toEqual(["/kept", "/own"]);
  await share(admin, { lab: "/kept", grants: [] });
  expect(await labs()).toEqual(["/own"]);
});

test("a ticket that was given before is worth nothing after", async () => {
  const { stream } = (await ann.post("/api/v1/console/attach", { lab: "/kept", node: "h1" })).json.data;
  await usersCommand(["role", "ann", "viewer"]);
  const console = openSocket(served.url, `/api/v1/console/stream/${stream}`, { Authorization: `Bearer ${ann.token}` });
  await expect.poll(console.refused).toMatchObject({ status: 403 });
});

test("a lab that is shared is used with the role that its owner has now", async () => {
  await usersCommand(["add", "bob", "--role", "user", "--password-stdin"], "bob-password");
  const bob = await served.signIn("bob");
  await bob.post("/api/v1/projects/deploy", { yaml: "name: bobs\nnodes:\n  h1: {template: linux, start: false}\n" });
  const toNobody = { lab: "/bobs", grants: [{ user: "carol", right: "view" }] };
  const refused = await bob.call("PUT", "/api/v1/labs/grants", { body: JSON.stringify(toNobody) });
  expect([refused.status, refused.json.error]).toEqual([400, expect.stringContaining('there is no user "carol" on the host')]);
  await share(bob, { lab: "/bobs", grants: [{ user: "ann", right: "edit" }] });
  const power = (action: string) => ann.post("/api/v1/projects/exec", { lab: "/bobs", action, stopmode: 1 });
  expect((await power("start")).status).toBe(200);
  await usersCommand(["role", "bob", "viewer"]);
  expect((await power("stop")).json).toMatchObject({ ok: false, code: "operation_not_allowed" });
  await usersCommand(["role", "bob", "user"]);
  expect((await power("stop")).json).toMatchObject({ ok: true, data: { stopped: 1 } });
});

test("while the accounts cannot be read nobody is let in, and sessions go on when they can", async () => {
  const file = join(local.paths.state, "users.json");
  const { ended } = await openStreams(ann);
  const text = await readFile(file, "utf8");
  await writeFile(file, "{");
  try {
    const refused = await ann.get("/api/v1/session");
    expect(refused.json.code).toBe("host_error");
    expect(refused.text).not.toContain(local.paths.state);
    await expect.poll(() => served.log.join("")).toContain("accounts cannot be read");
  } finally {
    await writeFile(file, text);
  }
  expect((await ann.get("/api/v1/session")).status).toBe(200);
  expect(ended()).toBe(false);
});
