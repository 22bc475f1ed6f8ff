import { labOf, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import { servePages, signIn, testBrowser } from "../test/browser/browser.fixture.ts";
import { threadSeconds } from "./thread-seconds.ts";

export interface PacketsResult {
  readonly packets: number;
  /** Frames per second while the list of packets is scrolled. */
  readonly scrolled: number;
  /** Frames per second of the same idle page: the maximum of the browser on this machine. */
  readonly idle: number;
  /** Processor time of the page's main thread per frame, ms. It does not depend on other load of the machine. */
  readonly busyMs: number;
  /** Frames with a visible row that was not loaded yet, %. */
  readonly waiting: number;
}

/** Captures echo requests and replies, and scrolls through them in headless Chromium for some seconds. The pages must be built. */
export async function scrollPackets(count: number): Promise<PacketsResult> {
  await using local = await testLocalHost();
  await using served = await servePages({ host: local.host });
  const client = await served.signIn("admin", "test");
  const node = (n: number) => `  h${n}: {template: linux, exec: ["ip addr add 10.0.0.${n}/24 dev eth0"]}\n`;
  await local.deploy("/scroll", labOf(`name: scroll\nnodes:\n${node(1)}${node(2)}links:\n  - ["h1:eth0", "h2:eth0"]\n`));
  while ((await local.exec("/scroll", "h1", "ping", "-c1", "-W1", "10.0.0.2")).code !== 0);
  const started = await client.post("/api/v1/projects/capture", { lab: "/scroll", node: "h1", interface: "eth0" });
  if (started.status !== 200) throw new Error(`capture: ${started.text}`);
  const { capture } = started.json.data as { readonly capture: string };
  for (let sent = 0; sent < count / 2; sent += 1000) await local.exec("/scroll", "h1", "ping", "-qAc1000", "10.0.0.2");
  await client.post(`/api/v1/projects/captures/${capture}/stop`, {});
  await using browser = await testBrowser();
  await using tab = await browser.open({ viewport: { width: 1400, height: 900 } });
  const { page } = tab;
  await signIn(page, served.url, "admin", "test");
  await page.goto(`${served.url}/ui/captures/${capture}`);
  const list = page.getByRole("grid", { name: "Packets" });
  await list.getByRole("row", { name: /^1 / }).waitFor({ timeout: 60_000 });
  const idle = (await page.evaluate(frames(0))) as Frames;
  const busySeconds = await threadSeconds(page);
  const before = await busySeconds();
  // 60 px per frame are 150 rows per second at 60 frames.
  const { count: drawn, rate, waiting } = (await page.evaluate(frames(60))) as Frames;
  const busyMs = (((await busySeconds()) - before) * 1000) / drawn;
  const packets = Number(await list.getAttribute("aria-rowcount")) - 1;
  return { packets, scrolled: rate, idle: idle.rate, busyMs, waiting: (waiting * 100) / drawn };
}

interface Frames {
  readonly count: number;
  /** Frames per second. */
  readonly rate: number;
  readonly waiting: number;
}

/** Runs in the page: counts the frames of three seconds, each with one scroll step. @param step px */
function frames(step: number): string {
  return `new Promise((resolve) => {
    const list = document.querySelector(".packet-list");
    let count = 0;
    let waiting = 0;
    const begin = performance.now();
    const next = (now) => {
      list.scrollTop += ${step};
      count++;
      if (list.querySelector(".packet-line.coming") !== null) waiting++;
      if (now - begin < 3000) requestAnimationFrame(next);
      else resolve({ count, rate: (count * 1000) / (now - begin), waiting });
    };
    requestAnimationFrame(next);
  })`;
}
