import { afterAll, beforeAll, expect, test } from "vitest";
import type { Served } from "../wire/served.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** The pages in a real browser, against the real service. */

let browser: TestBrowser;
let served: Served;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const yaml = (name: string) => `name: ${name}\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\nlinks:\n  - ["r1:eth0", "r2:eth0"]\n`;

test("a user signs in, deploys a lab from YAML, opens the panel of a node, and signs out", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.getByRole("heading", { name: "No labs yet" }).waitFor();
  await page.getByRole("link", { name: "Create a lab" }).click();
  await page.getByLabel("The lab as YAML").fill(yaml("seen"));
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("No problems found.").waitFor();
  await page.getByRole("button", { name: "Deploy" }).click();
  await page.getByRole("heading", { name: "seen" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/ui/labs/seen");
  await page.getByRole("button", { name: /^r1, router, (running|starting)$/ }).click();
  const panel = page.getByRole("complementary", { name: "Node r1" });
  await panel.getByRole("rowheader", { name: "eth0" }).waitFor();
  expect(await panel.getByText("r2:eth0").count()).toBe(1);
  await page.getByRole("link", { name: "Labs" }).click();
  await page.getByRole("rowheader", { name: /^seen/ }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Password").waitFor();
  expect((await page.context().cookies()).map(({ name }) => name)).toEqual([]);
});

test("New lab shows a refusal beside the pressed button, and runs an example with a free name", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  tab.allowComplaint(/409/);
  const ann = await served.signIn("ann");
  for (const name of ["taken", "ospf-triangle"]) expect((await ann.post("/api/v1/projects/deploy", { yaml: yaml(name) })).status).toBe(200);
  await signIn(page, served.url, "ann");
  await page.getByRole("link", { name: "New lab" }).first().click();
  const name = page.getByLabel("Name of the new lab");
  await name.fill("two hosts");
  await page.getByText("A name may not contain spaces").waitFor();
  await name.fill("taken");
  await page.getByRole("button", { name: "Draw it" }).click();
  const alert = page.getByRole("alert");
  await alert.getByText(/taken exists/).waitFor();
  const [at, button] = [await alert.boundingBox(), await page.getByRole("button", { name: "Draw it" }).boundingBox()];
  expect(at!.y - button!.y).toBeLessThan(200);
  await page.getByRole("button", { name: "Run ospf-triangle" }).click();
  await alert.getByText(/ospf-triangle exists/).waitFor();
  const seen = await alert.boundingBox();
  expect(seen!.y + seen!.height).toBeLessThanOrEqual(page.viewportSize()!.height);
  await page.getByRole("button", { name: "Run as ospf-triangle-2" }).click();
  await page.getByRole("heading", { name: "ospf-triangle-2" }).waitFor();
});

test("a user stays signed in over a reload, until the session ends elsewhere", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "ann");
  await page.reload();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  await page.evaluate(
    `fetch("/api/v1/logout", {method: "POST", headers: {"X-Labwright-Csrf": "1", "Content-Type": "application/json"}, body: "{}"})`,
  );
  await page.reload();
  await page.getByLabel("Password").waitFor();
  await tab.expectComplaint(/401/);
  // From now on the page sends no request for a session.
  await page.reload();
  await page.getByLabel("Password").waitFor();
});

test("a user stays signed in over a reload on a computer whose clock is wrong", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "ann");
  await page.clock.setSystemTime(Date.now() + 20 * 24 * 3_600_000);
  await page.reload();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
});

test("an open page of a lab signs out when the session ends elsewhere, and shows marks of direction in its text", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  const ann = await served.signIn("ann");
  const deployed = await ann.post("/api/v1/projects/deploy", { yaml: `${yaml("turned")}description: "\u202Etxt.exe"\n` });
  expect(deployed.json.ok, deployed.text).toBe(true);
  await signIn(page, served.url, "ann");
  await page.goto(`${served.url}/ui/labs/turned`);
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.locator(".cm-specialChar").first().waitFor();
  await page.evaluate(
    `fetch("/api/v1/logout", {method: "POST", headers: {"X-Labwright-Csrf": "1", "Content-Type": "application/json"}, body: "{}"})`,
  );
  await page.getByLabel("Password").waitFor();
  expect(await page.getByText("No connection to the service").count()).toBe(0);
  await tab.expectComplaint(/401/);
  // Another user of the tab does not get what the first one typed.
  await page.evaluate(
    `sessionStorage.setItem("labwright-draft:/turned", '{"mine":{"yaml":"secret","files":{}},"base":{"yaml":"","files":{}}}')`,
  );
  await signIn(page, served.url, "bob");
  expect(await page.evaluate(`sessionStorage.getItem("labwright-draft:/turned")`)).toBeNull();
  await ann.post("/api/v1/projects/destroy", { lab: "/turned" });
});

test("a link of another user asks before it replaces the session of a browser", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  const bob = await served.signIn("bob");
  await bob.post("/api/v1/projects/deploy", { yaml: yaml("bobs") });
  const link = async () => (await bob.post("/api/v1/projects/open", { lab: "/bobs" })).json.data.url as string;
  const open = async () => {
    // Leaves the page first: a link that differs only in its fragment would not reload an open page.
    await page.goto("about:blank");
    await page.goto(await link());
    await page.getByRole("heading", { name: "Sign in as bob?" }).waitFor();
    expect(page.url()).not.toContain("ticket");
  };
  tab.allowComplaint(/409/);
  tab.allowComplaint(/404/);
  await signIn(page, served.url, "ann");
  await open();
  await page.getByText("You are signed in as ann.").waitFor();
  await page.getByRole("button", { name: "Stay signed in as ann" }).click();
  await page.getByText("ann (user)").waitFor();
  await page.reload();
  await page.getByText("ann (user)").waitFor();
  await open();
  await page.getByRole("button", { name: "Sign in as bob" }).click();
  await page.getByText("bob (user)").waitFor();
  await page.getByRole("heading", { name: "bobs" }).waitFor();
});

