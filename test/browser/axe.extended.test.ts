import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, type TestPage, testBrowser } from "./browser.fixture.ts";

/** Accessibility of the pages, as far as a program can check it. */

let browser: TestBrowser;
let served: Served;
let tab: TestPage;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
  const client = await served.signIn();
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  tab = await browser.open();
  // The check of the text with an error, and the page of a lab that does not exist.
  tab.allowComplaint(/422|404/);
  // Leaving an edited text asks.
  tab.page.on("dialog", (dialog) => void dialog.accept());
  await signIn(tab.page, served.url);
});
afterAll(async () => {
  await tab[Symbol.asyncDispose]();
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
    await page.getByText("Choose a node: ").waitFor();
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
  "the palette, and the menu of a node": async (page, at) => {
    await at("/labs/fair");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("region", { name: "Add to the lab" }).getByRole("button", { name: "frr", exact: true }).waitFor();
    await page.getByRole("button", { name: /^r1, router, (starting|running)/ }).click({ button: "right" });
    await page.getByRole("menu", { name: "r1" }).waitFor();
  },
  "several selected parts, and what apply would do": async (page, at) => {
    await at("/labs/fair");
    const stage = page.getByRole("application");
    await page.getByRole("button", { name: "Text", exact: true }).click();
    await page.locator(".text-pane .editor").getByText("template: frr").first().waitFor();
    await page.getByRole("button", { name: /^r1, / }).focus();
    await page.keyboard.press("Control+d");
    await page.getByRole("region", { name: "Changes that are not applied" }).getByText(/adds/).waitFor();
    await page.getByText("Details", { exact: true }).click();
    await stage.focus();
    await page.keyboard.press("Control+a");
    await page.getByRole("toolbar", { name: "Selected parts" }).waitFor();
  },
  "the question for a new name": async (page, at) => {
    await at("/labs/fair");
    await page.getByRole("button", { name: "Add", exact: true }).waitFor();
    await page.getByRole("button", { name: /^r2, / }).focus();
    await page.keyboard.press("F2");
    await page.getByRole("dialog", { name: "Rename r2" }).waitFor();
  },
  "the table of nodes": async (page, at) => {
    await at("/labs/fair?drawer=nodes");
    await page.getByRole("row", { name: /^r1 / }).waitFor();
  },
  "the log of a lab": async (page, at) => {
    await at("/labs/fair?drawer=log");
    await page.getByRole("tabpanel", { name: "Log" }).waitFor();
  },
  "the jobs of a lab": async (page, at) => {
    await at("/labs/fair?drawer=jobs");
    await page.getByText("Deploy done").waitFor();
  },
  "sharing a lab": async (page, at) => {
    await at("/labs/fair");
    await page.getByRole("button", { name: "Share…" }).click();
    await page.getByRole("dialog", { name: "Share /fair" }).getByLabel("User").waitFor();
  },
  "the question before all nodes stop": async (page, at) => {
    await at("/labs/fair");
    await page.getByRole("button", { name: "Stop all…" }).click();
    await page.getByRole("dialog").waitFor();
  },
  "captures of a host that cannot capture": async (page, at) => {
    await at("/labs/fair?view=captures");
    await page.getByRole("heading", { name: "This host cannot capture packets" }).waitFor();
  },
  "the tests of a lab": async (page, at) => {
    await at("/labs/fair?view=tests");
    await page.getByRole("heading", { name: "fair" }).waitFor();
    await page.getByText(/tests/i).nth(1).waitFor();
  },
  "the menu of a lab in the list": async (page, at) => {
    await at("/");
    await page.getByRole("button", { name: "Actions of fair" }).click();
    await page.getByRole("menuitem", { name: "Destroy…" }).waitFor();
  },
  "duplicating a lab": async (page, at) => {
    await at("/");
    await page.getByRole("button", { name: "Duplicate a lab…" }).click();
    await page.getByRole("button", { name: "Duplicate", exact: true }).waitFor();
  },
  "the host": async (page, at) => {
    await at("/host");
    await page.getByRole("heading", { name: "Host" }).waitFor();
  },
  "a lab that does not exist": async (page, at) => {
    await at("/labs/nowhere");
    await page.getByText("See your labs").waitFor();
  },
  "an unknown address": async (page, at) => {
    await at("/nowhere");
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
  },
};

/** Returns the problems of a page in light and dark colours. */
async function problemsOf(page: Page): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: "light" });
  const light = await violationsOf(page);
  await page.emulateMedia({ colorScheme: "dark" });
  // Of all rules, only that of contrast depends on colours.
  const dark = await violationsOf(page, ["color-contrast"]);
  return [...light.map((problem) => `light: ${problem}`), ...dark.map((problem) => `dark: ${problem}`)];
}

