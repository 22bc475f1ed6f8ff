import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openUsers } from "../../src/hosts/local/accounts/users.ts";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { servePages, signIn, type TestBrowser, type TestPage, testBrowser } from "./browser.fixture.ts";

/** Everyday tasks on real nodes, with the number of clicks that they take. Typing and keys are not clicks; a drag is one. */

let local: TestLocalHost;
let browser: TestBrowser;
let served: Served;
let client: RawClient;
let tab: TestPage;
let page: Page;
let clicks = 0;

beforeAll(async () => {
  [browser, local] = await Promise.all([testBrowser(), testLocalHost()]);
  await openUsers(join(local.paths.state, "users.json")).put("ann", "ann-password", "user");
  served = await servePages({ host: local.host });
  client = await served.signIn("admin", "test");
  tab = await browser.open({ viewport: { width: 1440, height: 900 } });
  page = tab.page;
  await signIn(page, served.url, "admin", "test");
});
afterAll(async () => {
  // The last one first, and each of them also if another one fails.
  await using cleanup = new AsyncDisposableStack();
  for (const part of [served, local, browser, tab]) cleanup.use(part);
});

const node = (name: string): Locator => page.getByRole("button", { name: new RegExp(`^${name}, `) });
const bar = (): Locator => page.getByRole("region", { name: "Changes that are not applied" });
const long = { timeout: 60_000 };

async function click(part: Locator, button: "left" | "right" = "left"): Promise<void> {
  clicks++;
  await part.click({ button });
}

async function centreOf(part: Locator): Promise<readonly [number, number]> {
  const { x, y, width, height } = (await part.boundingBox())!;
  return [x + width / 2, y + height / 2];
}

/** Clicks the middle of a link: its line is thinner than the box around it. */
async function clickLink(from: string, to: string, button: "left" | "right" = "left"): Promise<void> {
  clicks++;
  const [[ax, ay], [bx, by]] = [await centreOf(node(from).locator("rect")), await centreOf(node(to).locator("rect"))];
  await page.mouse.click((ax + bx) / 2, (ay + by) / 2, { button });
}

async function link(from: string, to: string): Promise<void> {
  clicks++;
  await node(from).hover();
  await page.mouse.move(...(await centreOf(node(from).locator(".plug"))));
  await page.mouse.down();
  await page.mouse.move(...(await centreOf(node(to).locator("rect"))), { steps: 6 });
  await page.waitForTimeout(100);
  await page.mouse.up();
}

/** Counts the clicks of a task. */
async function clicksOf(task: () => Promise<void>): Promise<number> {
  clicks = 0;
  await task();
  return clicks;
}

async function nodesOf(lab: string): Promise<readonly { readonly name: string; readonly status: string; readonly ready?: boolean }[]> {
  const { json } = await client.post("/api/v1/projects/status", { lab });
  return json.data.live.nodes;
}

const allRun = async (lab: string, count: number) => {
  const nodes = await nodesOf(lab);
  return nodes.length === count && nodes.every(({ status, ready }) => status === "running" && ready !== false);
};

async function typeInto(name: string, ...lines: readonly string[]): Promise<void> {
  const tile = page.getByRole("region", { name: `Console of ${name}` });
  await tile.getByText("Connected", { exact: true }).waitFor();
  await tile.getByRole("textbox").focus();
  for (const line of lines) await page.keyboard.type(`${line}\n`);
}

const shown = async (name: string) => {
  const rows = await page
    .getByRole("region", { name: `Console of ${name}` })
    .locator(".xterm-rows > div")
    .allTextContents();
  return rows.map((row) => row.replaceAll("\u00a0", " ").trimEnd()).join("\n");
};

test("an example lab runs after 2 clicks", async () => {
  await page.goto(`${served.url}/ui/`);
  const count = await clicksOf(async () => {
    await click(page.getByRole("link", { name: "New lab" }).first());
    await click(page.getByRole("button", { name: "Run two-hosts" }));
    await page.getByRole("heading", { name: "two-hosts" }).waitFor();
  });
  expect(count).toBeLessThanOrEqual(2);
  await expect.poll(() => allRun("/two-hosts", 2), long).toBe(true);
  // The deployment ends shortly after its nodes run.
  // The page shows the lab still, and may ask for it.
  tab.allowComplaint(/404 .*(?:projects\/(?:status|plan|captures|inspect|public)|events\?lab=)/);
  await expect.poll(async () => (await client.post("/api/v1/projects/destroy", { lab: "/two-hosts" })).status, long).toBe(200);
});

