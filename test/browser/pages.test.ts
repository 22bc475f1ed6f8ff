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

test("a person signs in, deploys a lab from YAML, sees its nodes and one of them closely, and signs out", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.getByRole("heading", { name: "No labs yet" }).waitFor();
  await page.getByRole("link", { name: "Make the first one" }).click();
  await page.getByLabel("The lab as YAML").fill(yaml("seen"));
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("The text is right.").waitFor();
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

test("who was here before stays signed in over a reload, until the session ends elsewhere", async () => {
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
  // From here on the page knows better than to ask.
  await page.reload();
  await page.getByLabel("Password").waitFor();
});

test("a link of another user asks before it replaces the session of a browser", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  const bob = await served.signIn("bob");
  await bob.post("/api/v1/projects/deploy", { yaml: yaml("bobs") });
  const link = async () => (await bob.post("/api/v1/projects/open", { lab: "/bobs" })).json.data.url as string;
  const open = async () => {
    // A link that is followed loads the page, also where the page is open already.
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

test("what the policy refuses, and what nobody caught, is a complaint of the page", async () => {
  await using tab = await browser.open();
  await tab.page.goto(`${served.url}/ui/`);
  await tab.page.getByLabel("Password").waitFor();
  await tab.page.evaluate(`document.head.append(Object.assign(document.createElement("style"), { textContent: "p { color: red }" }))`);
  await tab.page.evaluate(`void setTimeout(() => { throw new Error("nobody's"); })`);
  await expect.poll(() => tab.complaints).toHaveLength(2);
  await tab.expectComplaint(/Content Security Policy/);
  await tab.expectComplaint(/exception: nobody's/);
});

test("a tab that nobody sees listens to nothing, and catches up when it is seen again", async () => {
  const client = await served.signIn("ann");
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("hidden") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "ann");
  const listening = page.waitForRequest(/\/events\?lab=%2Fhidden$/);
  await page.goto(`${served.url}/ui/labs/hidden`);
  await page.getByRole("button", { name: /^r1, / }).waitFor();
  const stream = await listening;
  const ended = page.waitForEvent("requestfailed", (request) => request === stream);
  const see = (hidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, "hidden", { configurable: true, get: () => ${hidden} }); document.dispatchEvent(new Event("visibilitychange"))`,
    );
  await see(true);
  await ended;
  const more = yaml("hidden").replace("links:", "  r3: {template: frr}\nlinks:");
  expect((await client.post("/api/v1/projects/reconcile", { yaml: more })).json.data.status).toBe("applied");
  const again = page.waitForRequest(/\/events\?lab=%2Fhidden$/);
  await see(false);
  await again;
  await page.getByRole("button", { name: /^r3, / }).waitFor();
});

test("a wrong password is told, and the name stays", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await page.goto(`${served.url}/ui/`);
  await page.getByLabel("User name").fill("ann");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  expect(await page.getByLabel("User name").inputValue()).toBe("ann");
  await tab.expectComplaint(/401/);
});

test("the link that openProject gives shows the lab without a password, once", async () => {
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

test("a used link shows its page with a note to who is signed in, and the sign-in form once that session has ended", async () => {
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