test("the page to sign in has no accessibility problems", async () => {
  await using other = await browser.open();
  await other.page.goto(`${served.url}/ui/`);
  await other.page.getByLabel("Password").waitFor();
  expect(await problemsOf(other.page)).toEqual([]);
});

test.each(Object.entries(views))("%s: no accessibility problems in light or dark colours", async (_name, goThere) => {
  await goThere(tab.page, (path) => tab.page.goto(`${served.url}/ui${path}`));
  expect(await problemsOf(tab.page)).toEqual([]);
});

test("the drawing is described, Tab reaches all nodes before the links, and parts are moved, linked and opened with keys alone", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/fair`);
  await page.getByRole("button", { name: /^r1, router, running/ }).waitFor();
  // The text has been read: keys edit the lab.
  await page.getByRole("button", { name: "Add", exact: true }).waitFor();
  const stage = page.getByRole("application", { name: "Topology of the lab" });
  const description = await page.locator(`#${await stage.getAttribute("aria-describedby")}`).textContent();
  expect(description).toMatch(/^3 nodes, 1 network, 3 links, 1 impaired\. Tab moves to each node and then to each link\./);
  await stage.focus();
  const reached: string[] = [];
  for (let times = 0; times < 7; times++) {
    await page.keyboard.press("Tab");
    reached.push((await page.evaluate("document.activeElement.getAttribute('aria-label')")) as string);
  }
  expect(reached.map((name) => name.split(",")[0])).toEqual([
    "h1",
    "r1",
    "r2",
    "Network lan",
    "Link h1:eth0 to lan",
    "Link r1:eth1 to lan",
    "Link r1:eth0 to r2:eth0",
  ]);
  const r2 = page.getByRole("button", { name: /^r2, / });
  const place = await r2.getAttribute("transform");
  await r2.focus();
  await page.keyboard.press("Alt+ArrowRight");
  await expect.poll(() => r2.getAttribute("transform")).not.toBe(place);
  // Two nodes are selected and linked; undo takes back both edits.
  await page.keyboard.press("Control+Space");
  await page.getByRole("button", { name: /^h1, / }).focus();
  await page.keyboard.press("Control+Space");
  await page.keyboard.press("l");
  // The line is vertical: a box without width does not count as visible.
  await page.getByRole("button", { name: /^Link (r2:eth1 to h1:eth1|h1:eth1 to r2:eth1)/ }).waitFor({ state: "attached" });
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  await expect.poll(() => r2.getAttribute("transform")).toBe(place);
  await page.getByRole("button", { name: /^Link r1:eth0/ }).focus();
  await page.keyboard.press("Space");
  await page.getByRole("complementary", { name: "Link r1:eth0 to r2:eth0" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("complementary", { name: "Link r1:eth0 to r2:eth0" }).waitFor({ state: "hidden" });
});

test("at 200 % zoom nothing is cut off sideways, and the drawing can still be used", async () => {
  // A browser's zoom makes the window smaller in px of the page: 1440 × 900 becomes 720 × 450.
  await using tab = await browser.open({ viewport: { width: 720, height: 450 }, deviceScaleFactor: 2 });
  const { page } = tab;
  tab.allowComplaint(/404/);
  await signIn(page, served.url);
  const wide: Record<string, number> = {};
  for (const path of [
    "/",
    "/new",
    "/host",
    "/labs/fair",
    "/labs/fair?drawer=nodes",
    "/labs/fair?view=plan",
    "/labs/fair?view=consoles&node=r1",
  ]) {
    await page.goto(`${served.url}/ui${path}`);
    await page.getByRole("main").waitFor();
    await page.waitForLoadState("networkidle");
    const overflow = (await page.evaluate("document.documentElement.scrollWidth - innerWidth")) as number;
    if (overflow > 0) wide[path] = overflow;
  }
  expect(wide).toEqual({});
  await page.goto(`${served.url}/ui/labs/fair`);
  await page.getByRole("button", { name: /^r1, router, running/ }).click();
  const panel = page.getByRole("complementary", { name: "Node r1" });
  await panel.getByRole("button", { name: "Stop" }).scrollIntoViewIfNeeded();
  await panel.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: /^h1, / }).press("Enter");
  await page.getByRole("region", { name: "Console of h1" }).getByText("Connected", { exact: true }).waitFor();
});

test("text with too little contrast is found", async () => {
  await using tab = await browser.open();
  await tab.page.goto(`${served.url}/ui/`);
  await tab.page.getByLabel("Password").waitFor();
  await tab.page.evaluate(`document.querySelector("h1").style.color = "#eeeeee"`);
  expect(await violationsOf(tab.page)).toEqual([expect.stringMatching(/^color-contrast: /)]);
});
