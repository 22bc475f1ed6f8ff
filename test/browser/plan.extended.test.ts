import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import { type Served, users } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { replaceText, servePages, signIn, type TestBrowser, type TestPage, testBrowser } from "./browser.fixture.ts";

/** The editor, plans and links of a lab in a real browser. */

let browser: TestBrowser;
let served: Served;
/** Steps that wait until they are released. */
const held = new Map<string, Promise<void>>();

beforeAll(async () => {
  const host = memoryHost({ users, beforeStep: (_lab, { op, key }) => held.get(`${op} ${key}`) });
  [browser, served] = await Promise.all([testBrowser(), servePages({ host })]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

/** Makes a step wait, for example "create r1". Returns a function that releases it. */
function hold(step: string): () => void {
  let resolve = () => {};
  held.set(step, new Promise((done) => (resolve = done)));
  return () => {
    held.delete(step);
    resolve();
  };
}

const editorOf = (page: Page) => page.getByRole("textbox", { name: "The lab as YAML" });

/** Presses Cancel, and waits for the service's response: a step that is released before it could be the last one. */
async function cancelAndWait(page: Page): Promise<void> {
  const answered = page.waitForResponse(/\/cancel$/);
  await press(page, "Cancel");
  await page.getByRole("button", { name: "Cancelling after this step…" }).waitFor();
  expect((await answered).status()).toBe(200);
}

const write = (tab: TestPage, yaml: string) => replaceText(tab, editorOf(tab.page), yaml);

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

const text = (more: string) =>
  `# kept\nname: planned\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\n${more}links:\n  - ["r1:eth0", "r2:eth0"]\n`;

test("errors are marked in the text, and the corrected text is planned and applied unchanged", async () => {
  const client = await served.signIn("admin");
  expect((await client.post("/api/v1/projects/deploy", { yaml: text("") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/planned?view=plan`);
  await editorOf(page).getByText("# kept").waitFor();
  await write(tab, text("  h1: {templat: linux}\n"));
  await page.locator(".cm-lint-marker-error").hover();
  await page.getByText(/unknown.*templat.*did you mean/i).waitFor();
  await page.locator(".cm-lintRange-error", { hasText: "templat" }).first().waitFor();
  await press(page, "Plan");
  await page.getByText(/^The text has (an error|\d+ errors)\.$/).waitFor();
  await write(tab, text("  h1: {template: linu}\n"));
  await page.getByRole("button", { name: "Replace by linux" }).waitFor();
  await tab.expectComplaint(/422/);
  await write(tab, text("  h1: {template: linux}\n"));
  await press(page, "Plan");
  await page.getByText("create node h1").waitFor();
  await page.getByRole("button", { name: /^h1, .*not created yet, will be created$/ }).waitFor();
  await press(page, "Apply");
  await page.getByText(/^Applied, \d+ steps?/).waitFor();
  const { data } = (await client.post("/api/v1/projects/public", { lab: "/planned", as_written: true })).json as {
    readonly data: { readonly yaml: string };
  };
  expect(data.yaml).toBe(text("  h1: {template: linux}\n"));
});

test("a plan with unsupported parts can be applied only after the user chooses to skip them", async () => {
  const client = await served.signIn("admin");
  const yaml = (more: string) => `name: poor\nnodes:\n  sw: {template: switch${more}}\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/poor?view=plan`);
  await editorOf(page).getByText("switch").waitFor();
  await write(tab, yaml(", env: {A: b}, icon: Router.png"));
  await press(page, "Plan");
  await page.getByText("nothing can be applied until these parts are removed or skipped").waitFor();
  await page.getByText(/^sw\.env: /).waitFor();
  expect(await page.getByRole("button", { name: "Apply", exact: true }).isDisabled()).toBe(true);
  await page.getByLabel("Apply without the parts that the host does not support").check();
  await page.getByText("Plan again to apply.").waitFor();
  await press(page, "Plan");
  await page.getByText("Not supported by this host, and skipped").waitFor();
  await press(page, "Apply");
  await page.getByText("Applied, 1 step, without the unsupported parts.").waitFor();
  const inspected = await client.post("/api/v1/projects/inspect", { lab: "/poor", refresh: true });
  expect(inspected.json.data.nodes).toMatchObject([{ node: "sw", icon: "Router.png" }]);
});

test("a link is opened by keys, and its quality is set and saved to the intent", async () => {
  const client = await served.signIn("admin");
  const yaml = `# a comment\nname: wire\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\nlinks:\n  - ["r1:eth0", "r2:eth0"]\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/wire`);
  await page.getByRole("button", { name: /^Link r1:eth0 to r2:eth0/ }).press("Enter");
  await page.getByLabel("Packets leaving r1:eth0: preset").selectOption("wan1");
  await page.getByLabel("Save to the intent, too").check();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Applied, and saved to the intent.").waitFor();
  await page.getByRole("button", { name: /^Link r1:eth0 to r2:eth0, → 80 ms/ }).waitFor({ state: "attached" }); // a straight line has no height
  const { data } = (await client.post("/api/v1/projects/public", { lab: "/wire", as_written: true })).json as {
    readonly data: { readonly yaml: string };
  };
  expect(data.yaml).toContain("# a comment");
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
  // By mouse: just after the list opens, the editor handles keys as typing.
  await page.getByRole("option", { name: /^template/ }).click();
  await editorOf(page).press("Control+Space");
  await page.getByRole("option", { name: /^frr/ }).waitFor();
  await page.getByRole("option", { name: /^linux/ }).click();
  await expect.poll(() => editorOf(page).locator(".cm-line").allTextContents()).toContain("    template: linux");
  // The incomplete text is not a valid lab.
  tab.allowComplaint(/422/);
});

test("a comment is saved without an apply, and a node that only the host has is named, with the choice to delete it", async () => {
  const client = await served.signIn("admin");
  const yaml = "name: noted\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\n";
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/noted?view=plan`);
  await editorOf(page).getByText("name: noted").waitFor();
  const commented = `# why this lab exists\n${yaml.replace("  r2: {template: frr}\n", "")}`;
  await write(tab, commented);
  await press(page, "Save");
  await page.getByText("Saved. The host is not changed.").waitFor();
  const { data } = (await client.post("/api/v1/projects/public", { lab: "/noted", as_written: true })).json;
  expect(data.yaml).toBe(commented);
  await press(page, "Plan");
  await page.getByText(/^1 part on the host is not in the text, and stays/).waitFor();
  expect(await page.getByText("Nothing to do").count()).toBe(0);
  await page.getByLabel("Delete parts that are not in the text (prune)").check();
  await press(page, "Plan");
  await page.getByText("delete node r2").waitFor();
});

test("a running change is shown step by step, also after a reload, and cancelled; then the remaining plan is shown", async () => {
  const client = await served.signIn("admin");
  const yaml = (more: string) => `name: long\nnodes:\n  r1: {template: frr}\n${more}`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/long?view=plan`);
  await editorOf(page).getByText("long").waitFor();
  const more = yaml("  r2: {template: frr}\n  r3: {template: frr}\n");
  await write(tab, more);
  await press(page, "Plan");
  await page.getByText("create node r3").waitFor();
  const release = hold("create r3");
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
  release();
  await page
    .getByRole("status")
    .getByText(/^reconcileProject by admin/)
    .waitFor({ state: "detached" });

  // The page that started the change also shows the remaining plan.
  const releaseNext = hold("create r4");
  await write(tab, `${more}  r4: {template: frr}\n  r5: {template: frr}\n`);
  await press(page, "Plan");
  await page.getByText("create node r5").waitFor();
  await press(page, "Apply");
  await page.getByText(/^Applying safe steps: step/).waitFor();
  await cancelAndWait(page);
  releaseNext();
  await page.getByText(/^Cancelled after \d+ steps?; \d+ steps? were not applied/).waitFor();
  await page.getByText("create node r5").waitFor();
  expect((await client.post("/api/v1/projects/status", { lab: "/long" })).json.data.last_job.outcome).toBe("cancelled");
});

test("a change that ends before its cancel request arrives shows no error", async () => {
  const client = await served.signIn("admin");
  const yaml = (more: string) => `name: brief\nnodes:\n  r1: {template: frr}\n${more}`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/brief?view=plan`);
  await editorOf(page).getByText("brief").waitFor();
  await write(tab, yaml("  r2: {template: frr}\n"));
  await press(page, "Plan");
  await page.getByText("create node r2").waitFor();
  const release = hold("create r2");
  await press(page, "Apply");
  await page.getByText(/^Applying safe steps: step/).waitFor();
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
  release();
  await page.getByText(/^Applied, \d+ steps?\. The host matches the text\./).waitFor();
  const asked = page.waitForResponse(/\/jobs\/[^/]+$/);
  sendCancel();
  expect((await answered).status()).toBe(403);
  await asked;
  expect(await page.getByRole("alert").count()).toBe(0);
  await tab.expectComplaint(/403/);
});

test("a startup configuration in a separate file is edited beside the text", async () => {
  const client = await served.signIn("admin");
  const yaml = (node: string) => `name: beside\nnodes:\n  ${node}: {template: frr, startup-config: ${node}.conf}\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("r1"), files: { "r1.conf": "hostname r1\n" } })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/beside?view=plan`);
  await page.getByLabel("Edit file").selectOption("r1.conf");
  await page.getByRole("textbox", { name: "r1.conf" }).fill("hostname router\n");
  await press(page, "Plan");
  await page.getByText("update config r1").waitFor();
  await press(page, "Apply");
  await page.getByRole("dialog", { name: "Nodes will stop" }).getByRole("button", { name: "Cancel" }).click();
  const { files } = (await client.post("/api/v1/projects/public", { lab: "/beside", as_written: true })).json.data;
  expect(files).toEqual({ "r1.conf": "hostname router\n" });

  // A missing file is an error of the text until it is added.
  await write(tab, `${yaml("r1")}  r2: {template: frr, startup-config: r2.conf}\n`);
  await page.locator(".cm-lint-marker-error").waitFor();
  await page.getByLabel("Name of a new file").fill("r2.conf");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "r2.conf" }).fill("hostname r2\n");
  await page.locator(".cm-lint-marker-error").waitFor({ state: "detached" });
  await tab.expectComplaint(/422/);
  await press(page, "Plan");
  await page.getByText("create node r2").waitFor();

  // Unapplied text is kept while another page is open, and signing out asks for confirmation.
  await page.getByRole("link", { name: "Topology" }).click();
  await page.getByRole("button", { name: /^r1, / }).waitFor();
  await page.getByRole("button", { name: /^r2, .*not created yet/ }).waitFor();
  page.on("dialog", (dialog) => void dialog.accept());
  await page.goto(`${served.url}/ui/labs/beside?view=plan`);
  await page.getByText("Your unapplied text was restored.").waitFor();
  await editorOf(page).getByText("r2.conf").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  const question = page.getByRole("dialog", { name: "Sign out and discard your unapplied text?" });
  await question.getByText("/beside").waitFor();
  await question.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Password").waitFor();
  expect(await page.evaluate("sessionStorage.length")).toBe(0);
});

test("the problems of a text are listed, lead to their lines, and are repaired by a button; a configuration is compared side by side", async () => {
  const client = await served.signIn("admin");
  const config = ["hostname r1", "interface eth0", " description old", ...Array.from({ length: 12 }, (_, at) => ` ! ${at}`)];
  const text = (lines: readonly string[]) =>
    `name: mended\nnodes:\n  r1:\n    template: frr\n    startup-config: |\n${lines.map((line) => `      ${line}\n`).join("")}  r2: {template: frr} # beside it\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: text(config) })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  tab.allowComplaint(/422/);
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/mended?view=plan`);
  await editorOf(page).getByText("name: mended").waitFor();
  const changed = text(config.with(2, " description new"));
  await write(tab, `${changed.replace("r2: {template", "r2: {templat")}colour: red\n`);
  const problems = page.getByRole("region", { name: "Problems of the text" });
  await problems.getByText(/^[23] errors$/).waitFor();
  await problems.getByRole("button", { name: "line 22" }).click();
  await editorOf(page).locator(".cm-activeLine", { hasText: "colour: red" }).waitFor();
  await page.keyboard.press("Control+Shift+k");
  await problems.getByText("colour").waitFor({ state: "detached" });
  await problems.getByRole("button", { name: "Replace by template" }).click();
  await problems.waitFor({ state: "detached" });
  await editorOf(page).getByText("# beside it").waitFor();
  await press(page, "Plan");
  const compared = page.getByRole("region", { name: "Before, After" });
  await compared.waitFor();
  expect(await compared.locator("del").allTextContents()).toEqual(["old"]);
  expect(await compared.locator("ins").allTextContents()).toEqual(["new"]);
  await compared.getByRole("button", { name: /equal lines$/ }).click();
  await compared.getByText("! 11").first().waitFor();
  expect(await violationsOf(page)).toEqual([]);
  // The same list is beside the drawing.
  await page.getByRole("link", { name: "Topology" }).click();
  await page.getByText("Changes of the text").click();
  await page.getByRole("region", { name: "Stored, Edited" }).locator("ins", { hasText: "new" }).waitFor();
});
