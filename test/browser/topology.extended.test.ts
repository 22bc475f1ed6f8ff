import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** The topology of a lab: nodes are moved and found, and changes of other users appear. */

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

const text = (name: string, more = "") =>
  `# the first line\nname: ${name}\nnodes:\n  r1: {template: frr, position: {x: 0, y: 0}} # the start position\n  r2: {template: frr, position: {x: 300, y: 0}}\n${more}links:\n  - ["r1:eth0", "r2:eth0"]\n`;

async function deploy(name: string): Promise<void> {
  expect((await client.post("/api/v1/projects/deploy", { yaml: text(name) })).status).toBe(200);
}

async function openLab(page: Page, name: string): Promise<void> {
  await page.goto(`${served.url}/ui/labs/${name}`);
  await node(page, "r2").waitFor();
}

const node = (page: Page, name: string): Locator => page.getByRole("button", { name: new RegExp(`^${name}, `) });

async function written(name: string): Promise<string> {
  const { json } = await client.post("/api/v1/projects/public", { lab: `/${name}`, as_written: true });
  return json.data.yaml as string;
}

/** Returns the host's positions, by node. */
async function positions(name: string): Promise<Record<string, { readonly x: number; readonly y: number }>> {
  const { json } = await client.post("/api/v1/projects/inspect", { lab: `/${name}`, refresh: true });
  const nodes = json.data.nodes as readonly { readonly node: string; readonly position: { readonly x: number; readonly y: number } }[];
  return Object.fromEntries(nodes.map((one) => [one.node, one.position]));
}

async function centreOf(shape: Locator): Promise<{ readonly x: number; readonly y: number }> {
  const box = (await shape.boundingBox())!;
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

async function drag(page: Page, name: string, by: { readonly x: number; readonly y: number }): Promise<void> {
  const { x, y } = await centreOf(node(page, name).locator("rect"));
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + by.x / 2, y + by.y / 2);
  await page.mouse.move(x + by.x, y + by.y);
  await page.mouse.up();
}

test("a dragged node is saved into the text with its comments and into the host, and moves in another browser", async () => {
  await deploy("drawn");
  await using tab = await browser.open();
  await using other = await browser.open();
  for (const { page } of [tab, other]) {
    await signIn(page, served.url);
    await openLab(page, "drawn");
  }
  const { page } = tab;
  const before = await centreOf(node(other.page, "r1").locator("rect"));
  await drag(page, "r1", { x: 90, y: 120 });
  await page.getByText("1 change: moves r1; no running node is disturbed").waitFor();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText("Applied, 1 step. The host matches the text.").waitFor();
  const { r1, r2 } = await positions("drawn");
  expect(r1!.x).toBeGreaterThan(0);
  expect(r1!.y).toBeGreaterThan(r1!.x);
  expect(r2).toEqual({ x: 300, y: 0 });
  const yaml = await written("drawn");
  expect(yaml).toContain("# the first line");
  expect(yaml).toContain("# the start position");
  expect(yaml).toContain(`{x: ${r1!.x}, y: ${r1!.y}}`);
  await expect.poll(() => centreOf(node(other.page, "r1").locator("rect"))).not.toEqual(before);
  await page.getByText("in sync").waitFor();
});

test("a text that another user changed meanwhile is compared with one's own, and can be taken instead", async () => {
  await deploy("contested");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await openLab(page, "contested");
  await page.getByRole("button", { name: "Add", exact: true }).waitFor();
  await node(page, "r1").press("Alt+ArrowDown");
  await page.getByText("1 change: moves r1; no running node is disturbed").waitFor();
  const theirs = text("contested").replace("{x: 0, y: 0}", "{x: -90, y: -20}");
  expect((await client.post("/api/v1/projects/reconcile", { yaml: theirs })).json.data.status).toBe("applied");
  await page.getByText(/The stored text was changed meanwhile, in another tab or by another user/).waitFor();
  await page.getByRole("button", { name: "Use the stored text, discard mine" }).click();
  await page.getByRole("region", { name: "Changes that are not applied" }).waitFor({ state: "hidden" });
  await expect.poll(() => node(page, "r1").getAttribute("transform")).toBe("translate(-90 -20)");
});

