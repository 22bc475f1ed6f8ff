import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, type TestPage, testBrowser } from "./browser.fixture.ts";

/** A lab is drawn by hand: each gesture changes the text, and nothing changes on the host before Apply. */

let browser: TestBrowser;
let served: Served;
let client: RawClient;
let tab: TestPage;
let page: Page;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages()]);
  client = await served.signIn("admin");
  tab = await browser.open({ viewport: { width: 1440, height: 900 } });
  page = tab.page;
  await signIn(page, served.url);
});
afterAll(async () => {
  await tab[Symbol.asyncDispose]();
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const text = (name: string) =>
  `# the first line\nname: ${name}\nnodes:\n  r1: {template: frr, position: {x: 0, y: 0}} # the first router\n  r2: {template: frr, position: {x: 300, y: 0}}\nlinks:\n  - ["r1:eth0", "r2:eth0"] # the only link\n`;

async function deploy(name: string): Promise<void> {
  expect((await client.post("/api/v1/projects/deploy", { yaml: text(name) })).status).toBe(200);
}

async function openLab(name: string): Promise<void> {
  await page.goto(`${served.url}/ui/labs/${name}`);
  await node("r2").waitFor();
  await page.getByRole("button", { name: "Add", exact: true }).waitFor();
}

const node = (name: string): Locator => page.getByRole("button", { name: new RegExp(`^${name}, `) });
const bar = (): Locator => page.getByRole("region", { name: "Changes that are not applied" });

async function written(name: string): Promise<string> {
  const { json } = await client.post("/api/v1/projects/public", { lab: `/${name}`, as_written: true });
  return json.data.yaml as string;
}

async function nodesOf(name: string): Promise<readonly string[]> {
  const { json } = await client.post("/api/v1/projects/inspect", { lab: `/${name}`, refresh: true });
  return (json.data.nodes as readonly { readonly node: string }[]).map((one) => one.node).sort();
}

/** Returns the centre of a shape once it rests: the drawing fits a new size of its pane a moment later. */
async function centreOf(shape: Locator): Promise<{ readonly x: number; readonly y: number }> {
  let last = { x: Number.NaN, y: Number.NaN };
  for (let looks = 0; looks < 100; looks++) {
    const box = (await shape.boundingBox())!;
    const centre = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    if (centre.x === last.x && centre.y === last.y) return centre;
    last = centre;
    await page.waitForTimeout(50);
  }
  throw new Error(`the shape does not rest: ${JSON.stringify(last)}`);
}

/** Drags as a hand does: with the way between and a short rest before the release. */
async function drag(from: { readonly x: number; readonly y: number }, to: { readonly x: number; readonly y: number }): Promise<void> {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 4 });
  await page.mouse.move(to.x, to.y, { steps: 4 });
  await page.waitForTimeout(100);
  await page.mouse.up();
}

async function link(from: string, to: string): Promise<void> {
  await node(from).hover();
  await drag(await centreOf(node(from).locator(".plug")), await centreOf(node(to).locator("rect")));
}

