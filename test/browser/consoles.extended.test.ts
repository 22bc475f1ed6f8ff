import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import { sqliteStore } from "../../src/service/store/sqlite.ts";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** Consoles of real nodes in a real browser. */

type StorageState = Awaited<ReturnType<BrowserContext["storageState"]>>;

let local: TestLocalHost;
let browser: TestBrowser;
let served: Served;
let client: RawClient;
let database: string;
/** Cookies of one sign-in for all tests. */
let storageState: StorageState;

beforeAll(async () => {
  [browser, local] = await Promise.all([testBrowser(), testLocalHost()]);
  database = join(await mkdtemp(join(tmpdir(), "labwright-consoles-")), "labwright.db");
  served = await begin();
  client = await served.signIn("admin", "test");
  const yaml = `name: talk\nnodes:\n  h1: {template: linux}\n  h2: {template: linux}\n  h3: {template: linux, start: false}\nlinks:\n  - ["h1:eth0", "h2:eth0"]\ntests:\n  - {name: works, from: h1, command: test -d /etc}\n  - {name: repaired, from: h2, command: test -e /tmp/repaired, within: 0}\n`;
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  await using tab = await browser.open();
  await signIn(tab.page, served.url, "admin", "test");
  storageState = await tab.page.context().storageState();
  for (const node of ["h1", "h2"])
    await eventually(
      `${node} runs`,
      60_000,
      () => stateOf(node),
      (state) => state === "running",
    );
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
  await rm(dirname(database), { recursive: true });
});

/** Starts the service with its database on a fixed port outside of the ephemeral range, so that the port is free after a restart. */
function begin(): Promise<Served> {
  const port = 20_000 + (process.pid % 10_000);
  return servePages({ host: local.host, service: { store: sqliteStore(database) }, server: { listen: { port } } });
}

async function stateOf(node: string): Promise<string | undefined> {
  const { nodes } = (await client.post("/api/v1/projects/status", { lab: "/talk" })).json.data.live as {
    readonly nodes: readonly { readonly node: string; readonly status: string }[];
  };
  return nodes.find((one) => one.node === node)?.status;
}

async function power(action: "start" | "stop", node: string, lab = "/talk"): Promise<void> {
  const answer = await client.post("/api/v1/projects/exec", { lab, action, node, stopmode: 1 });
  expect([answer.status, answer.json.data.failed]).toEqual([200, 0]);
}

/** Runs a program in a node. Returns its standard output. */
async function execOn(node: string, argv: readonly string[]): Promise<string> {
  const { text } = await client.post("/api/v1/nodes/exec", { lab: "/talk", node, argv });
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; stream?: string; data?: string });
  const output = events.filter(({ type, stream }) => type === "output" && stream === "stdout");
  return Buffer.concat(output.map(({ data = "" }) => Buffer.from(data, "base64"))).toString();
}

const tileOf = (page: Page, node: string): Locator => page.getByRole("region", { name: `Console of ${node}`, exact: true });

/** Returns the text of the terminal, with normal spaces. */
async function shown(page: Page, node: string): Promise<string> {
  const rows = await tileOf(page, node).locator(".xterm-rows > div").allTextContents();
  return rows.map((row) => row.replaceAll("\u00a0", " ").trimEnd()).join("\n");
}

const poll = { timeout: 40_000 };