test("changes of other users appear at once: new and stopped nodes, link quality, suspended links, drift", async () => {
  await deploy("watched");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await openLab(page, "watched");
  await page.getByText("in sync").waitFor();
  const lab = "/watched";
  await client.post("/api/v1/projects/exec", { lab, action: "stop", node: "r2" });
  await page.getByRole("button", { name: "r2, router, stopped" }).waitFor();
  const endpoints = ["r1:eth0", "r2:eth0"];
  await client.post("/api/v1/projects/exec", { lab, action: "start", node: "r2" });
  await client.post("/api/v1/projects/links/quality", { lab, endpoints, a: { delay: 25 }, save: true });
  await page.getByRole("button", { name: /^Link r1:eth0 to r2:eth0, → 25 ms/ }).waitFor({ state: "attached" }); // a straight line has no height
  // The signs differ in their shapes, not only in their colours.
  const sign = page.locator(".link .sign path");
  const waves = await sign.getAttribute("d");
  await page.getByRole("link", { name: "out of sync: 1 difference" }).waitFor();
  await client.post("/api/v1/projects/links/suspend", { lab, endpoints, suspended: true });
  await page.getByRole("button", { name: /^Link r1:eth0 to r2:eth0, suspended/ }).waitFor({ state: "attached" });
  expect(await sign.getAttribute("d")).not.toBe(waves);
  expect(await page.evaluate("getComputedStyle(document.querySelector('.link .line')).strokeDasharray")).not.toBe("none");
  const wider = text("watched", "  h1: {template: linux, position: {x: 150, y: 200}}\n");
  expect((await client.post("/api/v1/projects/reconcile", { yaml: wider })).json.data.status).toBe("applied");
  await page.getByRole("button", { name: /^h1, / }).waitFor();
  await page.getByText("in sync").waitFor();
});

test("a found node is centred and opened by Enter, and Escape moves the focus back to it", async () => {
  await deploy("found");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await openLab(page, "found");
  const search = page.getByRole("searchbox", { name: "Find a node" });
  await search.fill("R");
  await page.getByText("1 of 2").waitFor();
  await search.press("Enter");
  await page.getByText("2 of 2").waitFor();
  await search.fill("r2");
  await page.getByText("1 of 1").waitFor();
  const stage = (await page.getByRole("application").boundingBox())!;
  const middle = { x: stage.x + stage.width / 2, y: stage.y + stage.height / 2 };
  const found = await centreOf(node(page, "r2").locator("rect"));
  expect(Math.hypot(found.x - middle.x, found.y - middle.y)).toBeLessThan(3);
  await search.press("Enter");
  const panel = page.getByRole("complementary", { name: "Node r2" });
  await panel.waitFor();
  const focused = () => page.evaluate("document.activeElement.getAttribute('aria-label')");
  await expect.poll(focused).toBe("Node r2");
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "hidden" });
  await expect.poll(focused).toMatch(/^r2, /);
  await search.fill("nobody");
  await page.getByText("none", { exact: true }).waitFor();
});

test("a pan causes no layout: it moves the existing drawing", async () => {
  await deploy("panned");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await openLab(page, "panned");
  await page.getByText("in sync").waitFor();
  const before = await centreOf(node(page, "r1").locator("rect"));
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const layouts = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "LayoutCount")!.value;
  const stage = (await page.getByRole("application").boundingBox())!;
  const [x, y] = [stage.x + 20, stage.y + stage.height - 80];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const begun = await layouts();
  const steps = 40;
  for (let step = 1; step <= steps; step++) {
    await page.mouse.move(x + 3 * step, y + step);
    await page.evaluate("new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))");
  }
  // Other parts of the page may cause a few layouts. If a pan laid out the drawing, there would be one for each step.
  expect((await layouts()) - begun).toBeLessThan(steps / 4);
  await page.mouse.up();
  const after = await centreOf(node(page, "r1").locator("rect"));
  expect([Math.round(after.x - before.x), Math.round(after.y - before.y)]).toEqual([3 * steps, steps]);
});

test("the page of a lab that is destroyed meanwhile shows that", async () => {
  await deploy("passing");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await openLab(page, "passing");
  tab.allowComplaint(/404 .*projects\/status/);
  expect((await client.post("/api/v1/projects/destroy", { lab: "/passing" })).status).toBe(200);
  await page
    .getByRole("alert")
    .getByText(/It was destroyed, renamed/)
    .waitFor();
  await page.getByRole("heading", { name: "/passing" }).waitFor();
  expect(await page.locator("[data-node]").count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("link", { name: "See your labs" }).click();
  await page.getByRole("heading", { name: "Labs" }).waitFor();
  await tab.expectComplaint(/404/);
});