test("a link of the same user opens its page without a question, and so does one in a new browser", async () => {
  const ann = await served.signIn("ann");
  await ann.post("/api/v1/projects/deploy", { yaml: yaml("anns") });
  await using tab = await browser.open();
  for (const _time of ["new browser", "signed in"]) {
    await tab.page.goto("about:blank");
    await tab.page.goto((await ann.post("/api/v1/projects/open", { lab: "/anns" })).json.data.url);
    await tab.page.getByText("ann (user)").waitFor();
    await tab.page.getByRole("heading", { name: "anns" }).waitFor();
  }
});

test("violations of the policy and uncaught exceptions are complaints", async () => {
  await using tab = await browser.open();
  await tab.page.goto(`${served.url}/ui/`);
  await tab.page.getByLabel("Password").waitFor();
  await tab.page.evaluate(`document.head.append(Object.assign(document.createElement("style"), { textContent: "p { color: red }" }))`);
  await tab.page.evaluate(`void setTimeout(() => { throw new Error("uncaught"); })`);
  await expect.poll(() => tab.complaints).toHaveLength(2);
  await tab.expectComplaint(/Content Security Policy/);
  await tab.expectComplaint(/exception: uncaught/);
});

test("a hidden tab closes its event stream, and catches up when it is visible again", async () => {
  const client = await served.signIn("ann");
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("hidden") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "ann");
  const listening = page.waitForRequest(/\/events\?lab=%2Fhidden&/);
  await page.goto(`${served.url}/ui/labs/hidden`);
  await page.getByRole("button", { name: /^r1, / }).waitFor();
  const stream = await listening;
  const ended = page.waitForEvent("requestfailed", (request) => request === stream);
  const setHidden = (hidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, "hidden", { configurable: true, get: () => ${hidden} }); document.dispatchEvent(new Event("visibilitychange"))`,
    );
  await setHidden(true);
  await ended;
  const more = yaml("hidden").replace("links:", "  r3: {template: frr}\nlinks:");
  expect((await client.post("/api/v1/projects/reconcile", { yaml: more })).json.data.status).toBe("applied");
  const again = page.waitForRequest(/\/events\?lab=%2Fhidden&/);
  await setHidden(false);
  await again;
  await page.getByRole("button", { name: /^r3, / }).waitFor();
});

test("the page of a lab that does not exist shows that, and asks for its events once", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  tab.allowComplaint(/404/);
  await signIn(page, served.url);
  await page.clock.install();
  let streams = 0;
  page.on("request", (request) => {
    if (/\/events\?lab=/.test(request.url())) streams++;
  });
  await page.goto(`${served.url}/ui/labs/nowhere`);
  await page
    .getByText("lab_not_found")
    .or(page.getByText(/no lab/i))
    .first()
    .waitFor();
  await page.clock.runFor(30_000);
  // The service answers: the refused stream is not a lost connection.
  expect(await page.getByText(/^No connection/).count()).toBe(0);
  expect(streams).toBeLessThanOrEqual(1);
});

test("a wrong password shows an error, and the user name is kept", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await page.goto(`${served.url}/ui/`);
  await page.getByLabel("User name").and(page.locator(":focus")).waitFor();
  // As a hand does that never leaves the keyboard.
  await page.keyboard.type("ann", { delay: 20 });
  await page.keyboard.press("Tab");
  await page.keyboard.type("wrong", { delay: 20 });
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
  expect(await page.getByLabel("User name").inputValue()).toBe("ann");
  await tab.expectComplaint(/401/);
});

test("the link that openProject returns opens the lab without a password, once", async () => {
  const client = await served.signIn("bob");
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("linked") })).status).toBe(200);
  const { url } = (await client.post("/api/v1/projects/open", { lab: "/linked" })).json.data as { readonly url: string };
  {
    await using tab = await browser.open();
    await tab.page.goto(url);
    await tab.page.getByRole("button", { name: /^r1, / }).waitFor();
    expect(tab.page.url()).toBe(`${served.url}/ui/labs/linked`);
  }
  await using other = await browser.open();
  await other.page.goto(url);
  await other.page.getByRole("alert").getByText("Run labwright open again").waitFor();
  await other.page.getByLabel("Password").waitFor();
  await other.expectComplaint(/403/);
});

test("a used link shows its page with a note to a signed-in user, and the sign-in form after that session has ended", async () => {
  const ann = await served.signIn("ann");
  expect((await ann.post("/api/v1/projects/deploy", { yaml: yaml("again") })).status).toBe(200);
  const { url } = (await ann.post("/api/v1/projects/open", { lab: "/again" })).json.data as { readonly url: string };
  await using tab = await browser.open();
  const { page } = tab;
  await page.goto(url);
  await page.getByRole("button", { name: /^r1, / }).waitFor();
  expect(await page.getByRole("status").filter({ hasText: "used before" }).count()).toBe(0);
  await page.goto("about:blank");
  await page.goto(url);
  await page.getByRole("status").filter({ hasText: "The link was used before or is too old." }).waitFor();
  await page.getByRole("button", { name: /^r1, / }).waitFor();
  expect(page.url()).toBe(`${served.url}/ui/labs/again`);
  await tab.expectComplaint(/403/);
  await page.context().clearCookies();
  await page.goto("about:blank");
  await page.goto(url);
  await page.getByRole("alert").getByText("Run labwright open again").waitFor();
  await page.getByLabel("Password").waitFor();
  await tab.expectComplaint(/401/);
});
