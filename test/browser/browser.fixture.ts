import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { onTestFailed, TestRunner } from "vitest";
import { loadPages } from "../../src/server/http/pages.ts";
import { type Served, type ServedOptions, serve } from "../wire/served.ts";
import { launchChromium } from "./launch-chromium.ts";

/** A page in a real browser, with its own cookies. Closing it throws if there was a complaint that the test did not expect. */
export interface TestPage extends AsyncDisposable {
  readonly page: Page;
  /** All complaints so far: console errors, violations of the content security policy, uncaught exceptions, requests to other hosts. */
  readonly complaints: readonly string[];
  /** Waits for a matching complaint, which the browser may report late. Matching complaints, earlier or later, do not fail the test. */
  expectComplaint(pattern: RegExp): Promise<void>;
  /** Matching complaints, earlier or later, do not fail the test. */
  allowComplaint(pattern: RegExp): void;
}

export interface TestBrowser extends AsyncDisposable {
  open(options?: BrowserContextOptions): Promise<TestPage>;
}

/** Pages of tests live for seconds: code is not compiled again for speed, and no renderer for 3D graphics is loaded. */
const shortLived = ["--js-flags=--no-opt,--no-maglev", "--disable-gpu", "--disable-software-rasterizer"];

export async function testBrowser(): Promise<TestBrowser> {
  const launched = await launchChromium(shortLived);
  return { open: (options) => openPage(launched.browser, options), [Symbol.asyncDispose]: () => launched[Symbol.asyncDispose]() };
}

/** Timeout of actions and complaints: enough for a busy machine. */
const timeoutMs = 60_000;

async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<TestPage> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  context.setDefaultTimeout(timeoutMs);
  const page = await context.newPage();
  const complaints: string[] = [];
  const allowed: RegExp[] = [];
  let shownText = "";
  // Prints the text of the page if the test fails. A page that is opened in a hook belongs to no test.
  if (TestRunner.getCurrentTest() !== undefined) onTestFailed(() => console.error(`the page showed ${shownText}`));
  let ownHost: string | undefined;
  page.on("pageerror", (error) => complaints.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    // Violations of a policy are console errors; those of a report-only policy are warnings.
    if (message.type() === "error" || /Content.Security.Policy/i.test(message.text()))
      complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  // Requests to any other host than that of the page.
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (["data:", "blob:", "about:"].includes(protocol)) return;
    ownHost ??= host;
    if (host !== ownHost) complaints.push(`a request to another host: ${request.url()}`);
  });
  return {
    page,
    get complaints() {
      return complaints;
    },
    expectComplaint: async (pattern) => {
      for (const end = performance.now() + timeoutMs; !complaints.some((complaint) => pattern.test(complaint)); await delay(20))
        if (performance.now() > end) throw new Error(`no complaint matches ${pattern}: ${JSON.stringify(complaints)}`);
      allowed.push(pattern);
    },
    allowComplaint: (pattern) => void allowed.push(pattern),
    async [Symbol.asyncDispose]() {
      shownText = `${page.url()}: ${await page.innerText("body", { timeout: 5_000 }).catch(String)}`;
      await context.close();
      const unexpected = complaints.filter((complaint) => !allowed.some((pattern) => pattern.test(complaint)));
      if (unexpected.length > 0) throw new Error(`unexpected complaints of the page:\n${unexpected.join("\n")}`);
    },
  };
}

/** Starts the real service with its pages, which `npm run web` must have built. */
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

/** Signs in with the form. */
export async function signIn(page: Page, url: string, username = "admin", password = `${username}-password`): Promise<void> {
  await page.goto(`${url}/ui/`);
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

/**
 * Replaces the text of an editor. Uses its own key bindings: the browser would keep styles of the selected text. On a busy machine the page has time to check
 * the empty text between the two edits, which the service answers with 422.
 */
export async function replaceText({ page, allowComplaint }: TestPage, editor: Locator, text: string): Promise<void> {
  allowComplaint(/422 .*projects\/validate/);
  await editor.press("Control+a");
  await editor.press("Backspace");
  await page.keyboard.insertText(text);
}
