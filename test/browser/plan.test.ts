import { afterAll, beforeAll, expect, test } from "vitest";
import type { Served } from "../wire/served.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** Text, plan and links of a lab in a real browser. */

let browser: TestBrowser;
let served: Served;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const text = (more: string) =>
  `# kept\nname: planned\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\n${more}links:\n  - ["r1:eth0", "r2:eth0"]\n`;

test("a text is mended where it is marked, planned, applied, and what was prepared is what happens", async () => {
  const client = await served.signIn("admin");
  expect((await client.post("/api/v1/projects/deploy", { yaml: text("") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/planned?view=plan`);
  const editor = page.getByRole("textbox", { name: "The lab as YAML" });
  await editor.getByText("# kept").waitFor();
  const write = async (yaml: string) => {
    await editor.press("Control+a");
    // By the editor, not by the browser, which would carry styles over what is selected.
    await editor.press("Backspace");
    await page.keyboard.insertText(yaml);
  };
  await write(text("  h1: {templat: linux}\n"));
  await page.locator(".cm-lint-marker-error").waitFor();
  tab.expectComplaint(/422/);
  await write(text("  h1: {template: linux}\n"));
  await page.getByRole("button", { name: "Plan", exact: true }).click();
  await page.getByText("create node h1").waitFor();
  await page.getByRole("button", { name: /^h1, .*not there yet, will be made$/ }).waitFor();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText(/^Applied, \d+ steps?/).waitFor();
  const { data } = (await client.post("/api/v1/projects/public", { lab: "/planned", as_written: true })).json as {
    readonly data: { readonly yaml: string };
  };
  expect(data.yaml).toBe(text("  h1: {template: linux}\n"));
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
