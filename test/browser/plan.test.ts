import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import { type Served, users } from "../wire/served.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** Text, plan and links of a lab in a real browser. */

let browser: TestBrowser;
let served: Served;
/** Steps on these nodes wait until they are let through. */
const held = new Map<string, Promise<void>>();

beforeAll(async () => {
  const host = memoryHost({ users, beforeStep: (_lab, { op, key }) => held.get(`${op} ${key}`) });
  [browser, served] = await Promise.all([testBrowser(), servePages({ host })]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

/** @param step as "create r1". Answers how it is let through */
function hold(step: string): () => void {
  let resolve = () => {};
  held.set(step, new Promise((done) => (resolve = done)));
  return () => {
    held.delete(step);
    resolve();
  };
}

const editorOf = (page: Page) => page.getByRole("textbox", { name: "The lab as YAML" });

/** Presses Cancel. Returns when the service has the request: a step that is let through before may be the last one. */
async function cancelAndWait(page: Page): Promise<void> {
  const answered = page.waitForResponse(/\/cancel$/);
  await press(page, "Cancel");
  await page.getByRole("button", { name: "Cancelling after this step…" }).waitFor();
  expect((await answered).status()).toBe(200);
}

/** Puts another text in place of the editor's. By the editor, not by the browser, which would carry styles over what is selected. */
async function write(page: Page, yaml: string): Promise<void> {
  await editorOf(page).press("Control+a");
  await editorOf(page).press("Backspace");
  await page.keyboard.insertText(yaml);
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

const text = (more: string) =>
  `# kept\nname: planned\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\n${more}links:\n  - ["r1:eth0", "r2:eth0"]\n`;

test("a text is mended where it is marked, planned, applied, and what was prepared is what happens", async () => {
  const client = await served.signIn("admin");
  expect((await client.post("/api/v1/projects/deploy", { yaml: text("") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/planned?view=plan`);
  await editorOf(page).getByText("# kept").waitFor();
  await write(page, text("  h1: {templat: linux}\n"));
  await page.locator(".cm-lint-marker-error").hover();
  await page.getByText(/unknown.*templat.*did you mean/i).waitFor();
  await page.locator(".cm-lintRange-error", { hasText: "templat" }).first().waitFor();
  await tab.expectComplaint(/422/);
  await write(page, text("  h1: {template: linux}\n"));
  await press(page, "Plan");
  await page.getByText("create node h1").waitFor();
  await page.getByRole("button", { name: /^h1, .*not there yet, will be made$/ }).waitFor();
  await press(page, "Apply");
  await page.getByText(/^Applied, \d+ steps?/).waitFor();
  const { data } = (await client.post("/api/v1/projects/public", { lab: "/planned", as_written: true })).json as {
    readonly data: { readonly yaml: string };
  };
  expect(data.yaml).toBe(text("  h1: {template: linux}\n"));
});

test("what the host does not support keeps a plan from being applied, until it is agreed to leave it out", async () => {
  const client = await served.signIn("admin");
  const yaml = (more: string) => `name: poor\nnodes:\n  sw: {template: switch${more}}\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/poor?view=plan`);
  await editorOf(page).getByText("switch").waitFor();
  await write(page, yaml(", env: {A: b}, icon: Router.png"));
  await press(page, "Plan");
  await page.getByText("nothing is applied while the text asks for it").waitFor();
  await page.getByText(/^sw\.env: /).waitFor();
  expect(await page.getByRole("button", { name: "Apply", exact: true }).isDisabled()).toBe(true);
  await page.getByLabel("Apply the rest without what the host does not support").check();
  await page.getByText("plan again to apply").waitFor();
  await press(page, "Plan");
  await page.getByText("Not supported by this host: left out").waitFor();
  await press(page, "Apply");
  await page.getByText("Applied, 1 step, without what the host does not support.").waitFor();
  const inspected = await client.post("/api/v1/projects/inspect", { lab: "/poor", refresh: true });
  expect(inspected.json.data.nodes).toMatchObject([{ node: "sw", icon: "Router.png" }]);
});

test("a link is reached by keys, shaped, and saved to the intent", async () => {
  const client = await served.signIn("admin");
  const yaml = `# cable\nname: wire\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\nlinks:\n  - ["r1:eth0", "r2:eth0"]\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/wire`);
  await page.getByRole("button", { name: /^Link r1:eth0 to r2:eth0/ }).press("Enter");
  await page.getByLabel("What leaves r1:eth0: preset").selectOption("wan1");
  await page.getByLabel("Save to the intent, too").check();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Applied, and saved to the intent.").waitFor();
  await page.getByRole("button", { name: /^Link r1:eth0 to r2:eth0, → 80 ms/ }).waitFor({ state: "attached" }); // a straight line has no height
  const { data } = (await client.post("/api/v1/projects/public", { lab: "/wire", as_written: true })).json as {
    readonly data: { readonly yaml: string };
  };
  expect(data.yaml).toContain("# cable");
  expect(data.yaml).toContain("delay: 80");
});

test("the schema completes keys, and the host completes templates", async () => {
  const client = await served.signIn("admin");
  const yaml = `name: words\nnodes:\n  r1: {template: frr}\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/words?view=plan`);
  await editorOf(page).getByText("words").waitFor();
  await editorOf(page).press("Control+End");
  await page.keyboard.type("  r2:\ntem");
  // By mouse: keys are taken for typing while the list has only just come.
  await page.getByRole("option", { name: /^template/ }).click();
  await editorOf(page).press("Control+Space");
  await page.getByRole("option", { name: /^frr/ }).waitFor();
  await page.getByRole("option", { name: /^linux/ }).click();
  await expect.poll(() => editorOf(page).locator(".cm-line").allTextContents()).toContain("    template: linux");
  // What was half written is no lab.
  tab.allowComplaint(/422/);
});

test("a running change is told step by step, also after a reload, and cancelled; what is left to do is planned", async () => {
  const client = await served.signIn("admin");
  const yaml = (more: string) => `name: long\nnodes:\n  r1: {template: frr}\n${more}`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/long?view=plan`);
  await editorOf(page).getByText("long").waitFor();
  const more = yaml("  r2: {template: frr}\n  r3: {template: frr}\n");
  await write(page, more);
  await press(page, "Plan");
  await page.getByText("create node r3").waitFor();
  const letThrough = hold("create r3");
  await press(page, "Apply");
  const step = page.getByRole("listitem").filter({ hasText: /^create node r3/ });
  await step.getByText(", running").waitFor();
  await page.getByRole("listitem").filter({ hasText: "create node r2, done" }).waitFor();
  page.once("dialog", (dialog) => void dialog.accept());
  await page.reload();
  await page
    .getByRole("status")
    .getByText(/^reconcileProject by admin: step/)
    .waitFor();
  await cancelAndWait(page);
  letThrough();
  await page
    .getByRole("status")
    .getByText(/^reconcileProject by admin/)
    .waitFor({ state: "detached" });

  // The same by the page that began it, which then knows what is left.
  const letOn = hold("create r4");
  await write(page, `${more}  r4: {template: frr}\n  r5: {template: frr}\n`);
  await press(page, "Plan");
  await page.getByText("create node r5").waitFor();
  await press(page, "Apply");
  await page.getByText(/^Applying what is safe: step/).waitFor();
  await cancelAndWait(page);
  letOn();
  await page.getByText(/^Cancelled after \d+ steps?; \d+ steps? were not done/).waitFor();
  await page.getByText("create node r5").waitFor();
  expect((await client.post("/api/v1/projects/status", { lab: "/long" })).json.data.last_job.outcome).toBe("cancelled");
});

test("a change that ends before its cancel reaches the service has ended, and nothing is reported as an error", async () => {
  const client = await served.signIn("admin");
  const yaml = (more: string) => `name: brief\nnodes:\n  r1: {template: frr}\n${more}`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/brief?view=plan`);
  await editorOf(page).getByText("brief").waitFor();
  await write(page, yaml("  r2: {template: frr}\n"));
  await press(page, "Plan");
  await page.getByText("create node r2").waitFor();
  const letThrough = hold("create r2");
  await press(page, "Apply");
  await page.getByText(/^Applying what is safe: step/).waitFor();
  let sendCancel = () => {};
  const late = new Promise<void>((resolve) => {
    sendCancel = resolve;
  });
  await page.route(/\/cancel$/, async (route) => {
    await late;
    await route.continue();
  });
  const answered = page.waitForResponse(/\/cancel$/);
  await press(page, "Cancel");
  letThrough();
  await page.getByText(/^Applied, \d+ steps?\. The host is as the text says\./).waitFor();
  const asked = page.waitForResponse(/\/jobs\/[^/]+$/);
  sendCancel();
  expect((await answered).status()).toBe(403);
  await asked;
  expect(await page.getByRole("alert").count()).toBe(0);
  await tab.expectComplaint(/403/);
});

test("a startup configuration in a file of its own is changed beside the text", async () => {
  const client = await served.signIn("admin");
  const yaml = (node: string) => `name: beside\nnodes:\n  ${node}: {template: frr, startup-config: ${node}.conf}\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("r1"), files: { "r1.conf": "hostname r1\n" } })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/beside?view=plan`);
  await page.getByLabel("File beside it").selectOption("r1.conf");
  await page.getByRole("textbox", { name: "r1.conf" }).fill("hostname router\n");
  await press(page, "Plan");
  await page.getByText("update config r1").waitFor();
  await press(page, "Apply");
  await page.getByRole("dialog", { name: "Nodes will stop" }).getByRole("button", { name: "Cancel" }).click();
  const { files } = (await client.post("/api/v1/projects/public", { lab: "/beside", as_written: true })).json.data;
  expect(files).toEqual({ "r1.conf": "hostname router\n" });

  // One that is not there yet is a mistake of the text, until it is added.
  await write(page, `${yaml("r1")}  r2: {template: frr, startup-config: r2.conf}\n`);
  await page.locator(".cm-lint-marker-error").waitFor();
  await page.getByLabel("Name of a new file").fill("r2.conf");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "r2.conf" }).fill("hostname r2\n");
  await page.locator(".cm-lint-marker-error").waitFor({ state: "detached" });
  await tab.expectComplaint(/422/);
  await press(page, "Plan");
  await page.getByText("create node r2").waitFor();

  // What was written and not applied stays while one looks elsewhere, and signing out asks.
  await page.getByRole("link", { name: "Topology" }).click();
  await page.getByRole("button", { name: /^r1, / }).waitFor();
  await page.getByRole("link", { name: "Plan" }).click();
  await page.getByText("Your text from before is here again").waitFor();
  await editorOf(page).getByText("r2.conf").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  const question = page.getByRole("dialog", { name: "Sign out, and lose what you wrote?" });
  await question.getByText("/beside").waitFor();
  await question.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Password").waitFor();
  expect(await page.evaluate("sessionStorage.length")).toBe(0);
});