test("nodes and links are drawn into the text with its comments, and reach the host only by Apply", async () => {
  await deploy("drawn");
  await openLab("drawn");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const palette = page.getByRole("region", { name: "Add to the lab" });
  await palette.getByRole("searchbox", { name: "Find a template" }).fill("linux");
  const stage = (await page.getByRole("application").boundingBox())!;
  const template = await centreOf(palette.getByRole("button", { name: "linux", exact: true }));
  await drag(template, { x: stage.x + stage.width / 2, y: stage.y + stage.height - 200 });
  await node("h1").waitFor();
  await link("r1", "h1");
  await bar()
    .getByText(/changes: adds h1, link h1:eth0 – r1:eth1/)
    .waitFor();
  expect(await nodesOf("drawn")).toEqual(["r1", "r2"]);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Text", exact: true }).click();
  await page.locator(".text-pane .editor").getByText("# the only link").waitFor();
  // By keyboard: the focus stays at the result.
  await bar().getByRole("button", { name: "Apply" }).focus();
  await page.keyboard.press("Enter");
  await bar().getByText("Applied, ").waitFor();
  expect(await page.locator(":focus").getAttribute("aria-label")).toBe("Changes that are not applied");
  expect(await nodesOf("drawn")).toEqual(["h1", "r1", "r2"]);
  const yaml = await written("drawn");
  for (const kept of ["# the first line", "# the first router", "# the only link"]) expect(yaml).toContain(kept);
  expect(yaml).toMatch(/h1: ?\{?[\s\S]*template: linux/);
});

test("a saved node stays in the drawing, also after a reload, and waits for Apply; a name in use keeps the question for a name open", async () => {
  await deploy("saved");
  await openLab("saved");
  const palette = page.getByRole("region", { name: "Add to the lab" });
  const add = async () => {
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await palette.getByRole("button", { name: "linux", exact: true }).click();
  };
  await add();
  await node("h1").waitFor();
  await bar().getByRole("button", { name: "Save" }).click();
  await bar().getByText("Saved. The host is not changed.").waitFor();
  const created = (name: string) => page.getByRole("button", { name: new RegExp(`^${name}, .*will be created`) });
  await created("h1").waitFor();
  await page.reload();
  await created("h1").waitFor();
  await bar().getByText("1 change: adds h1").waitFor();
  await add();
  await node("h2").waitFor();
  const [first, second] = [await centreOf(node("h1")), await centreOf(node("h2"))];
  expect(Math.hypot(first.x - second.x, first.y - second.y)).toBeGreaterThan(30);
  await node("h2").press("F2");
  const dialog = page.getByRole("dialog", { name: "Rename h2" });
  for (const [name, reason] of [
    ["r1", "r1 exists already"],
    ["a b", "a name has 1 to 64 letters"],
  ] as const) {
    await dialog.getByRole("textbox").fill(name);
    await page.keyboard.press("Enter");
    await dialog.getByRole("alert").getByText(reason).waitFor();
    expect(await dialog.getByRole("textbox").inputValue()).toBe(name);
  }
  await page.keyboard.press("Escape");
  await bar().getByRole("button", { name: "Discard" }).click();
  await node("h2").waitFor({ state: "detached" });
  await bar().getByRole("button", { name: "Apply" }).click();
  await bar().getByText("Applied, ").waitFor();
  await bar().getByRole("button", { name: "Apply" }).waitFor({ state: "detached" });
  expect(await nodesOf("saved")).toEqual(["h1", "r1", "r2"]);
});

test("a deleted node is brought back by Undo, and a delete is applied only after it was seen", async () => {
  await deploy("removed");
  await openLab("removed");
  await page.mouse.click(...pointOf(await centreOf(node("r2").locator("rect"))));
  await page.getByRole("complementary", { name: "Node r2" }).waitFor();
  await page.getByRole("application").focus();
  await page.keyboard.press("Delete");
  await page.getByRole("button", { name: /^r2, .*will be deleted/ }).waitFor();
  await bar()
    .getByText(/deletes r2/)
    .waitFor();
  await page.keyboard.press("Control+z");
  await bar().waitFor({ state: "hidden" });
  await page.keyboard.press("Control+y");
  await bar()
    .getByText(/deletes r2/)
    .waitFor();
  expect(await nodesOf("removed")).toEqual(["r1", "r2"]);
  await bar().getByRole("button", { name: "Apply" }).click();
  await page.getByRole("button", { name: "Stop them and apply" }).click();
  await bar().getByText("Applied, ").waitFor();
  expect(await nodesOf("removed")).toEqual(["r1"]);
});

test("parts are selected with a frame, copied into another lab, aligned and renamed", async () => {
  await deploy("source");
  await deploy("target");
  await openLab("source");
  const [a, b] = [await centreOf(node("r1").locator("rect")), await centreOf(node("r2").locator("rect"))];
  await page.keyboard.down("Shift");
  await drag({ x: a.x - 60, y: a.y - 60 }, { x: b.x + 60, y: b.y + 60 });
  await page.keyboard.up("Shift");
  await page.getByText("2 selected").waitFor();
  // The bar and the menu have the same actions. Those of links apply to the link between the selected nodes.
  const toolbar = page.getByRole("toolbar", { name: "Selected parts" });
  for (const action of ["Consoles", "Start", "Stop", "Restart", "Wipe…", "Impair link…", "Delete"])
    await toolbar.getByRole("button", { name: action, exact: true }).waitFor();
  await node("r1").click({ button: "right" });
  await page.getByRole("menu", { name: "Selected parts" }).getByRole("menuitem", { name: "Suspend link" }).click();
  await toolbar.getByRole("button", { name: "Resume link" }).click();
  await toolbar.getByRole("button", { name: "Impair link…" }).click();
  await page.getByRole("dialog").getByLabel("Delay").fill("25");
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  const quality = async () => (await client.post("/api/v1/projects/inspect", { lab: "/source", refresh: true })).json.data.links[0].quality;
  await expect.poll(quality).toMatchObject({ a: { delay: 25 }, b: { delay: 25 } });
  await page.getByRole("application").focus();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys of the drawing" }).getByText("Shift+H, Shift+V").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Shift+V");
  await expect
    .poll(async () => Math.abs((await centreOf(node("r1").locator("rect"))).x - (await centreOf(node("r2").locator("rect"))).x))
    .toBeLessThan(1);
  await bar().waitFor();
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+c");
  await page.getByRole("link", { name: "Labs", exact: true }).click();
  await page.getByRole("link", { name: "target" }).first().click();
  await node("r2").waitFor();
  // Without its text a lab cannot be edited yet.
  await page.getByRole("button", { name: "Add", exact: true }).waitFor();
  // Nothing has the focus yet, and the copies are selected.
  await page.keyboard.press("Control+v");
  await node("r3").waitFor();
  await node("r4").waitFor();
  await page.getByText("2 selected").waitFor();
  await bar()
    .getByText(/adds r3, r4, link r3:eth0 – r4:eth0/)
    .waitFor();
  await node("r4").focus();
  await page.keyboard.press("F2");
  await page.getByLabel("New name of r4").fill("edge");
  await page.keyboard.press("Enter");
  await node("edge").waitFor();
  await bar().getByRole("button", { name: "Discard" }).click();
  await node("r3").waitFor({ state: "detached" });
});

