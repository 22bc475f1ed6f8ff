import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Served } from "../wire/served.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** The bytes that a browser with an empty cache transfers until a page can be used. */

let browser: TestBrowser;
let served: Served;

const yaml = `name: light\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\nlinks:\n  - ["r1:eth0", "r2:eth0"]\n`;
const maxBytes = 100_000;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
  const client = await served.signIn("admin");
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

interface Transfer {
  readonly name: string;
  readonly bytes: number;
}

/** Records the bytes on the wire of the files of the pages: scripts, styles, documents and pictures. */
async function transfersOf(page: Page): Promise<readonly Transfer[]> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  const names = new Map<string, string>();
  const transfers: Transfer[] = [];
  session.on("Network.responseReceived", ({ requestId, response }) => {
    if (/\/ui\//.test(response.url)) names.set(requestId, new URL(response.url).pathname.split("/").at(-1)!);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const name = names.get(requestId);
    if (name !== undefined) transfers.push({ name, bytes: encodedDataLength });
  });
  return transfers;
}

const total = (transfers: readonly Transfer[]) => transfers.reduce((sum, { bytes }) => sum + bytes, 0);
const heavy = /^(consoles|use-editor|text-pane|plan-page|capture-page)-/;

test("the list of labs and the page of a lab load less than 100 kB, without the editor and the terminals", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  const transfers = await transfersOf(page);
  const measured = async (path: string, shown: () => Promise<void>) => {
    await page.goto("about:blank");
    (transfers as Transfer[]).length = 0;
    await page.goto(`${served.url}/ui${path}`);
    await shown();
    return [...transfers];
  };
  const labs = await measured("/", () => page.getByRole("rowheader", { name: /^light/ }).waitFor());
  expect(labs.length).toBeGreaterThan(3);
  expect(total(labs), JSON.stringify(labs)).toBeLessThan(maxBytes);

  const lab = await measured("/labs/light", () => page.getByRole("button", { name: /^r1, router, running/ }).waitFor());
  expect(total(lab), JSON.stringify(lab)).toBeLessThan(maxBytes);
  for (const loaded of [labs, lab]) expect(loaded.filter(({ name }) => heavy.test(name))).toEqual([]);

  // They load when they are needed.
  await page.getByRole("button", { name: /^r1, router, running/ }).press("Enter");
  await page.getByRole("region", { name: "Console of r1" }).getByText("Connected", { exact: true }).waitFor();
  expect(transfers.some(({ name }) => /^consoles-.*\.js$/.test(name))).toBe(true);
});
