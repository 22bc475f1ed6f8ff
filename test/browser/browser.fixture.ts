import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { onTestFailed, TestRunner } from "vitest";
import { loadPages } from "../../src/server/http/pages.ts";
import { type Served, type ServedOptions, serve } from "../wire/served.ts";
import { launchChromium } from "./launch-chromium.ts";

/** A page in a real browser, with cookies of its own. Closing it throws where the page complained of anything that the test did not expect. */
export interface TestPage extends AsyncDisposable {
  readonly page: Page;
  /** What the page complained of so far, expected or not: console errors, refusals of the policy, exceptions nobody caught, requests to other hosts. */
  readonly complaints: readonly string[];
  /** Waits for a complaint that matches, which the browser may tell a while after what it complains of; from the page's beginning to its end those are none. */
  expectComplaint(pattern: RegExp): Promise<void>;
  /** From the page's beginning to its end those that match are none. */
  allowComplaint(pattern: RegExp): void;
}

export interface TestBrowser extends AsyncDisposable {
  open(options?: BrowserContextOptions): Promise<TestPage>;
}

export async function testBrowser(): Promise<TestBrowser> {
  const launched = await launchChromium();
  return { open: (options) => openPage(launched.browser, options), [Symbol.asyncDispose]: () => launched[Symbol.asyncDispose]() };
}

/** For what a page is to do on a busy machine. */
const hangMs = 60_000;

async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<TestPage> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  context.setDefaultTimeout(hangMs);
  const page = await context.newPage();
  const complaints: string[] = [];
  const allowed: RegExp[] = [];
  let shown = "";
  // What a person would have seen, for whoever reads of the failure only. A page that is opened for all tests is of none.
  if (TestRunner.getCurrentTest() !== undefined) onTestFailed(() => console.error(`the page showed ${shown}`));
  let own: string | undefined;
  page.on("pageerror", (error) => complaints.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    // Refusals of the policy are errors of the console, too; that of a report-only one would be a warning.
    if (message.type() === "error" || /Content.Security.Policy/i.test(message.text()))
      complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  // Whatever a page asks of any other host than the one it came from.
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (["data:", "blob:", "about:"].includes(protocol)) return;
    own ??= host;
    if (host !== own) complaints.push(`a request to another host: ${request.url()}`);
  });
  return {
    page,
    get complaints() {
      return complaints;
    },
    expectComplaint: async (pattern) => {
      for (const end = performance.now() + hangMs; !complaints.some((complaint) => pattern.test(complaint)); await delay(20))
        if (performance.now() > end) throw new Error(`nothing matches ${pattern} in ${JSON.stringify(complaints)}`);
      allowed.push(pattern);
    },
    allowComplaint: (pattern) => void allowed.push(pattern),
    async [Symbol.asyncDispose]() {
      shown = `${page.url()}: ${await page.innerText("body", { timeout: 5_000 }).catch(String)}`;
      await context.close();
      const rest = complaints.filter((complaint) => !allowed.some((pattern) => pattern.test(complaint)));
      if (rest.length > 0) throw new Error(`the page complained:\n${rest.join("\n")}`);
    },
  };
}

/** The real service with its pages, as set-up built them. */
export async function servePages(options: ServedOptions = {}): Promise<Served> {
  const pages = await loadPages(join(import.meta.dirname, "../../dist/web"));
  if (pages === undefined) throw new Error("the web pages are not built: npm run web");
  const docs = await loadPages(join(import.meta.dirname, "../../dist/docs"));
  if (docs === undefined) throw new Error("the documentation is not built: npm run web");
  let url = "";
  const served = await serve({
    ...options,
    service: {
      webUi: { page: (lab) => `${url}/ui/labs${lab}`, capturePage: (capture) => `${url}/ui/captures/${capture}` },
      ...options.service,
    },
    server: { pages, docs: async () => docs, ...options.server },
  });
  url = served.url;
  return served;
}

/** By the form, as a person does. */
export async function signIn(page: Page, url: string, username = "admin", password = `${username}-password`): Promise<void> {
  await page.goto(`${url}/ui/`);
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}