/** Opens the page of consoles with one console, and waits for its prompt. */
async function openConsole(page: Page, node: string): Promise<void> {
  await page.goto(`${served.url}/ui/labs/talk?view=consoles&node=${node}`);
  await tileOf(page, node).getByText("Connected", { exact: true }).waitFor();
  await typing(page, node, "");
  await expect.poll(() => shown(page, node), poll).toMatch(/[#$] *$/m);
}

/** Types into the terminal of a node and presses Enter. */
async function typing(page: Page, node: string, text: string): Promise<void> {
  const input = tileOf(page, node).getByRole("textbox", { name: `Console of ${node}` });
  await input.focus();
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

test("the tests of a lab run from its page, and those that failed run again", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await page.goto(`${served.url}/ui/labs/talk`);
  await page.getByRole("link", { name: "Tests", exact: true }).click();
  await page.getByRole("button", { name: "Run all tests" }).click();
  await page.getByText("1 passed, 1 failed", { exact: true }).waitFor();
  const row = page.getByRole("row", { name: /repaired/ });
  expect(await row.textContent()).toContain("exit code 1, not 0");
  await execOn("h2", ["touch", "/tmp/repaired"]);
  await page.getByRole("button", { name: "Run failed again" }).click();
  await page.getByText("2 passed, 0 failed", { exact: true }).waitFor();
  expect(await row.textContent()).toContain("passed");
});

test("a console that is opened from the topology shows the output of a command in all colours", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await page.goto(`${served.url}/ui/labs/talk`);
  const node = page.getByRole("button", { name: /^h1, / });
  await node.focus();
  await page.keyboard.press("Enter");
  await tileOf(page, "h1").getByText("Connected", { exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe("?drawer=consoles&node=h1");
  await typing(page, "h1", "echo $((6*7))");
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^42$/m);
  // Colours outside of the palette are style attributes, which the policy allows only if a script sets them as properties.
  await typing(page, "h1", "printf '\\033[38;2;255;0;128mpin%s\\033[0m\\n' k");
  const pink = tileOf(page, "h1").locator(".xterm-rows span", { hasText: /^pink$/ });
  await pink.waitFor();
  expect(await pink.getAttribute("style")).toContain("color");
  // The panel of a node and a double click open the console, too.
  await page.getByRole("button", { name: /^h2, / }).click();
  await page.getByRole("complementary", { name: "Node h2" }).getByRole("button", { name: "Console" }).click();
  await tileOf(page, "h2").getByText("Connected", { exact: true }).waitFor();
  await page.getByRole("button", { name: /^h1, / }).dblclick();
  // Both are still open, with their earlier output.
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^42$/m);
  await page.getByRole("button", { name: "Side by side", exact: true }).click();
  await tileOf(page, "h2").getByText("Connected", { exact: true }).waitFor();
  expect(await page.locator(".tile:visible").count()).toBe(2);
});

test("a shell opens beside the console, ends with its exit code, and a new one can be opened", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  const tile = page.getByRole("region", { name: "Shell of h1", exact: true });
  const type = async (text: string) => {
    await tile.getByRole("textbox", { name: "Shell of h1" }).focus();
    await page.keyboard.type(`${text}\n`);
  };
  const text = async () => (await tile.locator(".xterm-rows").innerText()).replaceAll("\u00a0", " ");
  await page.goto(`${served.url}/ui/labs/talk`);
  await page.getByRole("button", { name: /^h1, / }).click();
  await page.getByRole("complementary", { name: "Node h1" }).getByRole("button", { name: "Shell" }).click();
  await tile.getByText("Connected", { exact: true }).waitFor();
  await type("stty size; echo $((6*7)); tty");
  await expect.poll(text, poll).toMatch(/^\d+ \d+\s+42\s+\/dev\/pts\/\d+$/m);
  await type("exit 5");
  await tile.getByText("The shell ended with exit code 5").first().waitFor();
  await tile.getByRole("button", { name: "New shell" }).click();
  await tile.getByText("Connected", { exact: true }).waitFor();
  // A closed tile ends its shell.
  await type("sleep 4321");
  const count = async () => (await execOn("h1", ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '^432[1]$'"])).trim();
  await expect.poll(count, poll).toBe("1");
  await tile.getByRole("button", { name: "Close the shell of h1" }).click();
  await expect.poll(count, poll).toBe("0");
});

test("a double click by hand opens a node's console, also before the lab's state is known", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  let release = () => {};
  const clicked = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/v1/projects/status", async (route) => {
    await clicked;
    await route.continue();
  });
  await page.goto(`${served.url}/ui/labs/talk`);
  const shape = page.getByRole("button", { name: /^h1, / }).locator("rect");
  await shape.waitFor();
  const before = (await shape.boundingBox())!;
  const [x, y] = [before.x + before.width / 2, before.y + before.height / 2];
  await page.mouse.click(x, y);
  await page.getByRole("complementary", { name: "Node h1" }).waitFor();
  // The panel lies over the drawing: the node is still under the pointer.
  const after = (await shape.boundingBox())!;
  expect(Math.hypot(after.x + after.width / 2 - x, after.y + after.height / 2 - y)).toBeLessThan(2);
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
  await expect.poll(() => page.url()).toMatch(/\?drawer=consoles&node=h1&part=\d+$/);
  release();
  await tileOf(page, "h1").getByText("Connected", { exact: true }).waitFor();
});