test("Alt and an arrow move all parts of a frame, copies are selected, and a click beside all parts selects nothing", async () => {
  await deploy("framed");
  await openLab("framed");
  const boxOf = (name: string) => centreOf(node(name).locator("rect"));
  const [a, b] = [await boxOf("r1"), await boxOf("r2")];
  await page.keyboard.down("Shift");
  await drag({ x: a.x - 60, y: a.y - 60 }, { x: b.x + 60, y: b.y + 60 });
  await page.keyboard.up("Shift");
  await page.getByText("2 selected").waitFor();
  await page.keyboard.press("Alt+ArrowUp");
  await bar().getByText("2 changes: moves r1, r2; no running node is disturbed").waitFor();
  for (const [name, before] of [["r1", a] as const, ["r2", b] as const]) expect((await boxOf(name)).y).toBeLessThan(before.y - 10);
  await page.keyboard.press("Control+d");
  await node("r4").waitFor();
  for (const [name, pressed] of [["r1", "false"] as const, ["r3", "true"] as const, ["r4", "true"] as const])
    await expect.poll(() => node(name).getAttribute("aria-pressed")).toBe(pressed);
  await page.mouse.click(a.x - 80, a.y + 80);
  await page.getByRole("toolbar", { name: "Selected parts" }).waitFor({ state: "detached" });
  await bar().getByRole("button", { name: "Discard" }).click();
});

