import { afterAll, beforeAll, expect, test } from "vitest";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** The documentation in a real browser, which reports violations of the policy and requests to other hosts. */

let browser: TestBrowser;
let served: Served;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

test("the documentation opens from the header, its links lead to the tutorial and a how-to page, and back to the labs", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Docs" }).click();
  await page.getByRole("heading", { name: "Labwright documentation", level: 1 }).waitFor();
  await page.getByRole("main").getByRole("link", { name: "tutorial", exact: true }).click();
  await page.getByRole("heading", { name: "Tutorial: a first lab" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/docs/tutorial.html");
  await page.getByRole("main").getByRole("link", { name: "Capture packets" }).click();
  await page.getByRole("heading", { name: "Into Wireshark, live" }).waitFor();
  const here = page.getByRole("navigation", { name: "Documentation" }).locator("[aria-current=page]");
  expect(await here.textContent()).toBe("Capture packets");
  await page.getByRole("main").getByRole("link", { name: "Packet capture" }).click();
  await page.getByRole("heading", { name: "Life of a capture" }).waitFor();
  await page.getByRole("link", { name: "Labs", exact: true }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
});

test("the search finds a section by its words and opens it, without a sign-in", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await page.goto(`${served.url}/docs/how-to/impair-links.html`);
  await page.getByRole("searchbox", { name: "Search" }).fill("damaged database");
  const results = page.getByRole("region", { name: "Search results" });
  await results.getByRole("link", { name: /A lost or damaged database/ }).click();
  await page.getByRole("heading", { name: "A lost or damaged database" }).waitFor();
  expect(new URL(page.url()).hash).toBe("#a-lost-or-damaged-database");
  await page.getByRole("searchbox", { name: "Search" }).fill("xyzzy plugh");
  await results.getByText('No section contains "xyzzy plugh".').waitFor();
  await page.getByRole("searchbox", { name: "Search" }).press("Escape");
  expect(await results.isHidden()).toBe(true);
});

test.each(["light", "dark"] as const)("the documentation has no accessibility problems in %s colours", async (colorScheme) => {
  await using tab = await browser.open({ colorScheme });
  for (const name of ["", "troubleshooting.html", "cli.html"]) {
    await tab.page.goto(`${served.url}/docs/${name}`);
    expect([name, await violationsOf(tab.page)]).toEqual([name, []]);
  }
});

test("pictures load, and the documentation uses the theme that was chosen in the labs' pages", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await page.goto(`${served.url}/docs/web.html`);
  await page.evaluate(`localStorage.setItem("labwright-theme", "dark")`);
  await page.reload();
  expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
  const picture = page.getByRole("img", { name: /^The triangle drawn|^A lab drawn/ });
  await picture.scrollIntoViewIfNeeded();
  await expect
    .poll(() => picture.evaluate((image) => (image as unknown as { readonly naturalWidth: number }).naturalWidth))
    .toBeGreaterThan(100);
});
