import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { type Bench, createBench, failureOf, users } from "../service.fixture.ts";
import { sqliteStore } from "../store/sqlite.ts";

const closers: (() => Promise<void> | void)[] = [];
function bench(...options: Parameters<typeof createBench>): Bench {
  const made = createBench(...options);
  closers.push(async () => {
    await made.service.close();
    await made.host.close();
  });
  return made;
}
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const hour = 3_600_000;
const day = 24 * hour;

function login(made: Bench, user: string, password: string, address = "10.0.0.1") {
  const request = { body: { username: user, password }, query: undefined, params: undefined };
  return made.service.handlers.login(request, null, {
    requestId: "test",
    signal: new AbortController().signal,
    address,
    respondAsync: false,
  });
}

test("a token is 32 random bytes, and only its hash is stored", async () => {
  const folder = mkdtempSync(join(tmpdir(), "service-store-"));
  closers.push(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "labwright.db");
  const made = bench({ store: sqliteStore(file) });
  const ann = await made.login();
  expect(ann.token).toMatch(/^[\w-]{43}$/);
  expect(Buffer.from(ann.token, "base64url").length).toBe(32);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const name of [file, `${file}-wal`]) {
    expect(readFileSync(name).includes(ann.token)).toBe(false);
    expect(statSync(name).mode & 0o077).toBe(0);
  }
  expect(made.log.join()).not.toContain(ann.token);
});

test("an idle or old session is expired, later unknown; a revoked one is unknown at once", async () => {
  const made = bench();
  const [ann, bob, eve] = [await made.login("ann"), await made.login("bob"), await made.login("eve")];
  const start = made.time.now;
  const codes = async () =>
    Promise.all([ann, bob].map(async ({ token }) => (await failureOf(() => made.service.authenticate(token))).code));
  await eve.get("logout");
  expect((await failureOf(() => made.service.authenticate(eve.token))).code).toBe("unauthenticated");
  made.time.now += 12 * hour - 1;
  expect(made.service.authenticate(ann.token).user).toBe("ann");
  made.time.now += 1;
  expect((await failureOf(() => made.service.authenticate(bob.token))).code).toBe("expired_agent_session");
  while (made.time.now < start + 7 * day - 11 * hour) {
    made.time.now += 11 * hour;
    expect(made.service.authenticate(ann.token).user).toBe("ann");
  }
  made.time.now = start + 7 * day;
  expect(await codes()).toEqual(["expired_agent_session", "expired_agent_session"]);
  made.time.now += 8 * day;
  expect(await codes()).toEqual(["unauthenticated", "unauthenticated"]);
  expect((await failureOf(() => made.service.authenticate(undefined))).code).toBe("unauthenticated");
  expect((await failureOf(() => made.service.authenticate("nonsense"))).code).toBe("unauthenticated");
});

test("wrong passwords are slowed down per user and address, and a right one afterwards counts", async () => {
  const made = bench();
  for (let tries = 0; tries < 5; tries += 1) {
    expect((await failureOf(login(made, "ann", "wrong"))).code).toBe("invalid_credentials");
  }
  const limited = await failureOf(login(made, "ann", "ann"));
  expect(limited).toMatchObject({ code: "rate_limited", retryAfter: 1 });
  expect((await login(made, "ann", "ann", "10.0.0.9")).username).toBe("ann");
  expect((await login(made, "bob", "bob")).username).toBe("bob");
  made.time.now += 1000;
  expect((await login(made, "ann", "ann")).username).toBe("ann");
  expect((await failureOf(login(made, "ann", "wrong"))).code).toBe("invalid_credentials");
});

test("a right password gets in after wrong ones for many other names from its address, and so do several at once", async () => {
  const made = bench();
  for (let tries = 0; tries < 20; tries += 1) {
    expect((await failureOf(login(made, `made-up-${tries}`, "wrong"))).code).toBe("invalid_credentials");
  }
  const all = await Promise.all(["ann", "ann", "bob"].map((user) => login(made, user, user)));
  expect(all.map(({ username }) => username)).toEqual(["ann", "ann", "bob"]);
});

test("a session survives a restart if the host resumes it, and otherwise needs a login", async () => {
  const made = bench();
  const ann = await made.login();
  const next = made.restart();
  const call = { requestId: "test", signal: new AbortController().signal, address: "", respondAsync: false };
  const caller = next.service.authenticate(ann.token);
  const request = { body: undefined, query: undefined, params: undefined };
  expect(await next.service.handlers.getSession(request, caller, call)).toEqual({ username: "ann", role: "user" });
  expect((await next.service.handlers.listIcons(request, caller, call)).icons).toBeDefined();

  const { resume: _resume, ...host } = memoryHost({ users });
  const other = bench({ host });
  const bob = await other.login("bob");
  const after = other.restart();
  const bobs = after.service.authenticate(bob.token);
  expect((await failureOf(after.service.handlers.listIcons(request, bobs, call))).code).toBe("expired_host_session");
  expect(await after.service.handlers.getSession(request, bobs, call)).toMatchObject({ username: "bob" });
});

test("a database of a newer program is refused", () => {
  const folder = mkdtempSync(join(tmpdir(), "service-store-"));
  closers.push(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "labwright.db");
  const db = new DatabaseSync(file);
  db.exec("PRAGMA user_version = 99");
  db.close();
  expect(() => sqliteStore(file)).toThrow("newer");
});
