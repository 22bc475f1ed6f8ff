import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** A link between real routers: its panel changes what packets and OSPF experience. */

const lab = "/ospf-triangle";
const longMs = 60_000;
const patience = 90_000;

let local: TestLocalHost;
let browser: TestBrowser;
let served: Served;
let client: RawClient;
let storageState: Awaited<ReturnType<BrowserContext["storageState"]>>;

beforeAll(async () => {
  [browser, local] = await Promise.all([testBrowser(), testLocalHost()]);
  served = await servePages({ host: local.host });
  client = await served.signIn("admin", "test");
  const labs = join(import.meta.dirname, "../../labs");
  const files: Record<string, string> = {};
  for (const name of ["r1", "r2", "r3"].map((router) => `ospf-triangle/${router}.conf`))
    files[name] = await readFile(join(labs, name), "utf8");
  const yaml = await readFile(join(labs, "ospf-triangle.yaml"), "utf8");
  expect((await client.post("/api/v1/projects/deploy", { yaml, files })).status).toBe(200);
  await using tab = await browser.open();
  await signIn(tab.page, served.url, "admin", "test");
  storageState = await tab.page.context().storageState();
  // The route must use the link itself, not the way around it.
  await eventually(
    "r1's way to h2",
    patience,
    () => outputOf("r1", "show ip route 192.168.2.10"),
    (text) => text.includes("via eth1"),
  );
  await eventually(
    "r2's way to h1",
    patience,
    () => outputOf("r2", "show ip route 192.168.1.10"),
    (text) => text.includes("via eth1"),
  );
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

async function exec(node: string, command: string): Promise<string> {
  const { status, json } = await client.post("/api/v1/console/exec", { lab, node, command, timeout_ms: longMs });
  if (status !== 200) throw new Error(`${command} on ${node}: ${json.error}`);
  return json.data.output;
}

/** Returns the output of a command, or the message of its error: for polling, when the console may have no prompt yet. */
const outputOf = (node: string, command: string): Promise<string> => exec(node, command).catch((error: Error) => error.message);

/** Waits until r1's full OSPF neighbours match. */
async function neighbours(holds: (text: string) => boolean): Promise<void> {
  const full = async () =>
    (await outputOf("r1", "show ip ospf neighbor"))
      .split("\n")
      .filter((line) => line.includes("Full"))
      .join("\n");
  await eventually("r1's neighbours", patience, full, holds);
}

/** Opens the panel of the link between r1 and r2. */
async function openLink(page: Page) {
  await page.goto(`${served.url}/ui/labs${lab}`);
  await page.getByRole("button", { name: /^Link r1:eth1 to r2:eth1/ }).press("Enter");
  return page.getByRole("complementary", { name: "Link r1:eth1 to r2:eth1" });
}

test("the open panel is part of the address: it is there after a reload, and for whoever gets the address", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  const panel = await openLink(page);
  await panel.waitFor();
  await expect.poll(() => page.url()).toMatch(/[?&]part=link%3A/);
  await page.reload();
  await panel.waitFor();
  const address = page.url();
  await panel.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.url()).not.toMatch(/part=/);
  await page.goto(address);
  await panel.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.url()).not.toMatch(/part=/);
});

test("a quality delays pings, which are drawn as they pass, and is saved to the intent", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  const panel = await openLink(page);
  // 40 ms one way, 30 ms the other.
  await panel.getByRole("group", { name: "Packets leaving r1:eth1" }).getByLabel("Delay").fill("40");
  await panel.getByRole("group", { name: "Packets leaving r2:eth1" }).getByLabel("Delay").fill("30");
  await panel.getByLabel("Save to the intent, too").check();
  await panel.getByRole("button", { name: "Apply" }).click();
  await panel.getByText("Applied, and saved to the intent.").waitFor();
  await expect.poll(() => panel.locator("dl").first().textContent()).toMatch(/r1:eth1 →40 ms.*r2:eth1 →30 ms/);

  // From h1 over r1 and r2. The panel shows the round trips of the same pings.
  const pinging = exec("h1", "until [ -e /tmp/enough ]; do ping -c 1 -W 5 192.168.2.10; done");
  await panel.getByText(/^Pings that leave r1:eth1: [1-9]\d* answered/).waitFor();
  const trip = panel.locator(".way", { hasText: "round trip" }).locator("dd");
  await expect.poll(async () => Number.parseFloat((await trip.textContent()) ?? "")).toBeGreaterThanOrEqual(70);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page)).toEqual([]);
  }
  const h1 = (await local.session.observe(lab))!.nodes.find(({ name }) => name === "h1")!.id;
  await (await local.sandbox(lab)).exec(Number(h1), ["touch", "/tmp/enough"], { timeoutMs: 30_000 });
  const times = [...(await pinging).matchAll(/ time=([\d.]+) ms/g)].map(([, ms]) => Number(ms));
  expect(times.length).toBeGreaterThan(0);
  expect(Math.min(...times)).toBeGreaterThanOrEqual(70);

  const { yaml } = (await client.post("/api/v1/projects/public", { lab, as_written: true })).json.data;
  expect(yaml).toMatch(/^# Three FRR routers in a triangle/);
  expect(yaml).toMatch(/delay: 40/);
  expect((await client.post("/api/v1/projects/plan", { lab })).json.data.actions).toEqual([]);

  // A value that is not saved is marked, and one button brings back the declared one.
  await panel.getByLabel("Save to the intent, too").uncheck();
  await panel.getByRole("group", { name: "Packets leaving r1:eth1" }).getByLabel("Delay").fill("90");
  await panel.getByRole("button", { name: "Apply" }).click();
  await panel.getByText("live only, not in the text").waitFor();
  await page.getByText("1 link impaired live only").waitFor();
  await expect.poll(() => panel.locator("dl").first().textContent()).toMatch(/r1:eth1 →90 ms/);
  await panel.getByRole("button", { name: "Back to the declared values" }).click();
  await expect.poll(() => panel.locator("dl").first().textContent()).toMatch(/r1:eth1 →40 ms.*r2:eth1 →30 ms/);
  await panel.getByText("live only, not in the text").waitFor({ state: "detached" });
  await page.getByText("1 link impaired live only").waitFor({ state: "detached" });
  // The fields have the declared values again, too.
  expect(await panel.getByRole("group", { name: "Packets leaving r1:eth1" }).getByLabel("Delay").inputValue()).toBe("40");
});

test("a suspended side of a link has no carrier, and OSPF loses its neighbour until it is resumed", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  const panel = await openLink(page);
  await panel.getByRole("button", { name: "Suspend r1:eth1" }).click();
  await panel.getByRole("button", { name: "Resume r1:eth1" }).waitFor();
  await page.getByRole("button", { name: /^Link r1:eth1 to r2:eth1.*suspended/ }).waitFor({ state: "attached" });
  await neighbours((text) => !text.includes("10.255.0.2") && text.includes("10.255.0.3"));
  await panel.getByRole("button", { name: "Resume r1:eth1" }).click();
  await panel.getByRole("button", { name: "Suspend r1:eth1" }).waitFor();
  await neighbours((text) => text.includes("10.255.0.2"));
});
