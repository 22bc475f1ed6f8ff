/**
 * Takes pictures of the web pages for the documentation: the real service on the embedded host, the example labs, Debian's Chromium. `npm run screenshots`
 * replaces a picture only if the page has changed, not if only some numbers differ.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { eventually, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import { servePages, signIn } from "../test/browser/browser.fixture.ts";
import { launchChromium } from "../test/browser/launch-chromium.ts";
import type { RawClient } from "../test/wire/raw-client.ts";
import { difference, readPng, writePng } from "./screenshots/palette-png.ts";
import { shots } from "./screenshots/shots.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "docs/img");
const size = { width: 1280, height: 800 };
/** Clocks and loads differ in each run. A page has changed if more than this share of its pixels differs. */
const steady = 0.0015;
const wanted = process.argv.slice(2);

const local = await testLocalHost();
const served = await servePages({ host: local.host });
const launched = await launchChromium(["--font-render-hinting=none", "--force-color-profile=srgb"]);
try {
  await mkdir(folder, { recursive: true });
  const client = await served.signIn("admin", "test");
  await deploy(client, "ospf-triangle", ["r1", "r2", "r3"]);
  await deploy(client, "two-hosts", []);
  const context = await launched.browser.newContext({ ignoreHTTPSErrors: true, viewport: size, reducedMotion: "reduce" });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  if (wanted.length === 0 || wanted.includes("sign-in")) {
    await page.goto(`${served.url}/ui/`);
    await page.getByLabel("Password").waitFor();
    await keep(page, "sign-in", steady);
  }
  await signIn(page, served.url, "admin", "test");
  for (const { name, schemes = ["light"] as const, height = size.height, tolerance = steady, show } of shots) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    await page.setViewportSize({ ...size, height });
    await page.emulateMedia({ colorScheme: "light" });
    await show({ page, client, at: (path) => page.goto(`${served.url}/ui${path}`) });
    for (const scheme of schemes) {
      await page.emulateMedia({ colorScheme: scheme });
      await keep(page, scheme === "light" ? name : `${name}-${scheme}`, tolerance);
    }
  }
} finally {
  await launched[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
}

/** Starts one of the example labs and waits until it is ready. @param routers the routers with configuration files beside the lab */
async function deploy(client: RawClient, name: string, routers: readonly string[]): Promise<void> {
  const files: Record<string, string> = {};
  for (const router of routers) files[`${name}/${router}.conf`] = await readFile(join(root, "labs", name, `${router}.conf`), "utf8");
  const yaml = await readFile(join(root, "labs", `${name}.yaml`), "utf8");
  const { status, text } = await client.post("/api/v1/projects/deploy", { yaml, files });
  if (status !== 200) throw new Error(`${name}: ${text}`);
  const nodes = async () => (await client.post("/api/v1/projects/status", { lab: `/${name}` })).json.data.live.nodes as readonly State[];
  await eventually(`${name} is ready`, 60_000, nodes, (all) => all.every((node) => node.status === "running" && node.ready !== false));
}

interface State {
  readonly status: string;
  readonly ready?: boolean;
}

async function keep(page: Page, name: string, sameBelow: number): Promise<void> {
  const file = join(folder, `${name}.png`);
  // Waits for running animations. The screenshot disables further ones, and hides the blinking cursor.
  await page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {})))");
  const picture = readPng(await page.screenshot({ caret: "hide", animations: "disabled" }));
  const before = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  const share = before === undefined ? 1 : difference(picture, readPng(before));
  if (share < sameBelow) {
    console.log(`same     docs/img/${name}.png (${(share * 100).toFixed(2)} % differs)`);
    return;
  }
  const bytes = writePng(picture);
  await writeFile(file, bytes);
  console.log(`written  docs/img/${name}.png (${Math.round(bytes.length / 1024)} KiB, ${(share * 100).toFixed(2)} % differs)`);
}
