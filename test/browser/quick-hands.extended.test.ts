import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { servePages, signIn, type TestBrowser, type TestPage, testBrowser } from "./browser.fixture.ts";

/**
 * A busy browser paints late, and a busy service answers late: keys and clicks come before the page has shown the effect of the ones before. Each of
 * them must still do what the user meant, and none may be lost.
 */

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

const drawn = `texts:
  - {text: first, x: 0, y: 200}
  - {text: second, x: 150, y: 200}
  - {text: third, x: 300, y: 200}
shapes:
  - {type: rectangle, x: -60, y: -60, width: 120, height: 120}
  - {type: line, x: 0, y: 100, x2: 200, y2: 100}
`;

async function openLab(name: string, more = ""): Promise<void> {
  const yaml = `name: ${name}\nnodes:\n  r1: {template: frr, position: {x: 0, y: 0}}\n  r2: {template: frr, position: {x: 300, y: 0}}\nlinks:\n  - ["r1:eth0", "r2:eth0"]\n${more}`;
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  await page.goto(`${served.url}/ui/labs/${name}`);
  await node("r2").waitFor();
  await page.getByRole("button", { name: "Add", exact: true }).waitFor();
}

const node = (name: string): Locator => page.getByRole("button", { name: new RegExp(`^${name}, `) });
const note = (text: string): Locator => page.getByRole("button", { name: `Text: ${text}` });
const bar = (): Locator => page.getByRole("region", { name: "Changes that are not applied" });

async function written(name: string): Promise<string> {
  const { json } = await client.post("/api/v1/projects/public", { lab: `/${name}`, as_written: true });
  return json.data.yaml as string;
}

async function save(): Promise<void> {
  await bar().getByRole("button", { name: "Save" }).click();
  await bar().getByText("Saved. The host is not changed.").waitFor();
}

interface Key {
  /** The name of the button that the user clicks first, which selects a part; absent: none. */
  readonly click?: string;
  readonly key?: string;
  readonly alt?: boolean;
  readonly ctrl?: boolean;
}

/** Sends clicks and keys to the drawing between two frames: the page runs its code after each of them, and paints after the last one. */
async function hurry(keys: readonly Key[]): Promise<void> {
  const steps = keys.map(({ click, key, alt, ctrl }) => ({ click, key, altKey: alt, ctrlKey: ctrl }));
  await page.evaluate(`(async () => {
    for (const { click, key, ...how } of ${JSON.stringify(steps)}) {
      const part = [...document.querySelectorAll("button, [role=button]")].find((one) => click !== undefined && (one.getAttribute("aria-label") ?? one.textContent).startsWith(click));
      if (click !== undefined && part === undefined) throw new Error("no " + click);
      part?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
      if (part instanceof SVGElement) part.focus();
      for (let turn = 0; turn < 100; turn++) await Promise.resolve();
      const target = document.activeElement === document.body ? document.querySelector(".stage") : document.activeElement;
      if (key !== undefined) target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...how }));
      for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    }
  })()`);
}

/** Makes a first edit, after which the code for edits is loaded, and takes it back. */
async function editOnce(): Promise<void> {
  await node("r1").focus();
  await page.keyboard.press("Alt+ArrowRight");
  await page.getByRole("button", { name: "Undo" }).and(page.locator(":enabled")).click();
  await bar().waitFor({ state: "detached" });
}

test("Delete right after a change of a shape deletes the shape", async () => {
  await openLab("quick-shape", drawn);
  await editOnce();
  await hurry([{ click: "Line " }, { key: "ArrowDown", alt: true }, { key: "Delete" }]);
  await bar().getByRole("button", { name: "Save" }).waitFor();
  await save();
  const yaml = await written("quick-shape");
  expect(yaml).not.toContain("type: line");
  expect(yaml).toContain("type: rectangle");
});

test("texts that are deleted in quick succession are those that were selected", async () => {
  await openLab("quick-texts", drawn);
  await editOnce();
  await hurry([{ click: "Text: first" }, { key: "Delete" }, { click: "Text: second" }, { key: "Delete" }]);
  await note("second").waitFor({ state: "detached" });
  await save();
  const yaml = await written("quick-texts");
  expect(yaml).toContain("third");
  expect(yaml).not.toMatch(/first|second/);
});

test.each(["before", "after"])("each of several quick steps of a node counts, %s the code for edits is loaded", async (when) => {
  await openLab(`quick-steps-${when}`, drawn);
  if (when === "after") await editOnce();
  const step = { key: "ArrowRight", alt: true };
  await hurry([{ click: "r1, " }, step, step, step, { click: "Rectangle" }, step, step]);
  await bar().getByRole("button", { name: "Save" }).waitFor();
  await expect.poll(() => node("r1").getAttribute("transform")).toMatch(/translate\(60[ ,]/);
  await page.getByRole("button", { name: "Rectangle 120 × 120, at -20, -60" }).waitFor();
});

test("Delete right after a duplicate deletes the copy, and not its original", async () => {
  await openLab("quick-copy", drawn);
  await editOnce();
  await hurry([{ click: "r1, " }, { key: "d", ctrl: true }, { key: "Delete" }]);
  await page.waitForTimeout(300);
  await node("r1").waitFor();
  await node("r3").waitFor({ state: "detached" });
  await bar().waitFor({ state: "detached" });
});

test("a part that is selected right after another one stays selected", async () => {
  await openLab("quick-selection", drawn);
  for (let times = 0; times < 3; times++) {
    await hurry([{ click: "r1, " }, { click: "r2, " }]);
    await page.getByRole("complementary", { name: "Node r2" }).waitFor();
    await hurry([{ click: "r1, " }, { click: "Line " }]);
    await page.getByRole("complementary", { name: /^Line / }).waitFor();
    await page.waitForTimeout(200);
    expect(await page.getByRole("complementary", { name: /^Line / }).count()).toBe(1);
    expect(new URL(page.url()).searchParams.get("part")).toBeNull();
  }
});

test("a console that is opened right after a panel was closed stays open", async () => {
  await openLab("quick-console");
  await node("r1").click();
  const panel = page.getByRole("complementary", { name: "Node r1" });
  await panel.waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get("part")).not.toBeNull();
  await page.evaluate(`(async () => {
    const turns = async () => { for (let turn = 0; turn < 100; turn++) await Promise.resolve(); };
    document.querySelector(".panel .close").click();
    await turns();
    const r2 = [...document.querySelectorAll("[role=button]")].find((one) => one.getAttribute("aria-label").startsWith("r2, "));
    r2.focus();
    r2.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    await turns();
  })()`);
  await page.getByRole("region", { name: "Console of r2" }).getByText("Connected", { exact: true }).waitFor();
  expect(new URL(page.url()).searchParams.get("part")).toBeNull();
});