test("the palette finds networks and shapes, too, and Enter adds the first found part", async () => {
  await deploy("found");
  await openLab("found");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const palette = page.getByRole("region", { name: "Add to the lab" });
  const search = palette.getByRole("searchbox");
  await search.fill("nothing like this");
  await palette.getByText("Nothing has this in its name or description.").waitFor();
  await search.fill("bridge network");
  await search.press("Enter");
  await page.getByRole("button", { name: /^Network net1, / }).waitFor();
  await bar().getByRole("button", { name: "Discard" }).click();
});

test("a text that the host cannot run keeps Apply disabled, with the reason beside it", async () => {
  await deploy("refused");
  await openLab("refused");
  await page.getByRole("button", { name: "Text", exact: true }).click();
  const editor = page.locator(".text-pane .cm-content");
  await editor.getByText("# the only link").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText('  - ["r1:eth999", "r2:eth1"]\n');
  await bar()
    .getByText(/cannot be applied: .*eth999/)
    .waitFor();
  expect(await bar().getByRole("button", { name: "Apply" }).isDisabled()).toBe(true);
  tab.allowComplaint(/422/);
  await bar().getByRole("button", { name: "Discard" }).click();
});

test("a dropped node stays where it was dropped, opening its panel moves nothing, and its move is saved with a comment", async () => {
  await deploy("moved");
  await openLab("moved");
  const from = await centreOf(node("r1").locator("rect"));
  const to = { x: from.x + 90, y: from.y + 120 };
  await drag(from, to);
  await bar().waitFor();
  const near = async () => {
    const at = await centreOf(node("r1").locator("rect"));
    return Math.hypot(at.x - to.x, at.y - to.y);
  };
  await expect.poll(near).toBeLessThan(2);
  await page.mouse.click(to.x, to.y);
  await page.getByRole("complementary", { name: "Node r1" }).waitFor();
  expect(await near()).toBeLessThan(2);
  await bar().getByRole("button", { name: "Save" }).click();
  await bar().getByText("Saved. The host is not changed.").waitFor();
  expect(await written("moved")).toMatch(/x: \d+, y: \d+.*# the first router/);
});

test("a text is added, changed, moved and deleted, and a link gets another interface, with the keyboard and menus", async () => {
  await deploy("noted");
  await openLab("noted");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("region", { name: "Add to the lab" }).getByRole("button", { name: "text", exact: true }).click();
  const note = (text: string) => page.getByRole("button", { name: `Text: ${text}`, exact: true });
  await note("Note").waitFor();
  await page.getByLabel("Text on the drawing").fill("the core");
  await page.keyboard.press("Enter");
  const from = await centreOf(note("the core"));
  await drag(from, { x: from.x + 80, y: from.y + 60 });
  await expect.poll(async () => Math.round((await centreOf(note("the core"))).x - from.x)).toBe(80);
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: /^Link r1:eth0 to r2:eth0/ }).focus();
  await page.keyboard.press("ContextMenu");
  await page.getByRole("menuitem", { name: "Change interfaces…" }).click();
  const dialog = page.getByRole("dialog", { name: /^Interfaces of the link/ });
  await dialog.getByLabel("Interface of r2").selectOption("eth3");
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Change" }).click();
  await bar()
    .getByText(/link r1:eth0 – r2:eth3/)
    .waitFor();
  await page.getByRole("button", { name: "Text", exact: true }).click();
  const pane = page.locator(".text-pane .editor");
  await pane.getByText("the core").waitFor();
  await pane.getByText("# the only link").waitFor();
  await note("the core").press("Delete");
  await note("the core").waitFor({ state: "detached" });
  await pane.getByText("the core").waitFor({ state: "detached" });
  await page.getByRole("application").focus();
  await page.keyboard.press("Control+z");
  await note("the core").waitFor();
  await bar().getByRole("button", { name: "Discard" }).click();
});

