import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** Several users of one lab: who looks at it, its history, and the way back to an earlier state. */

let browser: TestBrowser;
let served: Served;
let client: RawClient;

const lab = "/shared";
const yaml = "name: shared # as it began\nnodes:\n  r1: {template: frr, position: {x: 0, y: 0}}\n";

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
  client = await served.signIn("ann");
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  await client.send({ method: "PUT", path: "/api/v1/labs/grants" }, { lab, grants: [{ user: "bob", right: "view" }] });
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const node = (page: Page, name: string): Locator => page.getByRole("button", { name: new RegExp(`^${name}, `) });

async function open(page: Page, query = ""): Promise<void> {
  await page.goto(`${served.url}/ui/labs${lab}${query}`);
  await node(page, "r1").waitFor();
}

test("users of a lab see each other while its page is open", async () => {
  await using pages = await opened();
  const [hers, his] = pages;
  await open(hers.page);
  await signIn(his.page, served.url, "bob");
  await open(his.page);
  await hers.page.getByText("bob is here").waitFor();
  await his.page.getByText("ann is here").waitFor();
  expect(await violationsOf(his.page)).toEqual([]);
  await his.page.getByRole("link", { name: "Labs", exact: true }).click();
  await hers.page.getByText("bob is here").waitFor({ state: "hidden" });
});

test("the history shows each change, and an earlier state returns as edited text that changes the host only when it is applied", async () => {
  const added = `${yaml}  h1: {template: linux, position: {x: 200, y: 0}}\n`;
  expect((await client.post("/api/v1/projects/reconcile", { yaml: added })).json.data.status).toBe("applied");
  await using tab = await browser.open({ viewport: { width: 1440, height: 900 } });
  const { page } = tab;
  await signIn(page, served.url, "ann");
  await open(page, "?drawer=history");
  const rows = page.getByRole("tabpanel", { name: "History" }).locator(".history-list > li");
  await expect
    .poll(async () => (await rows.allInnerTexts()).map((text) => text.split("\n")[0]))
    .toEqual([
      expect.stringMatching(/^#\d+ Apply now ann, .* steps?; 2 nodes, 0 links/),
      expect.stringMatching(/^#\d+ Deploy ann, .* steps?; 1 node, 0 links/),
    ]);
  await rows.first().getByText("#2 Apply").click();
  await rows.first().getByText("create node h1").waitFor();
  await rows.first().getByRole("region", { name: "Before, This state" }).getByText("h1: {template: linux").waitFor();
  expect(await violationsOf(page)).toEqual([]);

  await rows.last().getByRole("button", { name: "Plan a return to this state" }).click();
  const bar = page.getByRole("region", { name: "Changes that are not applied" });
  await bar.getByText("This is the text of state 1 Deploy.").waitFor();
  await bar.getByText(/deletes h1/).waitFor();
  await node(page, "h1").waitFor();
  expect((await client.post("/api/v1/projects/inspect", { lab })).json.data.nodes).toHaveLength(2);
  await page.waitForTimeout(150);
  await bar.getByRole("button", { name: "Apply" }).click();
  const question = page.getByRole("dialog", { name: "Nodes will stop" });
  await question.waitFor();
  await question.getByRole("button", { name: "Stop them and apply" }).click();
  await node(page, "h1").waitFor({ state: "hidden" });
  await expect.poll(() => rows.count()).toBe(3);
  expect((await client.post("/api/v1/projects/public", { lab, as_written: true })).json.data.yaml).toBe(yaml);
});

test("a user who may only view reads the history without secrets, and is offered no return", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "bob");
  await open(page, "?drawer=history");
  const row = page.getByRole("tabpanel", { name: "History" }).locator(".history-list > li").last();
  await row.getByText("#1 Deploy").click();
  await row.getByText("template: frr").waitFor();
  expect(await row.innerText()).not.toContain("as it began");
  expect(await page.getByRole("button", { name: "Plan a return to this state" }).count()).toBe(0);
});

/** Two pages, one of them signed in as ann. */
async function opened() {
  const [hers, his] = [await browser.open(), await browser.open()];
  await signIn(hers.page, served.url, "ann");
  return Object.assign([hers, his] as const, {
    async [Symbol.asyncDispose]() {
      await hers[Symbol.asyncDispose]();
      await his[Symbol.asyncDispose]();
    },
  });
}
