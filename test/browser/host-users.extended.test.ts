import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** Admins manage the accounts of the embedded host, with the API and on the page of the host. */

let local: TestLocalHost;
let browser: TestBrowser;
let served: Served;
let admin: RawClient;

beforeAll(async () => {
  [browser, local] = await Promise.all([testBrowser(), testLocalHost()]);
  served = await servePages({ host: local.host });
  admin = await served.signIn("admin", "test");
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const set = (client: RawClient, body: object) => client.send({ method: "PUT", path: "/api/v1/host/users" }, body);

test("an admin adds a user, whose sessions end with a new password and with the removal; others change nobody", async () => {
  const password = "first-password";
  const added = await set(admin, { user: "zoe", password, add: true });
  expect([added.status, added.json.data.users]).toEqual([200, expect.arrayContaining([{ user: "zoe", role: "user" }])]);
  expect((await set(admin, { user: "zoe", password, add: true })).json.error).toContain("exists already");
  expect((await set(admin, { user: "yan", password: "short", add: true })).json.code).toBe("bad_request");
  const zoe = await served.signIn("zoe", password);
  expect((await set(zoe, { user: "zoe", role: "admin" })).json.code).toBe("operation_not_allowed");
  expect((await zoe.post("/api/v1/host/users/remove", { user: "admin" })).json.code).toBe("operation_not_allowed");
  expect((await set(admin, { user: "zoe", role: "viewer" })).status).toBe(200);
  expect((await zoe.get("/api/v1/session")).json.data).toMatchObject({ username: "zoe", role: "viewer" });
  expect((await set(admin, { user: "zoe", password: "second-password" })).status).toBe(200);
  expect((await zoe.get("/api/v1/session")).status).toBe(401);
  expect((await set(admin, { user: "admin", role: "user" })).json.error).toContain("last admin");
  expect((await admin.post("/api/v1/host/users/remove", { user: "admin" })).json.code).toBe("bad_request");
  const removed = await admin.post("/api/v1/host/users/remove", { user: "zoe" });
  expect(JSON.stringify(removed.json.data.users)).not.toContain("zoe");
  expect((await admin.post("/api/v1/host/users/remove", { user: "zoe" })).json.error).toContain("there is no user");
});

test("the page of the host shows quotas with what is used of them; an admin without quotas is told how to set one", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "admin", "test");
  await page.getByRole("link", { name: "Host", exact: true }).click();
  await page.getByText("No quotas.").waitFor();
  expect((await set(admin, { user: "ann", password: "a long password", add: true })).status).toBe(200);
  const quota = await admin.send({ method: "PUT", path: "/api/v1/quotas" }, { kind: "user", name: "ann", labs: 0, nodes: 40 });
  expect(quota.status).toBe(200);
  await page.reload();
  const row = page.getByRole("row", { name: /^user ann/ });
  await expect.poll(() => row.innerText()).toMatch(/user ann\s+0 of 0\s+0 of 40\s+–\s+–\s+reached/);
  expect(await violationsOf(page)).toEqual([]);
  // The user sees it below the list of labs.
  await using other = await browser.open();
  await signIn(other.page, served.url, "ann", "a long password");
  await other.page.getByRole("heading", { name: "Your quota" }).waitFor();
  await expect.poll(() => other.page.getByRole("row", { name: /^user ann/ }).innerText()).toMatch(/0 of 0\s+0 of 40\s+–\s+–\s+reached/);
  expect(await violationsOf(other.page)).toEqual([]);
  await admin.send({ method: "PUT", path: "/api/v1/quotas" }, { kind: "user", name: "ann", remove: true });
  expect((await admin.post("/api/v1/host/users/remove", { user: "ann" })).status).toBe(200);
});

test("the page of the host adds a user, changes the role and removes the user, and lists jobs", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "admin", "test");
  await page.getByRole("link", { name: "Host", exact: true }).click();
  await page.getByLabel("Name of the new user").fill("kim");
  await page.getByLabel("Password of the new user").fill("a long password");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const row = page.getByRole("row", { name: /^kim/ });
  await row.getByRole("combobox", { name: "Role of kim" }).selectOption("viewer");
  await expect.poll(async () => JSON.stringify((await admin.get("/api/v1/host/users")).json.data.users)).toContain('"kim","role":"viewer"');
  await page.getByText("No changes among the newest hundred jobs").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await row.getByRole("button", { name: /New password/ }).click();
  const dialog = page.getByRole("dialog", { name: "New password of kim" });
  await dialog.getByLabel("New password").fill("another password");
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Set" }).click();
  // The request runs when the dialog has closed.
  const login = { username: "kim", password: "another password" };
  await expect.poll(async () => (await admin.post("/api/v1/login", login)).status).toBe(200);
  await row.getByRole("button", { name: /Remove/ }).click();
  await page.getByRole("dialog", { name: "Remove kim?" }).getByRole("button", { name: "Remove" }).click();
  await row.waitFor({ state: "detached" });
});