test("a menu wipes a node after a question, and shows its configuration and the quality of a link", async () => {
  await deploy("menus");
  await openLab("menus");
  const menuOf = async (name: string) => {
    await node(name).focus();
    await page.keyboard.press("ContextMenu");
    const menu = page.getByRole("menu", { name });
    await menu.getByRole("menuitem").first().waitFor();
    return menu;
  };
  const menu = await menuOf("r1");
  const items = (await menu.getByRole("menuitem").allInnerTexts()).map((text) => text.split("\n")[0]);
  expect(items).toEqual(expect.arrayContaining(["Console", "Shell", "Start", "Stop", "Restart", "Wipe…", "Configuration"]));
  await menu.getByRole("menuitem", { name: "Wipe…" }).click();
  const focused = () => page.locator(":focus").getAttribute("aria-label");
  const question = page.getByRole("dialog", { name: "Wipe r1?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "detached" });
  await expect.poll(focused).toMatch(/^r1, /);
  await node("r2").focus();
  await page.keyboard.press("F2");
  await page.getByLabel("New name of r2").press("Escape");
  await expect.poll(focused).toMatch(/^r2, /);
  await (await menuOf("r1")).getByRole("menuitem", { name: "Configuration" }).click();
  await page.getByRole("complementary", { name: "Node r1" }).locator("details[open]", { hasText: "Configuration" }).waitFor();
  await page.getByRole("button", { name: /^Link r1:eth0 to r2:eth0/ }).focus();
  await page.keyboard.press("ContextMenu");
  await page.getByRole("menuitem", { name: "Impair…" }).click();
  await page.getByRole("complementary", { name: "Link r1:eth0 to r2:eth0" }).waitFor();
});

function pointOf({ x, y }: { readonly x: number; readonly y: number }): [number, number] {
  return [x, y];
}

test("a lab begins empty, and two linked routers are drawn with the palette", async () => {
  await page.goto(`${served.url}/ui/new`);
  await page.getByLabel("Name of the new lab").fill("fresh");
  await page.getByRole("button", { name: "Draw it" }).click();
  const palette = page.getByRole("region", { name: "Add to the lab" });
  const template = palette.getByRole("button", { name: "frr", exact: true });
  // The first part of an empty drawing stays where it is dropped, too, and so does one close to it.
  const dropped = [
    { x: 650, y: 300 },
    { x: 650, y: 420 },
  ] as const;
  for (const [index, at] of dropped.entries()) {
    await drag(await centreOf(template), at);
    const { x, y } = await centreOf(node(`r${index + 1}`).locator("rect"));
    expect(Math.hypot(x - at.x, y - at.y)).toBeLessThan(8);
  }
  const first = await centreOf(node("r1").locator("rect"));
  expect(Math.hypot(first.x - dropped[0].x, first.y - dropped[0].y)).toBeLessThan(8);
  await link("r1", "r2");
  await bar()
    .getByText(/adds r1, r2, link r1:eth0 – r2:eth0/)
    .waitFor();
  await bar().getByRole("button", { name: "Apply" }).click();
  await bar().getByText("Applied, ").waitFor();
  expect(await nodesOf("fresh")).toEqual(["r1", "r2"]);
  // One line for each node, also in a lab that was empty.
  expect(await written("fresh")).toMatch(/^nodes:\n {2}r1: .*\n {2}r2: /m);
  await page.mouse.click(...pointOf(await centreOf(node("r1").locator("rect"))), { button: "right" });
  const menu = page.getByRole("menu", { name: "r1" });
  await menu.getByRole("menuitem").first().waitFor();
  expect(await menu.getByRole("menuitem").allInnerTexts()).toEqual(expect.arrayContaining([expect.stringContaining("Restart")]));
  await page.keyboard.press("Escape");
  await menu.waitFor({ state: "detached" });
});

test("an example lab runs with two clicks", async () => {
  await page.getByRole("link", { name: "New lab" }).click();
  await page.getByRole("img", { name: "Drawing of ospf-triangle" }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole("button", { name: "Run ospf-triangle" }).click();
  await page.getByRole("heading", { name: "ospf-triangle" }).waitFor();
  await node("r3").waitFor();
});

test("shapes are drawn, moved, resized, styled, copied and deleted, by hand and by keyboard, and stored by Save alone", async () => {
  await deploy("shaped");
  await openLab("shaped");
  await page.getByRole("button", { name: "Text", exact: true }).click();
  await page.locator(".text-pane .editor").getByText("# the only link").waitFor();
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const palette = page.getByRole("region", { name: "Add to the lab" });
  const shape = (name: RegExp | string) => page.getByRole("button", { name });
  const r1 = await centreOf(node("r1").locator("rect"));
  await palette.getByRole("button", { name: "rectangle" }).click();
  await drag({ x: r1.x - 60, y: r1.y - 60 }, { x: r1.x + 60, y: r1.y + 80 });
  const drawn = shape(/^Rectangle /);
  await drawn.waitFor();
  // It is below the node, which still takes the pointer.
  await page.mouse.move(r1.x, r1.y);
  await node("r1").and(page.locator(":hover")).waitFor();
  const panel = page.getByRole("complementary", { name: /^Rectangle / });
  await panel.waitFor();
  const editor = page.locator(".text-pane .editor");
  await editor.getByText("type: rectangle").waitFor();

  await panel.getByRole("spinbutton", { name: "Width" }).fill("160");
  await panel.getByRole("spinbutton", { name: "Width" }).press("Enter");
  await shape(/^Rectangle 160 × /).waitFor();
  await panel.getByRole("checkbox", { name: "Filled" }).click();
  await editor.getByText('fill: "#93c5fd66"').waitFor();
  await panel.getByRole("combobox", { name: "Line style" }).selectOption("dashed");
  await editor.getByText("style: dashed").waitFor();
  expect(await violationsOf(page)).toEqual([]);

  const corner = await centreOf(page.locator(".handle.sw"));
  await drag(corner, { x: corner.x - 40, y: corner.y + 30 });
  await shape(/^Rectangle (?!160 )/).waitFor();
  for (const [degrees, label] of [
    ["90", /^Rectangle .* turned by 90°/],
    ["0", /^Rectangle [^,]*, at /],
  ] as const) {
    await panel.getByRole("spinbutton", { name: "Rotation" }).fill(degrees);
    await panel.getByRole("spinbutton", { name: "Rotation" }).press("Enter");
    await shape(label).waitFor();
  }
  const before = await shape(/^Rectangle /).getAttribute("aria-label");
  await shape(/^Rectangle /).focus();
  await page.keyboard.press("Alt+Shift+ArrowRight");
  await page.keyboard.press("Alt+ArrowDown");
  // The focus stays on the shape.
  await expect.poll(() => page.locator(":focus").getAttribute("aria-label")).not.toBe(before);
  await page.keyboard.press("Control+d");
  await expect.poll(() => shape(/^Rectangle /).count()).toBe(2);
  await page.keyboard.press("Control+z");
  await expect.poll(() => shape(/^Rectangle /).count()).toBe(1);
  await page.getByRole("button", { name: "Redo" }).click();
  await expect.poll(() => shape(/^Rectangle /).count()).toBe(2);

  // Without a pointer, a line gets the usual size.
  await palette.getByRole("button", { name: "line", exact: true }).press("Enter");
  await shape(/^Line 200 × 0/).waitFor({ state: "attached" });
  await page
    .getByRole("complementary", { name: /^Line / })
    .getByRole("combobox", { name: "End" })
    .selectOption("arrow");
  await editor.getByText("end: arrow").waitFor();
  await page.getByRole("application").focus();
  await page.keyboard.press("Delete");
  await shape(/^Line /).waitFor({ state: "detached" });

  await bar().getByText("No change of the host: Save keeps the shapes").waitFor();
  await bar().getByRole("button", { name: "Save" }).click();
  await bar().getByText("Saved. The host is not changed.").waitFor();
  const yaml = await written("shaped");
  expect(yaml.match(/type: rectangle/g)).toHaveLength(2);
  expect(yaml).toContain("# the first router");
  await page.reload();
  await node("r2").waitFor();
  await expect.poll(() => shape(/^Rectangle /).count()).toBe(2);
});