test("a new node stays selected when it is renamed and when it is applied", async () => {
  await openLab("followed");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("region", { name: "Add to the lab" }).getByRole("button", { name: "linux", exact: true }).click();
  await node("h1").click();
  await expect.poll(() => node("h1").getAttribute("aria-pressed")).toBe("true");
  await page.keyboard.press("F2");
  await page.getByRole("dialog", { name: "Rename h1" }).getByRole("textbox").fill("pc");
  await page.keyboard.press("Enter");
  await node("pc").waitFor();
  await expect.poll(() => node("pc").getAttribute("aria-pressed")).toBe("true");
  await bar().getByRole("button", { name: "Apply" }).click();
  await bar().getByText("Applied, ").waitFor();
  await expect.poll(() => node("pc").getAttribute("aria-pressed")).toBe("true");
});

test("edits do not wait for a link whose free interfaces the service has not sent yet", async () => {
  await openLab("slow-link", drawn);
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route("**/link-completions**", async (route) => {
    await held;
    await route.continue();
  });
  await node("r1").click();
  await node("r2").click({ modifiers: ["Control"] });
  await page.keyboard.press("l");
  await node("r1").focus();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Alt+ArrowUp");
  await expect.poll(() => node("r1").getAttribute("transform")).toMatch(/translate\(0[ ,]-20/);
  answer();
  await page.getByRole("button", { name: /^Link r1:eth1 to r2:eth1/ }).waitFor({ state: "attached" });
  expect(await node("r1").getAttribute("transform")).toMatch(/translate\(0[ ,]-20/);
  await page.unroute("**/link-completions**");
});

test("the text beside the drawing shows the part that an edit of the drawing changes", async () => {
  const many = Array.from({ length: 80 }, (_, at) => `  n${at}: {template: linux, position: {x: ${(at % 10) * 120}, y: ${at * 20}}}`).join(
    "\n",
  );
  expect((await client.post("/api/v1/projects/deploy", { yaml: `name: long-text\nnodes:\n${many}\n` })).status).toBe(200);
  await page.goto(`${served.url}/ui/labs/long-text?text=1`);
  const editor = page.locator(".text-pane .editor");
  await editor.getByText("name: long-text").waitFor();
  await page.getByRole("button", { name: "Add", exact: true }).waitFor();
  await node("n70").focus();
  await page.keyboard.press("Alt+ArrowRight");
  const line = editor.getByText("n70:").last();
  await line.waitFor();
  const [box, pane] = [await line.boundingBox(), await editor.boundingBox()];
  expect(box!.y).toBeGreaterThan(pane!.y);
  expect(box!.y + box!.height).toBeLessThan(pane!.y + pane!.height);
});

test("the bar of changes plans again by itself after the service did not answer", async () => {
  await openLab("lost-plan");
  tab.allowComplaint(/ERR_FAILED/);
  await page.route("**/api/v1/projects/plan", (route) => route.abort());
  await node("r1").focus();
  await page.keyboard.press("Alt+ArrowRight");
  await bar().getByText("no connection to").waitFor();
  await page.unroute("**/api/v1/projects/plan");
  await bar().getByText("1 change: moves r1").waitFor();
  expect(await bar().getByText("no connection to").count()).toBe(0);
});

test("an edit right before the page is loaded again is kept", async () => {
  await openLab("quick-reload");
  await editOnce();
  await Promise.all([
    page.waitForEvent("load"),
    page.evaluate(`(async () => {
      const r1 = [...document.querySelectorAll("[role=button]")].find((one) => one.getAttribute("aria-label").startsWith("r1, "));
      r1.focus();
      r1.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", altKey: true, bubbles: true, cancelable: true }));
      for (let turn = 0; turn < 100; turn++) await Promise.resolve();
      location.reload();
    })()`),
  ]);
  await node("r1").waitFor();
  await bar().getByText("Your unapplied text was restored.").waitFor();
  await expect.poll(() => node("r1").getAttribute("transform")).toMatch(/translate\(20[ ,]/);
});

test("Ctrl+C without a selection keeps the parts that were copied before", async () => {
  await openLab("quick-clipboard");
  await hurry([{ click: "r1, " }, { key: "c", ctrl: true }]);
  await expect.poll(() => page.evaluate(`sessionStorage.getItem("labwright-copied")`)).toContain("r1");
  await page.keyboard.press("Escape");
  await page.getByRole("complementary", { name: "Node r1" }).waitFor({ state: "detached" });
  await page.getByRole("application").focus();
  await page.keyboard.press("Control+c");
  await page.keyboard.press("Control+v");
  await node("r3").waitFor();
});