test("a reload of several consoles side by side, with another node in the address than the last one, leaves a page that answers", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await page.goto(`${served.url}/ui/labs/talk?view=consoles&node=h1`);
  await tileOf(page, "h1").getByText("Connected", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Side by side" }).click();
  await page.getByRole("button", { name: /^h2/ }).first().click();
  await tileOf(page, "h2").getByText("Connected", { exact: true }).waitFor();
  for (const [stored, address] of [
    ["h1", "h2"],
    ["h2", "h1"],
    ["h1", "h2"],
  ] as const) {
    await tileOf(page, stored).locator(".screen").click();
    await page.waitForTimeout(150);
    await page.goto(`${served.url}/ui/labs/talk?view=consoles&node=${address}`);
    for (const node of ["h1", "h2"]) await tileOf(page, node).getByText("Connected", { exact: true }).waitFor();
    await expect
      .poll(() => page.evaluate("document.activeElement.getAttribute('aria-label')"))
      .toBe(`Console of ${address}. Control Shift L leaves it`);
    expect(new URL(page.url()).search).toBe(`?view=consoles&node=${address}`);
  }
});

test("a node gets the size of the terminal, also after it changes", async () => {
  await using tab = await browser.open({ storageState, viewport: { width: 1200, height: 800 } });
  const { page } = tab;
  await openConsole(page, "h1");
  /** Reads the size from the node. */
  const size = async (mark: string): Promise<{ readonly rows: number; readonly columns: number }> => {
    await typing(page, "h1", `echo ${mark} $(stty size)`);
    let found: RegExpExecArray | null = null;
    await expect.poll(async () => (found = new RegExp(`^${mark} (\\d+) (\\d+)$`, "m").exec(await shown(page, "h1"))), poll).not.toBeNull();
    return { rows: Number(found![1]), columns: Number(found![2]) };
  };
  const rowsDrawn = () => tileOf(page, "h1").locator(".xterm-rows > div").count();
  /** Reads the size until it matches the terminal: the resize is sent separately from typed text. */
  const settled = async (mark: string) => {
    for (let attempt = 1; ; attempt++) {
      const [reported, drawn] = [await size(`${mark}${attempt}`), await rowsDrawn()];
      if (reported.rows === drawn) return reported;
      if (attempt === 20) throw new Error(`the node has ${reported.rows} rows, and ${drawn} are drawn`);
    }
  };
  const large = await settled("large");
  await page.setViewportSize({ width: 900, height: 600 });
  await expect.poll(rowsDrawn, poll).toBeLessThan(large.rows);
  const small = await settled("small");
  expect(small.columns).toBeLessThan(large.columns);
});

test("two browsers on one console show the same output, and both can type", async () => {
  await using first = await browser.open({ storageState });
  await using second = await browser.open({ storageState });
  await openConsole(first.page, "h2");
  await openConsole(second.page, "h2");
  const bothShow = async (answer: RegExp) => {
    for (const { page } of [first, second]) await expect.poll(() => shown(page, "h2"), poll).toMatch(answer);
  };
  // One after the other: text that is typed while a command runs is echoed before its output.
  await typing(first.page, "h2", "echo from-$((40+2))");
  await bothShow(/^from-42$/m);
  await typing(second.page, "h2", "echo also-$((50+2))");
  await bothShow(/^also-52$/m);
});

test("a console that was hidden shows its end again, or the lines to which it was scrolled", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await openConsole(page, "h1");
  // The list has room for all of its buttons.
  const list = (await page.getByRole("navigation", { name: "Consoles" }).boundingBox())!;
  const shell = (await page.getByRole("button", { name: "Open a shell in h1" }).boundingBox())!;
  expect(shell.x + shell.width).toBeLessThanOrEqual(list.x + list.width);
  const go = async (node: string) => {
    await page
      .getByRole("navigation", { name: "Consoles" })
      .getByRole("button", { name: new RegExp(`^${node} `) })
      .click();
    await tileOf(page, node).waitFor({ state: "visible" });
    await page.waitForTimeout(300);
  };
  await typing(page, "h1", "seq 1 300; sleep 2; seq 301 600");
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^300$/m);
  await go("h2");
  await page.waitForTimeout(2_500);
  await go("h1");
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^600\n.*[#$] *$/m);
  // Another part of the page instead of another console.
  await typing(page, "h1", "sleep 2; seq 601 900");
  await page.getByRole("link", { name: "Tests", exact: true }).click();
  await page.waitForTimeout(3_000);
  await page.getByRole("link", { name: "Consoles", exact: true }).click();
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^900\n.*[#$] *$/m);
  await tileOf(page, "h1").locator(".xterm-screen").hover();
  await page.mouse.wheel(0, -3_000);
  await expect.poll(() => shown(page, "h1"), poll).not.toMatch(/^900$/m);
  await page.waitForTimeout(300);
  const before = await shown(page, "h1");
  await go("h2");
  await go("h1");
  expect(await shown(page, "h1")).toBe(before);
});

