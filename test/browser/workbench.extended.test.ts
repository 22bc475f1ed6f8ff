import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, type TestPage, testBrowser } from "./browser.fixture.ts";

/** The page of a lab: the drawing fills the window, and consoles, nodes, events and jobs are in a drawer below it. */

let browser: TestBrowser;
let served: Served;
let client: RawClient;
let tab: TestPage;
let page: Page;

const lab = "/bench";
const yaml = `name: bench
nodes:
  r1: {template: frr, position: {x: 0, y: 0}}
  r2: {template: frr, position: {x: 300, y: 0}}
  r10: {template: frr, position: {x: 150, y: 200}}
links:
  - ["r1:eth0", "r2:eth0"]
`;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
  client = await served.signIn("admin");
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  tab = await browser.open({ viewport: { width: 1440, height: 900 } });
  page = tab.page;
  await signIn(page, served.url);
});
afterAll(async () => {
  await tab[Symbol.asyncDispose]();
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const node = (name: string): Locator => page.getByRole("button", { name: new RegExp(`^${name}, `) });
const drawerTab = (name: string): Locator => page.getByRole("tab", { name, exact: true });
/** The address without the part whose panel is open: its id on the host is another one in each run. */
const search = () =>
  page
    .url()
    .replace(/^[^?]*/, "")
    .replace(/&?part=\d+/, "")
    .replace(/^\?&?$/, "");

async function open(query = ""): Promise<void> {
  await page.goto(`${served.url}/ui/labs${lab}${query}`);
  await node("r10").waitFor();
}

async function boxOf(part: Locator) {
  return (await part.boundingBox())!;
}

async function centreOf(part: Locator): Promise<readonly [number, number]> {
  const { x, y, width, height } = await boxOf(part);
  return [x + width / 2, y + height / 2];
}

/** Whether the page is larger than the window, in px. */
const overflow = () =>
  page.evaluate("document.documentElement.scrollHeight - innerHeight + document.documentElement.scrollWidth - innerWidth");

test("a console opens below the drawing, which does not move under the pointer", async () => {
  await open();
  const shape = node("r1").locator("rect");
  const [x, y] = await centreOf(shape);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.up();
  await page.waitForTimeout(150);
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
  const tile = page.getByRole("region", { name: "Console of r1" });
  await tile.getByText("Connected", { exact: true }).waitFor();
  expect(search()).toBe("?drawer=consoles&node=r1");
  const [afterX, afterY] = await centreOf(shape);
  expect(Math.hypot(afterX - x, afterY - y)).toBeLessThan(2);
  expect(await overflow()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  await page.reload();
  await tile.getByText("Connected", { exact: true }).waitFor();
  await page.goBack();
  await tile.waitFor({ state: "hidden" });
  expect(search()).toBe("");
  // The panel of a link, which is higher than the window, makes the page no larger.
  await page.getByRole("button", { name: /^Link r1:eth0/ }).press("Enter");
  await page.getByRole("complementary", { name: "Link r1:eth0 to r2:eth0" }).waitFor();
  expect(await overflow()).toBe(0);
});

test("the height of the drawer is changed by hand and by keyboard, and kept after a reload", async () => {
  await open("?drawer=log");
  const edge = page.getByRole("separator", { name: "Height of the drawer" });
  const height = async () => Number(await edge.getAttribute("aria-valuenow"));
  const before = await height();
  const [x, y] = await centreOf(edge);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x, y - 40, { steps: 4 });
  await page.mouse.move(x, y - 80, { steps: 4 });
  await page.mouse.up();
  const dragged = await height();
  expect(Math.abs(dragged - before - 80)).toBeLessThan(10);
  await edge.press("ArrowDown");
  expect(await height()).toBe(dragged - 32);
  const stage = await boxOf(page.getByRole("application"));
  await page.reload();
  await edge.waitFor();
  expect(await height()).toBe(dragged - 32);
  expect((await boxOf(page.getByRole("application"))).height).toBeCloseTo(stage.height, 0);
  const { width } = await boxOf(node("r1"));
  await page.getByRole("button", { name: "Maximise" }).click();
  await node("r1").waitFor({ state: "hidden" });
  // The pointer is over the drawing then, so that it is not fitted again.
  await page.getByRole("button", { name: "Restore size" }).click();
  await node("r1").waitFor();
  expect((await boxOf(node("r1"))).width).toBeCloseTo(width, 0);
});

test("the bar of changes covers no node of the drawing, and beside the text no end of a panel", async () => {
  const nodes = Array.from({ length: 9 }, (_, at) => `  c${at}: {template: frr, position: {x: 0, y: ${at * 200}}}\n`).join("");
  expect((await client.post("/api/v1/projects/deploy", { yaml: `name: column\nnodes:\n${nodes}` })).status).toBe(200);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`${served.url}/ui/labs/column`);
  await page.getByRole("button", { name: "Add", exact: true }).waitFor();
  await node("c0").press("Alt+ArrowLeft");
  const bar = page.getByRole("region", { name: "Changes that are not applied" });
  await bar.getByRole("button", { name: "Save" }).click();
  await bar.getByText("Saved. The host is not changed.").waitFor();
  await page.reload();
  await bar.getByText("1 change: moves c0").waitFor();
  const bottom = async (part: Locator) => {
    const { y, height } = await boxOf(part);
    return y + height;
  };
  const top = async () => (await boxOf(bar)).y;
  await expect.poll(async () => (await bottom(node("c8"))) < (await top())).toBe(true);
  await page.getByRole("button", { name: "Text", exact: true }).click();
  await node("c1").press("Space");
  const panel = page.getByRole("complementary", { name: "Node c1" });
  await panel.getByText("Console log").scrollIntoViewIfNeeded();
  await expect.poll(async () => (await bottom(panel)) <= (await top())).toBe(true);
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("the table of nodes is sorted, and stops a node; the event and the job are in the other tabs", async () => {
  await open();
  await drawerTab("Nodes").click();
  const names = () => page.locator(".node-table tbody th").allInnerTexts();
  await expect.poll(names).toEqual(["r1", "r2", "r10"]);
  await page.getByRole("button", { name: "Node", exact: true }).click();
  await expect.poll(names).toEqual(["r10", "r2", "r1"]);
  expect(await page.getByRole("columnheader", { name: "Node" }).getAttribute("aria-sort")).toBe("descending");
  await page.getByRole("button", { name: "Stop r2" }).click();
  await page.getByRole("button", { name: "Start r2" }).waitFor();
  await node("r2")
    .and(page.getByRole("button", { name: /stopped/ }))
    .waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "r2", exact: true }).click();
  await page.getByRole("complementary", { name: "Node r2" }).waitFor();
  await drawerTab("Links").click();
  await page
    .getByRole("tabpanel", { name: "Links" })
    .getByRole("button", { name: /^Suspend / })
    .click();
  await page.getByRole("cell", { name: "suspended", exact: true }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await drawerTab("Log").click();
  await page
    .getByRole("row", { name: /r2 stopped/ })
    .first()
    .waitFor();
  await drawerTab("Jobs").focus();
  await page.keyboard.press("Enter");
  await page.getByText("Deploy done").waitFor();
  expect(search()).toBe("?drawer=jobs");
  // The tabs are reached with arrow keys.
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await page.getByRole("tabpanel", { name: "Log" }).waitFor();
  await page.getByRole("button", { name: "Close the drawer" }).click();
  await page.getByRole("tabpanel").waitFor({ state: "hidden" });
  expect(search()).toBe("");
});

test("a console stays connected while another tab of the drawer is shown", async () => {
  let connections = 0;
  page.on("websocket", () => void connections++);
  await open("?drawer=consoles&node=r1");
  const tile = page.getByRole("region", { name: "Console of r1" });
  await tile.getByText("Connected", { exact: true }).waitFor();
  await drawerTab("Jobs").click();
  await tile.waitFor({ state: "hidden" });
  await drawerTab("Consoles").click();
  await tile.getByText("Connected", { exact: true }).waitFor();
  await expect.poll(search).toBe("?drawer=consoles&node=r1");
  // Another node opens from the drawing while the consoles are hidden.
  await drawerTab("Jobs").click();
  await node("r10").press("Enter");
  await page.getByRole("region", { name: "Console of r10" }).getByText("Connected", { exact: true }).waitFor();
  expect(search()).toBe("?drawer=consoles&node=r10");
  expect(connections).toBe(2);
});

/** A lab of 4 spines, 16 leaves and 80 hosts, without positions. */
function closYaml(): string {
  const named = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}${at + 1}`);
  const [spines, leaves, hosts] = [named("spine", 4), named("leaf", 16), named("host", 80)];
  const ports = new Map<string, number>();
  const end = (name: string) => {
    const port = ports.get(name) ?? 0;
    ports.set(name, port + 1);
    return `"${name}:eth${port}"`;
  };
  const pairs = [...leaves.flatMap((leaf) => spines.map((spine) => [leaf, spine])), ...hosts.map((host, at) => [host, leaves[at % 16]!])];
  const nodes = [...hosts, ...leaves, ...spines].map(
    (name) => `  ${name}: {template: ${name.startsWith("spine") ? "frr" : "linux"}, start: false}`,
  );
  return ["name: clos", "nodes:", ...nodes, "links:", ...pairs.map(([a, b]) => `  - [${end(a!)}, ${end(b!)}]`), ""].join("\n");
}

/** The number of shown texts, the height of one on the screen, and the share of them that cover another. */
const textsOf = (selector: string) =>
  page.evaluate(`(() => {
    const boxes = [...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.getBoundingClientRect()).filter(({ width }) => width > 0);
    const covers = (a, b) => a !== b && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return { count: boxes.length, height: boxes[0]?.height ?? 0, covered: boxes.filter((one) => boxes.some((other) => covers(one, other))).length / boxes.length };
  })()`) as Promise<{ readonly count: number; readonly height: number; readonly covered: number }>;

test("the names of 100 nodes are readable and cover no other name, and enlarged, less than 5 % of the interface names do", async () => {
  expect((await client.post("/api/v1/projects/deploy", { yaml: closYaml() })).status).toBe(200);
  await page.goto(`${served.url}/ui/labs/clos`);
  await node("spine4").waitFor();
  const names = await textsOf(".stage .node .label");
  expect(names).toMatchObject({ count: 100, covered: 0 });
  expect(names.height).toBeGreaterThan(9);
  expect((await textsOf(".stage .port")).count).toBe(0);
  for (let times = 0; times < 4; times++) await page.getByRole("button", { name: "Zoom in" }).click();
  await expect.poll(async () => (await textsOf(".stage .port")).count).toBeGreaterThan(200);
  expect((await textsOf(".stage .port")).covered).toBeLessThan(0.05);
  expect((await textsOf(".stage .node .label")).covered).toBe(0);
  // Another arrangement moves all nodes, and is undone.
  const place = await node("leaf1").getAttribute("transform");
  await page.getByLabel("Arrange").selectOption("distances");
  await page.getByText(/changes: moves .*; no running node is disturbed/).waitFor();
  expect(await node("leaf1").getAttribute("transform")).not.toBe(place);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => node("leaf1").getAttribute("transform")).toBe(place);
});

test("on a phone the drawing comes first and fills the window, also with an open drawer", async () => {
  await page.setViewportSize({ width: 400, height: 844 });
  await open();
  const stage = await boxOf(page.getByRole("application"));
  expect(stage.y).toBeLessThan(110);
  expect(stage.height).toBeGreaterThan(650);
  expect(await overflow()).toBe(0);
  await drawerTab("Nodes").click();
  await page.getByRole("table").waitFor();
  expect((await boxOf(page.getByRole("application"))).height).toBeGreaterThan(300);
  expect(await overflow()).toBe(0);
  await drawerTab("Consoles").click();
  await page.getByRole("navigation", { name: "Consoles" }).getByRole("button", { name: /^r2 / }).click();
  await page.getByRole("region", { name: "Console of r2" }).waitFor();
  expect(await overflow()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
});

test("the head of a lab is one row at 1280 px, also with a long name and several marks", async () => {
  const name = "a-lab-with-quite-a-long-name-for-its-head";
  const ends = ["r1:eth0", "r2:eth0"];
  const text = `name: ${name}\nlease: {for: 8h}\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\nlinks:\n  - ${JSON.stringify(ends)}\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml: text })).json.ok).toBe(true);
  const quality = { lab: `/${name}`, endpoints: ends, a: { delay: 5 } };
  expect((await client.post("/api/v1/projects/links/quality", quality)).json.ok).toBe(true);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`${served.url}/ui/labs/${name}`);
  await page.getByText("1 link impaired live only").waitFor();
  const head = page.locator(".lab-head");
  const buttons = await boxOf(head.getByRole("button", { name: "Lock" }));
  expect((await boxOf(head)).height).toBeLessThan(2 * buttons.height);
  expect(buttons.x + buttons.width).toBeLessThanOrEqual(1280);
  await page.setViewportSize({ width: 1440, height: 900 });
});
