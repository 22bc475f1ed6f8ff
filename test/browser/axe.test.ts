import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** Accessibility of the pages, as far as a program can check it. */

let browser: TestBrowser;
let served: Served;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
  const client = await served.signIn();
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const yaml = `name: fair\nnodes:\n  r1: {template: frr}\n  r2: {template: frr, start: false}\n  h1: {template: linux}\nnetworks:\n  lan: {type: bridge}\nlinks:\n  - {endpoints: ["r1:eth0", "r2:eth0"], quality: {delay: 20}}\n  - ["h1:eth0", "lan"]\n  - ["r1:eth1", "lan"]\n`;

/** The checked views, each with the steps that open it. Most need a signed-in user. */
const views: Readonly<Record<string, (page: Page, at: (path: string) => Promise<unknown>) => Promise<unknown>>> = {
  "the labs": async (page, at) => {
    await at("/");
    await page.getByRole("rowheader", { name: /^fair/ }).waitFor();
  },
  "the question before a lab is destroyed": async (page, at) => {
    await at("/");
    await page.getByRole("button", { name: "Actions of fair" }).click();
    await page.getByRole("menuitem", { name: "Destroy…" }).click();
    await page.getByRole("dialog").waitFor();
  },
  "a new lab": async (page, at) => {
    await at("/new");
    await page.getByRole("button", { name: "Deploy" }).waitFor();
  },
  "the topology with a node": async (page, at) => {
    await at("/labs/fair");
    await page.getByRole("button", { name: /^r1, router, (starting|running)/ }).click();
    await page.getByRole("complementary", { name: "Node r1" }).waitFor();
  },
  "a link": async (page, at) => {
    await at("/labs/fair");
    await page.getByRole("button", { name: /^Link r1:eth0 to r2:eth0/ }).press("Enter");
    await page.getByRole("complementary", { name: "Link r1:eth0 to r2:eth0" }).waitFor();
  },
  "a text with an error": async (page, at) => {
    await at("/labs/fair?view=plan");
    const editor = page.getByRole("textbox", { name: "The lab as YAML" });
    await editor.getByText("fair").waitFor();
    await editor.press("Control+End");
    await page.keyboard.insertText("mistake: 1\n");
    await page.locator(".cm-lint-marker-error").waitFor();
  },
  "a plan, and the question before nodes stop": async (page, at) => {
    page.once("dialog", (dialog) => void dialog.accept());
    await at("/labs/fair?view=plan");
    const editor = page.getByRole("textbox", { name: "The lab as YAML" });
    await editor.getByText("template: frr").first().waitFor();
    await editor.press("Control+a");
    await editor.press("Backspace");
    await page.keyboard.insertText(yaml.replace("r1: {template: frr}", 'r1: {template: frr, startup-config: "hostname r1\\n"}'));
    await page.getByRole("button", { name: "Plan", exact: true }).click();
    await page
      .getByText(/config r1/)
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Apply", exact: true }).click();
    await page.getByRole("dialog", { name: "Nodes will stop" }).waitFor();
  },
  "consoles before one is open": async (page, at) => {
    await at("/labs/fair?view=consoles");
    await page.getByText("Choose a node on the left").waitFor();
  },
  "consoles side by side, one of a stopped node": async (page, at) => {
    await at("/labs/fair?view=consoles&node=r2");
    await page.getByText("Not running; waiting for its start").waitFor();
    await page.getByRole("button", { name: "Side by side", exact: true }).click();
    await page.getByRole("button", { name: /^h1/ }).click();
    await page.getByRole("region", { name: "Console of h1" }).getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("region", { name: "Console of h1" }).getByRole("button", { name: "Search" }).click();
  },
  "one command on many nodes": async (page, at) => {
    await at("/labs/fair?view=consoles");
    await page.getByRole("button", { name: "One command, many nodes" }).click();
    await page.getByRole("checkbox", { name: /^r2/ }).check();
    await page.getByLabel("Command", { exact: true }).fill("hostname");
    await page.getByRole("button", { name: "Run on 3 nodes" }).click();
    await page.getByRole("article", { name: "Answer of r2" }).getByText("not running", { exact: true }).waitFor();
  },
  "an unknown address": async (page, at) => {
    await at("/nowhere");
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
  },
};

test("no page has accessibility problems in light or dark colours", { timeout: 180_000 }, async () => {
  await using tab = await browser.open();
  const { page } = tab;
  const found: Record<string, readonly string[]> = {};
  const check = async (name: string) => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const violations = await violationsOf(page);
      if (violations.length > 0) found[`${name}, ${colorScheme}`] = violations;
    }
  };
  await page.goto(`${served.url}/ui/`);
  await page.getByLabel("Password").waitFor();
  await check("signing in");
  await signIn(page, served.url);
  for (const [name, goThere] of Object.entries(views)) {
    await goThere(page, (path) => page.goto(`${served.url}/ui${path}`));
    await check(name);
  }
  // The check of the text with an error.
  await tab.expectComplaint(/422/);
  expect(found).toEqual({});
});

test("text with too little contrast is found", async () => {
  await using tab = await browser.open();
  await tab.page.goto(`${served.url}/ui/`);
  await tab.page.getByLabel("Password").waitFor();
  await tab.page.evaluate(`document.querySelector("h1").style.color = "#eeeeee"`);
  expect(await violationsOf(tab.page)).toEqual([expect.stringMatching(/^color-contrast: /)]);
});
