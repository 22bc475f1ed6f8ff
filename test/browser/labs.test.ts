import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operations } from "../../src/contract/operations.ts";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** The page of all labs: made from files, imported, seen as they change, destroyed. */

let browser: TestBrowser;
let served: Served;
let client: RawClient;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
  client = await served.signIn("admin");
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const yaml = (name: string) =>
  `name: ${name}\nnodes:\n  r1: {template: frr}\n  h1: {template: linux}\nlinks:\n  - ["r1:eth0", "h1:eth0"]\n`;

async function deploy(name: string): Promise<void> {
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml(name) })).status).toBe(200);
}

const rowOf = (page: Page, name: string) => page.getByRole("row", { name: new RegExp(`^${name} `) });

test("a lab's files are dropped on the page, checked, and deployed", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/new`);
  await page.getByLabel("The lab as YAML").waitFor();
  const files = {
    "dropped.clab.yml": yaml("dropped").replace("r1: {template: frr}", "r1: {template: frr, startup-config: r1.conf}"),
    "r1.conf": "hostname from-a-file\n",
  };
  const drop = async (some: Readonly<Record<string, string>>) => {
    const dataTransfer = await page.evaluateHandle(`(() => {
      const all = new DataTransfer();
      for (const [name, text] of Object.entries(${JSON.stringify(some)})) all.items.add(new File([text], name));
      return all;
    })()`);
    await page.getByLabel("The lab as YAML").dispatchEvent("drop", { dataTransfer });
  };
  await drop({ "a.yaml": "name: a", "b.yml": "name: b" });
  await page.getByText("One lab at a time: a.yaml, b.yml are 2 YAML files.").waitFor();
  await drop(files);
  await page.getByText("dropped.clab.yml, r1.conf are read.").waitFor();
  expect(await page.getByLabel("The lab as YAML").inputValue()).toBe(files["dropped.clab.yml"]);
  expect(await violationsOf(page)).toEqual([]);
  // A file that is left out is missed.
  await page.getByRole("button", { name: "Leave r1.conf out" }).click();
  await page.getByRole("button", { name: "Check" }).click();
  await page
    .getByRole("alert")
    .getByText(/r1\.conf/)
    .first()
    .waitFor();
  tab.expectComplaint(/422/);
  await page
    .locator('input[type="file"]')
    .setInputFiles({ name: "r1.conf", mimeType: "text/plain", buffer: Buffer.from(files["r1.conf"]) });
  await page.getByText("r1.conf is read.").waitFor();
  await page.getByRole("button", { name: "Deploy" }).click();
  await page.getByRole("heading", { name: "dropped" }).waitFor();
  const { json } = await client.post("/api/v1/projects/public", { lab: "/dropped", as_written: true });
  expect(json.data.files).toEqual({ "r1.conf": files["r1.conf"] });
});

test("the list tells state, drift and last change as they become, and what is lost when a lab is destroyed", async () => {
  await deploy("listed");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  const row = rowOf(page, "listed");
  await row.getByText("all 2 running").waitFor();
  await row.getByText("in sync").waitFor();
  await row.getByText("deployed").waitFor();
  const lab = "/listed";
  await client.post("/api/v1/projects/exec", { lab, action: "stop", node: "h1" });
  await row.getByText("1 running, 1 stopped").waitFor();
  await client.post("/api/v1/projects/links/quality", { lab, endpoints: ["r1:eth0", "h1:eth0"], a: { delay: 5 }, save: true });
  await row.getByRole("link", { name: "out of sync: 1 difference" }).waitFor();
  await row.getByRole("button", { name: "Destroy… listed" }).click();
  const dialog = page.getByRole("dialog", { name: "Destroy listed?" });
  await dialog.getByText(/Its 2 nodes are stopped, and what is on their disks is lost\..*Running now: r1\./).waitFor();
  await dialog.getByText(/Changed on the host and not in the intent: .*h1:eth0/).waitFor();
  const destroy = dialog.getByRole("button", { name: "Destroy" });
  expect(await destroy.isDisabled()).toBe(true);
  await dialog.getByRole("textbox").fill("listed");
  await destroy.click();
  await row.waitFor({ state: "detached" });
  // What the page asked of the lab while it went.
  tab.allowComplaint(/404/);
  expect((await client.post("/api/v1/projects/status", { lab })).status).toBe(404);
});

test("a lab is imported as a copy, which is shown; its source stays", async () => {
  await deploy("source");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.getByRole("button", { name: "Import a lab…" }).click();
  const dialog = page.getByRole("dialog", { name: "Import a lab" });
  await dialog.getByLabel("Lab on the host").selectOption("/source");
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel("Path of the copy").fill("courses/mine");
  await dialog.getByRole("button", { name: "Import" }).click();
  await dialog.getByRole("heading", { name: "Imported as /courses/mine" }).waitFor();
  await dialog.getByText(/the lab source is mine here/).waitFor();
  await dialog.getByRole("button", { name: "Open it" }).click();
  await page.getByRole("heading", { name: "mine" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/ui/labs/courses/mine");
  await page.getByRole("button", { name: "r1, router, stopped" }).waitFor();
  await page.getByRole("button", { name: "Start all" }).click();
  await page.getByText("2 running").waitFor();
  await page.getByRole("button", { name: "Stop all…" }).click();
  await page
    .getByRole("dialog")
    .getByText(/The 2 nodes that run are stopped/)
    .waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Stop all" }).click();
  await page.getByRole("button", { name: "r1, router, stopped" }).waitFor();
  expect(await page.title()).toBe("mine: Topology – Labwright");
  const { json } = await client.post("/api/v1/projects/status", { lab: "/source" });
  expect(json.data.live.nodes.map(({ status }: { readonly status: string }) => status)).toEqual(["running", "running"]);
});

test("who may not change labs sees them, and no way to change them", async () => {
  await deploy("looked");
  expect((await client.send(operations.setLabGrants, { lab: "/looked", grants: [{ user: "eve", right: "view" }] })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "eve");
  await rowOf(page, "looked").getByText("in sync").waitFor();
  expect(await page.getByRole("button", { name: /Destroy|Import/ }).count()).toBe(0);
  expect(await page.getByRole("link", { name: "New lab" }).count()).toBe(0);
});
