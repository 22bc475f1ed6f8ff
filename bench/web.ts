import { servePages, signIn, testBrowser } from "../test/browser/browser.fixture.ts";
import { threadSeconds } from "./thread-seconds.ts";

export interface WebResult {
  /** Frames per second while the topology is panned. */
  readonly panned: number;
  /** Frames per second of an idle page: the maximum of the browser on this machine. */
  readonly idle: number;
  /** Processor time of the page's main thread per frame, ms. It does not depend on other load of the machine. */
  readonly busyMs: number;
}

/** Pans the topology of a lab in headless Chromium for some seconds. The pages must be built. */
export async function panLab(count: number): Promise<WebResult> {
  await using served = await servePages();
  const client = await served.signIn("admin");
  const names = Array.from({ length: count }, (_, at) => `n${at}`);
  const nodes = names.map((name) => `  ${name}: {template: frr, start: false}`).join("\n");
  const links = names.map((name, at) => `  - ["${name}:eth0", "n${(at + 1) % count}:eth1"]`).join("\n");
  const made = await client.post("/api/v1/projects/deploy", { yaml: `name: wide\nnodes:\n${nodes}\nlinks:\n${links}\n` });
  if (made.status !== 200) throw new Error(`deploy: ${made.text}`);
  await using browser = await testBrowser();
  await using tab = await browser.open({ viewport: { width: 1400, height: 900 } });
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/labs/wide`);
  await page
    .locator("[data-node]")
    .nth(count - 1)
    .waitFor({ state: "attached", timeout: 60_000 });
  // Waits for the complete drawing: only panning is measured.
  await page.waitForTimeout(1000);
  const idle = (await page.evaluate(frames(false))) as number;
  const busySeconds = await threadSeconds(page);
  const before = await busySeconds();
  const panned = (await page.evaluate(frames(true))) as number;
  return { panned, idle, busyMs: (((await busySeconds()) - before) * 1000) / (panned * 3) };
}

/** Runs in the page: returns the frames per second over three seconds, with or without panning. */
function frames(pan: boolean): string {
  return `new Promise((resolve) => {
    const stage = document.querySelector(".topology .stage");
    const point = (type, x) => stage.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, button: 0, clientX: x, clientY: 400 }));
    stage.setPointerCapture = () => {};
    let count = 0;
    const begin = performance.now();
    if (${pan}) point("pointerdown", 400);
    const step = (now) => {
      if (${pan}) point("pointermove", 400 + 200 * Math.sin(count / 20));
      count++;
      if (now - begin < 3000) requestAnimationFrame(step);
      else {
        if (${pan}) point("pointerup", 400);
        resolve((count * 1000) / (now - begin));
      }
    };
    requestAnimationFrame(step);
  })`;
}
