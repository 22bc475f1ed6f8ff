import type { BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { replaceText, servePages, signIn, type TestBrowser, type TestPage, testBrowser } from "./browser.fixture.ts";

/** Changes of a lab on real nodes from its editor: planned, applied, confirmed, refused, taken over, and shown to other users. */

let local: TestLocalHost;
let browser: TestBrowser;
let served: Served;
let client: RawClient;
let storageState: Awaited<ReturnType<BrowserContext["storageState"]>>;

/** Another startup script restarts the node. */
const router = (description: string) =>
  `  r1:
    template: linux
    startup-config: |
      # description ${description}
      ip address add 10.0.0.1/24 dev eth0
  h1: {template: linux} # beside the router
`;
const text = (nodes: string, links = "") => `# the first line
name: turn
nodes:
${nodes}  h2: {template: linux}
links:
  - ["r1:eth0", "h1:eth0"]
  - ["h1:eth1", "h2:eth0"]
${links}`;

beforeAll(async () => {
  [browser, local] = await Promise.all([testBrowser(), testLocalHost()]);
  served = await servePages({ host: local.host });
  client = await served.signIn("admin", "test");
  const { status } = await client.post("/api/v1/projects/deploy", { yaml: text(router("first")) });
  expect(status).toBe(200);
  await using tab = await browser.open();
  await signIn(tab.page, served.url, "admin", "test");
  storageState = await tab.page.context().storageState();
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const editorOf = (page: Page): Locator => page.getByRole("textbox", { name: "The lab as YAML" });

async function openPlan(page: Page): Promise<void> {
  await page.goto(`${served.url}/ui/labs/turn?view=plan`);
  await editorOf(page).getByText("# the first line").waitFor();
}

const write = (tab: TestPage, yaml: string) => replaceText(tab, editorOf(tab.page), yaml);

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

async function intentOf(): Promise<string> {
  return (await client.post("/api/v1/projects/public", { lab: "/turn", as_written: true })).json.data.yaml;
}

/** Returns the uptime of each node, ms, by name. */
async function uptimes(): Promise<Readonly<Record<string, number>>> {
  const { nodes } = (await client.post("/api/v1/projects/status", { lab: "/turn" })).json.data.live as {
    readonly nodes: readonly { readonly name: string; readonly uptime_ms?: number }[];
  };
  return Object.fromEntries(nodes.map(({ name, uptime_ms }) => [name, uptime_ms ?? -1]));
}

test("safe steps are applied at once, and steps that stop nodes only after a confirmation that names the affected nodes", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await openPlan(page);
  await write(tab, text(`${router("second")}  h3: {template: linux}\n`, '  - ["h2:eth1", "h3:eth0"]\n'));
  await press(page, "Plan");
  await page.getByText("create node h3").waitFor();
  await page.getByText("update config r1").waitFor();
  // The drawing marks created, stopped and affected nodes.
  for (const name of [/^h3, .*not created yet, will be created/, /^r1, .*will go down/, /^h1, .*will be affected/]) {
    await page.getByRole("button", { name }).waitFor();
  }
  const before = await uptimes();
  await press(page, "Apply");
  const question = page.getByRole("dialog", { name: "Nodes will stop" });
  await question.getByText("r1, its configuration").waitFor();
  await question.getByText("Affected nodes: h1").waitFor();
  await question.getByText("h1:eth0 -- r1:eth0").waitFor();
  // The new node runs, and no node was stopped for it.
  const between = await uptimes();
  expect(Object.keys(between).sort()).toEqual(["h1", "h2", "h3", "r1"]);
  for (const name of ["h1", "h2", "r1"]) expect(between[name]).toBeGreaterThanOrEqual(before[name]!);

  // Another user changes the lab while the question is open. The confirmation is for the old plan: nothing is applied, and the new plan is shown.
  const quality = { lab: "/turn", endpoints: ["h1:eth1", "h2:eth0"], b: { loss: 1 }, save: true };
  expect((await client.post("/api/v1/projects/links/quality", quality)).status).toBe(200);
  await question.getByRole("button", { name: "Stop them and apply" }).click();
  await page.getByText("The lab changed after this plan was computed. Nothing was applied.").waitFor();
  await page.getByText("update config r1").waitFor();
  await page.getByText("update link h1:eth1 -- h2:eth0").waitFor();
  expect((await uptimes())["r1"]).toBeGreaterThanOrEqual(between["r1"]!);

  await press(page, "Apply");
  await question.getByRole("button", { name: "Stop them and apply" }).click();
  await page.getByText(/^Applied, \d+ steps?/).waitFor();
  expect((await client.post("/api/v1/projects/plan", { lab: "/turn" })).json.data.actions).toEqual([]);
  expect(await intentOf()).toContain("description second");
});

test("a plan that became stale is refused, and the new plan shows what was changed on the host", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await openPlan(page);
  const now = await intentOf();
  await write(tab, now.replace("  h2: {template: linux}", "  h2: {template: linux, position: {x: 10, y: 20}}"));
  await press(page, "Plan");
  await page.getByText("update node h2").waitFor();
  const quality = { lab: "/turn", endpoints: ["h1:eth1", "h2:eth0"], a: { delay: 7 }, save: true };
  expect((await client.post("/api/v1/projects/links/quality", quality)).status).toBe(200);
  await press(page, "Apply");
  await page.getByText("The lab changed after this plan was computed. Nothing was applied.").waitFor();
  const link = page.getByRole("listitem").filter({ hasText: "update link h1:eth1 -- h2:eth0" });
  await link.getByText("changed on the host").first().waitFor();
  expect(await intentOf()).toBe(now);
});

test("changes of the host are shown, and taken over into the text with its comments kept", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  // Below the drawing, too.
  await page.goto(`${served.url}/ui/labs/turn`);
  const question = page.getByRole("dialog", { name: "Take over the host's changes?" });
  const bar = page.getByRole("region", { name: "Changes that are not applied" });
  await bar.getByRole("button", { name: "Take over…" }).click();
  await question.getByRole("button", { name: "Cancel" }).click();
  await openPlan(page);
  await press(page, "Show the host's changes");
  await page.getByRole("heading", { name: "Changes of the host that are not in the text" }).waitFor();
  await page.getByText("update link h1:eth1 -- h2:eth0").waitFor();
  await press(page, "Take over…");
  await page.getByRole("dialog").getByRole("button", { name: "Take over" }).click();
  await page.getByText("The text now matches the host.").waitFor();
  const added = await page.locator(".side-by-side td.added").allTextContents();
  expect(added.join("")).toMatch(/delay: 7/);
  await editorOf(page).getByText("delay: 7").first().waitFor();
  const now = await intentOf();
  for (const kept of [/^# the first line$/m, /\{template: linux\} # beside the router$/m, /delay: 7/]) expect(now).toMatch(kept);
  await press(page, "Plan");
  await page.getByText("Nothing to do: the host matches the text.").waitFor();
});

test("two browsers on one lab show each other's changes, and none loses unapplied text", async () => {
  await using first = await browser.open({ storageState });
  await using second = await browser.open({ storageState });
  await using third = await browser.open({ storageState });
  await openPlan(first.page);
  await openPlan(second.page);
  await third.page.goto(`${served.url}/ui/labs/turn`);
  await third.page.getByRole("button", { name: /^h1, / }).waitFor();
  const now = await intentOf();
  const nodes = (more: string) => now.replace("  h2: {template: linux}\n", `  h2: {template: linux}\n${more}`);
  await write(second, nodes("  mine: {template: linux, start: false}\n"));
  await write(first, nodes("  theirs: {template: linux, start: false}\n"));
  await press(first.page, "Plan");
  await first.page.getByText("create node theirs").waitFor();
  await press(first.page, "Apply");
  await first.page.getByText(/^Applied, \d+ steps?/).waitFor();

  await third.page.getByRole("button", { name: /^theirs, / }).waitFor();
  const notice = second.page.getByRole("region", { name: "The lab's text was changed elsewhere" });
  await notice.locator("td.added", { hasText: "theirs: {template: linux, start: false}" }).waitFor();
  await editorOf(second.page).getByText("mine").waitFor();
  // The service's answers may come late: a hand waits for the button.
  await notice.getByRole("button", { name: "Keep both changes" }).click();
  await notice.waitFor({ state: "detached" });
  await editorOf(second.page).getByText("theirs").waitFor();
  await press(second.page, "Plan");
  await second.page.getByText("create node mine").waitFor();
  await press(second.page, "Apply");
  await second.page.getByText(/^Applied, \d+ steps?/).waitFor();
  for (const node of ["mine", "theirs"]) expect(await intentOf()).toContain(`  ${node}: {template: linux, start: false}\n`);

  // Both change the same part: there is no text of both.
  await first.page.getByText("The text was changed elsewhere. This is the new text.").waitFor();
  const both = await intentOf();
  await write(second, both.replace("  mine: {template: linux", "  mine: {template: pc"));
  await write(first, both.replace("  mine: {template: linux", "  mine: {template: frr"));
  await press(first.page, "Save");
  await notice.waitFor();
  await second.page.waitForTimeout(500);
  expect(await notice.getByRole("button", { name: "Keep both changes" }).count()).toBe(0);
  await notice.getByRole("button", { name: "Use the stored text, discard mine" }).click();
  await editorOf(second.page).getByText("mine: {template: frr").waitFor();
  await write(first, both.replace(/ {2}mine: .*\n/, ""));
  await first.page.getByLabel(/prune/).check();
  await press(first.page, "Plan");
  await first.page.getByText("delete node mine").waitFor();
  await press(first.page, "Apply");
  await first.page.getByText(/^Applied, \d+ steps?/).waitFor();
  await editorOf(second.page).getByText("theirs").waitFor();

  // Without unapplied text the editor shows the new text at once.
  await write(first, now);
  await first.page.getByLabel(/prune/).check();
  await press(first.page, "Plan");
  await first.page.getByText("delete node theirs").waitFor();
  await press(first.page, "Apply");
  await first.page.getByText(/^Applied, \d+ steps?/).waitFor();
  await second.page.getByText("The text was changed elsewhere. This is the new text.").waitFor();
  await expect.poll(() => editorOf(second.page).textContent()).not.toContain("theirs");
});