test("two routers and a link, from nothing to a ping, take at most 8 clicks", { timeout: 180_000 }, async () => {
  await page.goto(`${served.url}/ui/`);
  const count = await clicksOf(async () => {
    await click(page.getByRole("link", { name: "New lab" }).first());
    await page.getByLabel("Name of the new lab").fill("drawn");
    await page.getByLabel("Name of the new lab").press("Enter");
    const palette = page.getByRole("region", { name: "Add to the lab" });
    await click(palette.getByRole("button", { name: "frr", exact: true }));
    await node("r1").waitFor();
    await click(palette.getByRole("button", { name: "frr", exact: true }));
    await node("r2").waitFor();
    await link("r1", "r2");
    await bar()
      .getByText(/adds r1, r2, link/)
      .waitFor();
    await click(bar().getByRole("button", { name: "Apply" }));
    await bar().getByText("Applied, ").waitFor();
    await expect.poll(() => allRun("/drawn", 2), long).toBe(true);
    for (const [name, address] of [
      ["r1", "10.0.0.1"],
      ["r2", "10.0.0.2"],
    ] as const) {
      await click(node(name).locator("rect"));
      await node(name).press("Enter");
      await typeInto(name, "configure terminal", "interface eth0", `ip address ${address}/24`, "end");
    }
    await typeInto("r2", "ping 10.0.0.1");
    await expect.poll(() => shown("r2"), long).toMatch(/bytes from 10\.0\.0\.1: .*time=/);
  });
  expect(count).toBeLessThanOrEqual(8);
});

test("packets of a link are seen after 2 clicks, and it is impaired with 3", async () => {
  await page.goto(`${served.url}/ui/labs/drawn`);
  await node("r2").waitFor();
  await page.getByRole("tab", { name: "Captures" }).waitFor();
  const capture = await clicksOf(async () => {
    await clickLink("r1", "r2", "right");
    await click(page.getByRole("menuitem", { name: "Capture" }));
    // The ping of the last test runs on.
    await page
      .getByRole("grid", { name: "Packets" })
      .getByText(/Echo \(ping\) (request|reply)/)
      .first()
      .waitFor();
  });
  expect(capture).toBeLessThanOrEqual(2);
  expect(new URL(page.url()).search).toMatch(/^\?drawer=captures&capture=/);
  await node("r1").waitFor();

  await page.goto(`${served.url}/ui/labs/drawn`);
  await node("r2").waitFor();
  const panel = page.getByRole("complementary", { name: /^Link / });
  const impair = await clicksOf(async () => {
    await clickLink("r1", "r2");
    const delay = panel.getByRole("group", { name: "Packets leaving r1:eth0" }).getByLabel(/delay/i);
    await click(delay);
    await delay.fill("50");
    await click(panel.getByRole("button", { name: "Apply" }));
    await panel.getByText("50 ms").first().waitFor();
  });
  expect(impair).toBeLessThanOrEqual(3);
  const { json } = await client.post("/api/v1/projects/inspect", { lab: "/drawn", refresh: true });
  expect(JSON.stringify(json.data.links)).toContain('"delay":50');
});

test("a router is added to a running lab with at most 5 clicks, a delete is undone with 1, and the lab is shared with at most 4", async () => {
  await page.goto(`${served.url}/ui/labs/drawn`);
  await node("r2").waitFor();
  const add = await clicksOf(async () => {
    await click(page.getByRole("button", { name: "Add", exact: true }));
    await click(page.getByRole("region", { name: "Add to the lab" }).getByRole("button", { name: "frr", exact: true }));
    await node("r3").waitFor();
    await link("r2", "r3");
    await bar()
      .getByText(/adds r3, link/)
      .waitFor();
    await click(bar().getByRole("button", { name: "Apply" }));
    await bar().getByText("Applied, ").waitFor();
  });
  expect(add).toBeLessThanOrEqual(5);
  expect((await nodesOf("/drawn")).map(({ name }) => name).sort()).toEqual(["r1", "r2", "r3"]);

  await node("r3").focus();
  await page.keyboard.press("Delete");
  await bar()
    .getByText(/deletes r3/)
    .waitFor();
  const undo = await clicksOf(() => click(page.getByRole("button", { name: "Undo" })));
  await bar()
    .getByText(/deletes r3/)
    .waitFor({ state: "detached" });
  expect(undo).toBe(1);

  const share = await clicksOf(async () => {
    await click(page.getByRole("button", { name: "Share…" }));
    const dialog = page.getByRole("dialog", { name: "Share /drawn" });
    await click(dialog.getByLabel("User"));
    await page.keyboard.type("ann");
    await dialog.getByRole("combobox", { name: "Right", exact: true }).selectOption("operate");
    clicks++;
    await click(dialog.getByRole("button", { name: "Share" }));
    await dialog.getByText("Shared with ann.").waitFor();
  });
  expect(share).toBeLessThanOrEqual(4);
});
