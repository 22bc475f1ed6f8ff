/**
 * Records the animated picture of the README: two routers are drawn, linked, applied and configured; then their packets are shown, all in about 30 seconds. The real service on the
 * embedded host, real nodes, Debian's Chromium. `npm run recording` writes docs/img/recording.png.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { eventually, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import { servePages, signIn } from "../test/browser/browser.fixture.ts";
import { launchChromium } from "../test/browser/launch-chromium.ts";
import { type Frame, writeAnimatedPng } from "./screenshots/animated-png.ts";
import { readPng } from "./screenshots/palette-png.ts";

const target = join(import.meta.dirname, "../docs/img/recording.png");
const size = { width: 1000, height: 640 };

await using local = await testLocalHost();
await using served = await servePages({ host: local.host });
await using launched = await launchChromium(["--font-render-hinting=none", "--force-color-profile=srgb"]);
const client = await served.signIn("admin", "test");
const context = await launched.browser.newContext({ ignoreHTTPSErrors: true, viewport: size, colorScheme: "light" });
context.setDefaultTimeout(60_000);
const page = await context.newPage();
const frames: Frame[] = [];

/** Adds a frame of the page as it is now. */
async function take(ms: number): Promise<void> {
  frames.push({ picture: readPng(await page.screenshot({ caret: "hide" })), ms });
}

const node = (name: string): Locator => page.getByRole("button", { name: new RegExp(`^${name}, `) });

async function centreOf(part: Locator): Promise<readonly [number, number]> {
  const { x, y, width, height } = (await part.boundingBox())!;
  return [x + width / 2, y + height / 2];
}

async function draw(): Promise<void> {
  await signIn(page, served.url, "admin", "test");
  await page.getByRole("link", { name: "New lab" }).first().click();
  await page.getByRole("img", { name: "Drawing of ospf-triangle" }).waitFor();
  await take(2_500);
  await page.getByLabel("Name of the new lab").fill("first");
  await take(900);
  await page.getByLabel("Name of the new lab").press("Enter");
  const palette = page.getByRole("region", { name: "Add to the lab" });
  await palette.waitFor();
  await take(1_200);
  for (const name of ["r1", "r2"]) {
    await palette.getByRole("button", { name: "frr", exact: true }).click();
    await node(name).waitFor();
    await take(900);
  }
  await palette.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Show all" }).click();
  await drawLink();
}

async function drawLink(): Promise<void> {
  await node("r1").hover();
  await page.mouse.move(...(await centreOf(node("r1").locator(".plug"))));
  await page.mouse.down();
  await page.mouse.move(...(await centreOf(node("r2").locator("rect"))), { steps: 5 });
  await take(900);
  await page.mouse.up();
  const bar = page.getByRole("region", { name: "Changes that are not applied" });
  await bar.getByText(/adds r1, r2, link/).waitFor();
  await page.getByRole("button", { name: "Text", exact: true }).click();
  await page.locator(".text-pane .editor").getByText("template: frr").first().waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  await take(3_500);
  await bar.getByRole("button", { name: "Apply" }).click();
  await bar.getByText("Applied, ").waitFor();
  const nodes = async () => (await client.post("/api/v1/projects/status", { lab: "/first" })).json.data.live.nodes as readonly State[];
  await eventually("the routers run", 60_000, nodes, (all) => all.every(({ status, ready }) => status === "running" && ready !== false));
  await take(2_500);
  await page.getByRole("button", { name: "Close the text" }).click();
}

interface State {
  readonly status: string;
  readonly ready?: boolean;
}

async function configure(name: string, address: string): Promise<void> {
  await node(name).focus();
  await node(name).press("Enter");
  const tile = page.getByRole("region", { name: `Console of ${name}` });
  await tile.getByText("Connected", { exact: true }).waitFor();
  await tile.getByRole("textbox").focus();
  for (const line of ["configure terminal", "interface eth0", `ip address ${address}/24`, "end"]) await page.keyboard.type(`${line}\n`);
  await tile.getByText("end").first().waitFor();
  await take(2_000);
}

async function watch(): Promise<void> {
  await page.keyboard.type("ping 10.0.0.1\n");
  await page
    .getByText(/bytes from 10\.0\.0\.1/)
    .first()
    .waitFor();
  await take(1_500);
  await page.getByRole("button", { name: "Live traffic" }).click();
  await page.getByText("Watching.").waitFor();
  for (let times = 0; times < 24; times++) {
    await page.waitForTimeout(120);
    await take(180);
  }
  const [[ax, ay], [bx, by]] = [await centreOf(node("r1").locator("rect")), await centreOf(node("r2").locator("rect"))];
  await page.mouse.click((ax + bx) / 2, (ay + by) / 2, { button: "right" });
  await take(1_200);
  await page.getByRole("menuitem", { name: "Capture" }).click();
  const packets = page.getByRole("grid", { name: "Packets" });
  await packets
    .getByText(/Echo \(ping\) reply/)
    .first()
    .click();
  await page.getByRole("tree", { name: "Fields of the packet" }).waitFor();
  await take(5_000);
}

await draw();
await configure("r1", "10.0.0.1");
await configure("r2", "10.0.0.2");
await watch();
const bytes = writeAnimatedPng(frames);
await writeFile(target, bytes);
console.log(`written  docs/img/recording.png (${frames.length} frames, ${Math.round(bytes.length / 1024)} KiB)`);
await context.close();