test("a console shows that its node stopped, and continues when it starts", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await openConsole(page, "h2");
  await power("stop", "h2");
  await tileOf(page, "h2").getByText("Not running; waiting for its start").waitFor();
  await expect.poll(() => shown(page, "h2"), poll).toContain("h2 is not running");
  await power("start", "h2");
  await tileOf(page, "h2").getByText("Connected", { exact: true }).waitFor();
  await expect.poll(() => shown(page, "h2"), poll).toContain("connected again");
  await typing(page, "h2", "echo back-$((6*7))");
  await expect.poll(() => shown(page, "h2"), poll).toMatch(/^back-42$/m);
  // The socket may close before the page gets the event of the stop: then it tries to attach once more.
  tab.allowComplaint(/409 \(Conflict\).*console\/attach/);
});

test("a console reconnects after a broken connection, without repeating output", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  // Keeps the WebSockets of the page, to break them.
  await page.addInitScript(`{
    const Real = WebSocket;
    globalThis.sockets = [];
    globalThis.WebSocket = class extends Real { constructor(...given) { super(...given); sockets.push(this); } };
  }`);
  await openConsole(page, "h1");
  await typing(page, "h1", "echo once-$((6*7))");
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^once-42$/m);
  await page.evaluate("sockets.at(-1).close()");
  await expect.poll(() => shown(page, "h1"), poll).toContain("connected again");
  await typing(page, "h1", "echo twice-$((6*7))");
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^twice-42$/m);
  expect((await shown(page, "h1")).match(/^once-42$/gm)).toHaveLength(1);
});

test("a paste of several lines needs a confirmation; copy, search and clear work", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: served.url });
  await openConsole(page, "h1");
  await typing(page, "h1", "clear");
  const pasted = async (text: string) => {
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
    await tileOf(page, "h1").getByRole("textbox", { name: "Console of h1" }).focus();
    await page.keyboard.press("Control+Shift+V");
  };
  await pasted("echo one-$((1+1))\necho two-$((2+2))\n");
  const question = page.getByRole("dialog", { name: "Paste 2 lines into h1?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await pasted("echo one-$((1+1))\necho two-$((2+2))\n");
  await question.getByRole("button", { name: "Paste" }).click();
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^two-4$/m);
  expect((await shown(page, "h1")).match(/^one-2$/gm)).toHaveLength(1);
  await pasted("echo single-$((3+3))");
  await page.keyboard.press("Enter");
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^single-6$/m);

  const tile = tileOf(page, "h1");
  await tile.getByRole("button", { name: "Copy" }).click();
  await tile.getByText("All copied").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(/^single-6$/m);
  await tile.getByRole("button", { name: "Search" }).click();
  const field = tile.getByRole("searchbox", { name: "Search the console of h1" });
  await field.fill("two-4");
  await page.keyboard.press("Enter");
  await tile.getByRole("button", { name: "Copy" }).click();
  await tile.getByText("Selection copied").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe("two-4");
  await field.fill("never shown");
  await page.keyboard.press("Enter");
  await tile.getByText("“never shown” not found").waitFor();
  await tile.getByRole("button", { name: "Clear" }).click();
  await expect.poll(() => shown(page, "h1"), poll).not.toContain("two-4");
  // A shortcut leaves the terminal.
  await tile.getByRole("textbox", { name: "Console of h1" }).focus();
  await page.keyboard.press("Control+Shift+L");
  await page.locator(":focus", { hasText: "Search" }).waitFor();
});

test("one command runs on many nodes; each answer has its own state, and all answers are copied at once", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: served.url });
  await page.goto(`${served.url}/ui/labs/talk?view=consoles`);
  await page.getByRole("button", { name: "One command, many nodes" }).click();
  await page.getByRole("checkbox", { name: /^h3/ }).check();
  const command = page.getByLabel("Command", { exact: true });
  const answer = (node: string) => page.getByRole("article", { name: `Answer of ${node}` });
  await command.fill("echo $(hostname)-$((6*7))");
  await page.getByRole("button", { name: "Run on 3 nodes" }).click();
  await answer("h1").getByText("h1-42").waitFor();
  await answer("h2").getByText("h2-42").waitFor();
  await answer("h1").getByText(/^ok, /).waitFor();
  await answer("h3").getByText("not running", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Copy all" }).click();
  await page.getByText("Copied").waitFor();
  const copied = String(await page.evaluate("navigator.clipboard.readText()"));
  expect(copied).toMatch(/^=== h1: ok, [\d.]+ s\nh1-42\n\n=== h2: ok, [\d.]+ s\nh2-42\n\n=== h3: not running\n/);
  await page.getByRole("button", { name: "None" }).click();
  await page.getByRole("checkbox", { name: "h1" }).check();
  // Answers are shown as they arrive: h2 answers while the command of h1 still waits for a file.
  await page.getByRole("checkbox", { name: "h2" }).check();
  await page.getByLabel("Seconds per node").fill("120");
  const wait = "until [ -e /tmp/go ]; do sleep 0.1; done";
  await command.fill(`[ "$(hostname)" = h2 ] || ${wait}; echo gone-$((6*7))`);
  await page.getByRole("button", { name: "Run on 2 nodes" }).click();
  await answer("h2").getByText("gone-42").waitFor();
  await answer("h1").getByText("running…").waitFor();
  await page.getByRole("button", { name: "1 of 2 answered" }).waitFor();
  const h1 = (await local.session.observe("/talk"))!.nodes.find(({ name }) => name === "h1")!.id;
  const sandbox = await local.sandbox("/talk");
  await sandbox.exec(Number(h1), ["touch", "/tmp/go"], { timeoutMs: 30_000 });
  await answer("h1").getByText("gone-42").waitFor();
  await page.getByRole("checkbox", { name: "h2" }).uncheck();
  await page.getByLabel("Seconds per node").fill("1");
  await command.fill("sleep 20");
  await page.getByRole("button", { name: "Run on 1 node" }).click();
  await answer("h1").getByText("timeout", { exact: true }).waitFor();
});

test("a node with a screen is listed with the command for a VNC client", async () => {
  const yaml = "name: seen\nnodes:\n  v1: {template: qemu, image: tiny, ram: 64, attributes: {video: std}}\n  h1: {template: linux}\n";
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await page.goto(`${served.url}/ui/labs/seen?view=consoles`);
  const screens = page.getByRole("region", { name: "Screens" });
  await screens.getByText("v1", { exact: true }).click();
  await screens.getByText(new RegExp(`^ssh -L 5901:${local.paths.run}/.*sock root@127.0.0.1`)).waitFor();
  await power("stop", "v1", "/seen");
  await screens.waitFor({ state: "detached" });
});

test("terminals continue after a restart of the service, and end with the session", async () => {
  await using tab = await browser.open({ storageState });
  const { page } = tab;
  await openConsole(page, "h1");
  await typing(page, "h1", "clear");
  await typing(page, "h1", "echo before-$((6*7))");
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^before-42$/m);
  // A drawing that nobody touches, with the panel of a node.
  await using watching = await browser.open({ storageState });
  const drawing = watching.page;
  await drawing.goto(`${served.url}/ui/labs/talk`);
  await drawing.getByRole("button", { name: /^h1, / }).click();
  const panel = drawing.getByRole("complementary", { name: "Node h1" });
  await panel.getByRole("button", { name: "Stop" }).waitFor();
  await served[Symbol.asyncDispose]();
  await drawing.getByText(/^No connection to the service since/).waitFor();
  expect(await drawing.locator("body").getAttribute("class")).toContain("stale");
  await panel.getByRole("button", { name: "Stop" }).click();
  await panel.getByRole("alert").waitFor();
  await tileOf(page, "h1").getByText("Connection lost; reconnecting").waitFor();
  await page.getByText(/^No connection to the service since/).waitFor();
  await local.reopen();
  served = await begin();
  await expect.poll(() => shown(page, "h1"), poll).toContain("connected again");
  await typing(page, "h1", "echo after-$((6*7))");
  await expect.poll(() => shown(page, "h1"), poll).toMatch(/^after-42$/m);
  expect((await shown(page, "h1")).match(/^before-42$/gm)).toHaveLength(1);
  // Requests that failed meanwhile were sent again.
  await expect.poll(() => page.getByRole("alert").count(), poll).toBe(0);
  // Neither the banner nor the error of the button is left beside the drawing.
  await expect.poll(() => drawing.getByRole("alert").count(), poll).toBe(0);
  expect(await drawing.locator("body").getAttribute("class")).not.toContain("stale");
  await drawing.getByRole("button", { name: /^h1, .*running/ }).waitFor();
  watching.allowComplaint(/ERR_|WebSocket|EventSource|401|503/);

  await using elsewhere = await browser.open({ storageState });
  // Requests during the sign-out are refused.
  elsewhere.allowComplaint(/401/);
  await elsewhere.page.goto(`${served.url}/ui/`);
  await elsewhere.page.getByRole("button", { name: "Sign out" }).click();
  await elsewhere.page.getByLabel("Password").waitFor();
  await page.getByText("Your session has ended.").waitFor();
  expect(await page.locator(".xterm").count()).toBe(0);
  // Chromium reports each failed attempt to connect, and each refused request of the ended session.
  tab.allowComplaint(/ERR_|WebSocket|EventSource|401|503/);
});
