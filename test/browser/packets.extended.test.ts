import { readFile } from "node:fs/promises";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

type StorageState = Awaited<ReturnType<BrowserContext["storageState"]>>;

// IPv4 only and without DHCP, so that all packets come from the tests.
const yaml = `name: caught
nodes:
  h1: {template: linux, exec: ["sysctl -qw net.ipv6.conf.all.disable_ipv6=1", "ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["sysctl -qw net.ipv6.conf.all.disable_ipv6=1", "ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
traffic_filters:
  - {name: pings, color: "#d6336c", match: icmp}
  - {name: asks, match: arp}
`;

describe.skipIf(process.getuid?.() !== 0)("packets in a real browser", { timeout: 180_000 }, () => {
  let local: TestLocalHost;
  let browser: TestBrowser;
  let served: Served;
  let client: RawClient;
  let storageState: StorageState;

  beforeAll(async () => {
    [browser, local] = await Promise.all([testBrowser(), testLocalHost()]);
    served = await servePages({ host: local.host });
    client = await served.signIn("admin", "test");
    expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
    await eventually(
      "a first ping",
      90_000,
      // On a busy machine the console may have no prompt yet: the command is then repeated, too.
      () => inside("h1", "ping -c1 -W1 10.0.0.2").catch((error: Error) => error.message),
      (output) => output.includes(" 0% packet loss"),
    );
    await using tab = await browser.open();
    await signIn(tab.page, served.url, "admin", "test");
    storageState = await tab.page.context().storageState();
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await local?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  });

  async function inside(node: string, command: string): Promise<string> {
    const { status, json } = await client.post("/api/v1/console/exec", { lab: "/caught", node, command, timeout_ms: 60_000 });
    if (status !== 200) throw new Error(json.error);
    return json.data.output as string;
  }

  async function started(filter: string): Promise<{ readonly id: string; readonly url: string }> {
    const { json } = await client.post("/api/v1/projects/capture", { lab: "/caught", node: "h1", interface: "eth0", filter });
    return { id: json.data.capture as string, url: json.data.url as string };
  }

  const packets = (page: Page) => page.getByRole("grid", { name: "Packets" });
  const filterBy = async (page: Page, text: string) => {
    await page.getByLabel("Display filter").fill(text);
    await page.keyboard.press("Enter");
  };

  test("a capture is started from a link, shows packets as they pass, and is filtered, stopped, downloaded and removed", async () => {
    await using tab = await browser.open({ storageState });
    const { page } = tab;
    await page.goto(`${served.url}/ui/labs/caught`);
    await page.getByRole("button", { name: /^Link h1:eth0 to h2:eth0/ }).press("Enter");
    await page.getByRole("button", { name: "Capture h1:eth0" }).click();
    // Exactly this name: the panel of the link has a heading that contains it, before the capture runs.
    await page.getByRole("heading", { name: "h1:eth0", exact: true }).waitFor();

    // Packets appear while the page is open.
    await inside("h1", "ping -c2 -i0.2 10.0.0.2");
    await packets(page)
      .getByText(/request.*seq=1\//)
      .waitFor();
    await packets(page)
      .getByText(/reply.*seq=2\//)
      .waitFor();
    await inside("h1", "ping -c1 -s 3000 10.0.0.2");
    const whole = packets(page).getByRole("row", { name: /^\d+ \d+\.\d{6} 10\.0\.0\.1 10\.0\.0\.2 ICMP 82 Echo/ });
    await whole.waitFor();

    // Invalid and valid filters.
    await filterBy(page, "icmp.nope");
    expect(await page.getByRole("alert").textContent()).toContain("icmp.nope is neither a field nor a protocol name");
    await tab.expectComplaint(/400/);
    await packets(page)
      .getByText(/request.*seq=2\//)
      .waitFor();
    await filterBy(page, "icmp.type == 0");
    await page.getByText(/^3 of \d+ packets$/).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await packets(page).getByText("request id").count()).toBe(0);
    await filterBy(page, "arp && icmp");
    await page.getByText(/^None of \d+ packets matches/).waitFor();
    await page.getByRole("button", { name: "Show all packets" }).click();

    // The fields and bytes of one packet, by keyboard.
    await whole.click();
    const tree = page.getByRole("tree", { name: "Fields of the packet" });
    const field = (name: RegExp) => tree.getByRole("treeitem", { name });
    await field(/^Internet Control Message Protocol/).click();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => field(/^Type: 8/).getAttribute("aria-selected")).toBe("true");
    expect(await field(/^Type: 8/).evaluate((element) => element.matches(":focus"))).toBe(true);
    // The field is in the bytes that were reassembled from three packets.
    const source = page.getByRole("button", { name: /^Reassembled IPv4/ });
    expect(await source.getAttribute("aria-pressed")).toBe("true");
    const marked = () => page.locator(".byte-hex .marked").allTextContents();
    expect(await marked()).toEqual(["08"]);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await expect.poll(marked).toHaveLength(2);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => field(/^Type: 8/).count()).toBe(0);
    // A field that refers to another packet leads to it.
    await field(/^Internet Control Message Protocol/).click();
    await page.keyboard.press("ArrowRight");
    await field(/^Response frame: \d+/).click();
    const answer = /\d+/.exec((await field(/^Response frame: \d+/).textContent()) ?? "")![0];
    await page.getByRole("button", { name: `Go to packet ${answer}`, exact: true }).click();
    await page.getByRole("heading", { name: `Packet ${answer}`, exact: true }).waitFor();
    const answering = packets(page).getByRole("row", { name: new RegExp(`^${answer} .* 10\\.0\\.0\\.2 10\\.0\\.0\\.1 ICMP`) });
    await expect.poll(() => answering.getAttribute("aria-selected")).toBe("true");
    expect(await packets(page).evaluate((element) => element.matches(":focus"))).toBe(true);
    await field(/^Request frame: \d+/).click();
    await page.getByRole("button", { name: /^Go to packet \d+$/ }).click();
    await expect.poll(() => whole.getAttribute("aria-selected")).toBe("true");
    // The details of the reply, which has the same length, are shown until the new details are loaded.
    const asking = await whole.locator(":scope > :first-child").textContent();
    await page.getByRole("heading", { name: `Packet ${asking}`, exact: true }).waitFor();
    // A click on a byte selects its field.
    await page.getByRole("button", { name: /^Packet \(82 bytes\)/ }).click();
    await page.locator('.byte-hex [data-byte="23"]').click();
    await expect.poll(() => field(/^Protocol: ICMP/).getAttribute("aria-selected")).toBe("true");
    await page.getByRole("button", { name: "Filter by this field" }).click();
    await page.getByText(/^\d+ of \d+ packets$/).waitFor();
    expect(await page.getByLabel("Display filter").inputValue()).toBe("ip.proto == 1");
    await page.getByRole("button", { name: "Show all packets" }).click();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violationsOf(page)).toEqual([]);
    }

    // Stop, download and remove.
    await page.getByRole("button", { name: "Stop…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByText("running", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    await page.getByText("stopped", { exact: true }).waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download pcapng" }).click();
    const file = await readFile(await (await download).path());
    expect([file.subarray(0, 4).toString("hex"), (await download).suggestedFilename()]).toEqual(["0a0d0d0a", "caught-h1-eth0.pcapng"]);
    await page.getByRole("button", { name: "Remove…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByRole("heading", { name: "No captures" }).waitFor();
  });

  test("the list shows captures as they start and end, and starts a capture with a filter", async () => {
    await using tab = await browser.open({ storageState });
    const { page } = tab;
    await page.goto(`${served.url}/ui/labs/caught?view=captures`);
    await page.getByRole("heading", { name: "No captures" }).waitFor();
    const { id } = await started("arp");
    await page.getByRole("link", { name: "h1:eth0" }).waitFor();
    await page.getByText(/filter arp$/).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Stop h1:eth0" }).click();
    await page.getByText("stopped", { exact: true }).waitFor();
    await client.post(`/api/v1/projects/captures/${id}/remove`, {});
    await page.getByRole("heading", { name: "No captures" }).waitFor();

    await page.getByLabel("Node").selectOption("h2");
    await page.getByLabel("Capture filter").fill("no such thing");
    await page.getByRole("button", { name: "Start a capture" }).click();
    await page.getByRole("alert").waitFor();
    await tab.expectComplaint(/400/);
    await page.getByLabel("Capture filter").fill("icmp");
    await page.getByRole("button", { name: "Start a capture" }).click();
    await page.getByRole("heading", { name: "No packets yet" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Remove…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByRole("heading", { name: "No captures" }).waitFor();
    // The page may have sent a request for the removed capture.
    tab.allowComplaint(/404/);
  });

  test("the address that startCapture returns shows thousands of packets, with only the visible rows in the page, also with a filter", async () => {
    const { id, url } = await started("icmp");
    // Adaptive ping, as fast as replies arrive. Several times more packets than one chunk of rows.
    await inside("h1", "ping -q -A -c 1500 -W1 10.0.0.2 > /dev/null; echo over");
    await client.post(`/api/v1/projects/captures/${id}/stop`, {});
    await using tab = await browser.open({ viewport: { width: 1200, height: 800 } });
    const { page } = tab;
    await page.goto(url);
    const all = Number(/^(\d+) packets$/.exec((await page.getByText(/^\d{4} packets$/).textContent()) ?? "")?.[1]);
    expect(all).toBeGreaterThan(1_000);
    const list = packets(page);
    expect(await list.getAttribute("aria-rowcount")).toBe(String(all + 1));
    await list.getByRole("row", { name: /^1 / }).click();
    await page.getByRole("heading", { name: "Packet 1", exact: true }).waitFor();
    await list.focus();
    await page.keyboard.press("End");
    await page.getByRole("heading", { name: `Packet ${all}`, exact: true }).waitFor();
    await page.keyboard.press("ArrowUp");
    await page.getByRole("heading", { name: `Packet ${all - 1}`, exact: true }).waitFor();
    // Somewhere in the middle.
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
    const half = Math.round(all / 2);
    await list.getByRole("row", { name: new RegExp(`^${half} `) }).waitFor();
    expect(await page.locator(".packet-line").count()).toBeLessThan(80);
    await filterBy(page, "icmp.type == 0");
    await page.getByText(new RegExp(`^\\d+ of ${all} packets$`)).waitFor();
    await list.focus();
    await page.keyboard.press("End");
    await list.getByRole("row", { name: /Echo \(ping\) reply/, selected: true }).waitFor();
    await client.post(`/api/v1/projects/captures/${id}/remove`, {});
    await page.getByRole("heading", { name: "The capture was removed" }).waitFor();
    // Rows near the visible ones may still have been loading.
    tab.allowComplaint(/404|502/);
  });

  test("packets are drawn on their links in the colour of their filter and counted, while the page is visible", async () => {
    await inside("h1", "ping -i 0.2 10.0.0.2 > /dev/null 2>&1 &");
    await using tab = await browser.open({ storageState });
    const { page } = tab;
    let open = 0;
    page.on("websocket", (socket) => {
      open++;
      socket.on("close", () => void open--);
    });
    await page.goto(`${served.url}/ui/labs/caught`);
    const traffic = page.getByRole("button", { name: "Live traffic" });
    await traffic.click();
    await page.getByRole("checkbox", { name: /^pings/ }).waitFor();
    await expect.poll(() => page.evaluate(pink), poll).toBeGreaterThan(10);

    // The rates are in a table, and in a tooltip of the link.
    await page.getByRole("button", { name: "Rates of each link" }).click();
    for (const [from, to] of [
      ["h1:eth0", "h2:eth0"],
      ["h2:eth0", "h1:eth0"],
    ] as const)
      await page.getByRole("row", { name: new RegExp(`^${from} ${to} pings [0-9.]+ packets/s, .*ICMP echo`) }).waitFor();
    await page.getByRole("button", { name: /^Link h1:eth0/ }).focus();
    await page
      .getByRole("tooltip")
      .getByText(/pings: [0-9.]+ packets\/s/)
      .first()
      .waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violationsOf(page)).toEqual([]);

    // With reduced motion rates are drawn instead.
    await page.emulateMedia({ reducedMotion: "reduce" });
    await expect.poll(() => page.evaluate(pink), poll).toBeGreaterThan(10);
    await page.emulateMedia({ reducedMotion: "no-preference" });

    // Packets of a hidden filter are neither drawn nor requested.
    await page.getByRole("checkbox", { name: /^pings/ }).uncheck();
    await expect.poll(() => page.evaluate(pink), poll).toBe(0);
    await expect.poll(() => page.getByRole("row", { name: /pings/ }).count(), poll).toBe(0);
    await page.getByRole("checkbox", { name: /^pings/ }).check();
    await expect.poll(() => page.evaluate(pink), poll).toBeGreaterThan(10);

    // The stream ends while the page is hidden.
    await expect.poll(() => open, poll).toBe(1);
    await page.evaluate(hide(true));
    await expect.poll(() => open, poll).toBe(0);
    await page.evaluate(hide(false));
    await expect.poll(() => open, poll).toBe(1);
    await expect.poll(() => page.evaluate(pink), poll).toBeGreaterThan(10);
    await traffic.click();
    await expect.poll(() => open, poll).toBe(0);
    expect(await page.locator(".traffic-canvas").count()).toBe(0);
  });

  test("without filters packets have the colours of their protocols, links show their rates, and one click on a link shows its packets", async () => {
    const plain = yaml.slice(0, yaml.indexOf("traffic_filters")).replace("caught", "plain");
    expect((await client.post("/api/v1/projects/deploy", { yaml: plain })).status).toBe(200);
    const exec = (command: string) => client.post("/api/v1/console/exec", { lab: "/plain", node: "h1", command, timeout_ms: 60_000 });
    await eventually(
      "a first ping",
      90_000,
      async () => (await exec("ping -c1 -W1 10.0.0.2")).text,
      (text) => text.includes(" 0% packet loss"),
    );
    expect((await exec("ping -i 0.2 10.0.0.2 > /dev/null 2>&1 &")).status).toBe(200);
    await using tab = await browser.open({ storageState });
    const { page } = tab;
    await page.goto(`${served.url}/ui/labs/plain?traffic=1&drawer=traffic`);
    await page.getByRole("checkbox", { name: /^ICMP/ }).waitFor();
    await expect.poll(() => page.evaluate(pixels("cb397c")), poll).toBeGreaterThan(10);
    await page.getByRole("row", { name: /^h1:eth0 h2:eth0 ICMP [0-9.]+ packets\/s/ }).waitFor();

    // The heat map: the rates that the host counted.
    await page.getByRole("checkbox", { name: "Heat map" }).check();
    await page.getByRole("list", { name: "Rates of links" }).waitFor();
    await page.getByRole("row", { name: /^h1:eth0 h2:eth0 all [0-9.]+ packets\/s/ }).waitFor();
    await expect.poll(() => page.evaluate(pixels("4c86d8")), poll).toBeGreaterThan(10);
    expect(await violationsOf(page)).toEqual([]);

    // The pointer on the link shows the button for its packets.
    const [h1, h2] = await Promise.all(
      ["h1", "h2"].map(
        async (name) =>
          (await page
            .getByRole("button", { name: new RegExp(`^${name}, `) })
            .locator("rect")
            .boundingBox())!,
      ),
    );
    await page.mouse.move((h1!.x + h2!.x + h2!.width) / 2, (h1!.y + h2!.y + h2!.height) / 2);
    await page.getByRole("button", { name: "Capture and show the packets of h1:eth0 to h2:eth0" }).click();
    await packets(page)
      .getByText(/Echo \(ping\) request/)
      .first()
      .waitFor();
    const address = page.url();
    // The link is marked while it is captured; the mark leads to the same capture.
    const mark = page.getByRole("button", { name: "Captured: show the packets of h1:eth0 to h2:eth0" });
    await mark.waitFor();
    await page.getByRole("tab", { name: "Jobs" }).click();
    await mark.click();
    await packets(page).waitFor();
    expect(page.url()).toBe(address);
    const id = new URL(address).searchParams.get("capture");
    await client.post(`/api/v1/projects/captures/${id}/stop`, {});
    await mark.waitFor({ state: "detached" });
    await client.post("/api/v1/projects/destroy", { lab: "/plain" });
    tab.allowComplaint(/404|502/);
  });

  test("a lab with more links than can be watched shows a heat map, and packets of a selected link", async () => {
    const names = Array.from({ length: 65 }, (_, at) => `h${at}`);
    const nodes = names.map((name) => `  ${name}: {template: linux, start: false}\n`).join("");
    const links = names.map((name, at) => `  - ["${name}:eth0", "h${(at + 1) % 65}:eth1"]\n`).join("");
    const wide = `name: wide\nnodes:\n${nodes}links:\n${links}`;
    expect((await client.post("/api/v1/projects/deploy", { yaml: wide })).status).toBe(200);
    await using tab = await browser.open({ storageState });
    const { page } = tab;
    // The service refuses to watch all links.
    tab.allowComplaint(/409/);
    await page.goto(`${served.url}/ui/labs/wide?traffic=1`);
    await page.getByText("Too many links to draw packets on all of them").waitFor();
    await page.getByRole("list", { name: "Rates of links" }).waitFor();
    await page.getByRole("button", { name: /^Link h3:eth0 to h4:eth1/ }).press("Enter");
    await page.getByRole("checkbox", { name: "Only h3:eth0 -- h4:eth1" }).check();
    await page.getByText("Watching. No packets yet.").waitFor();
    await client.post("/api/v1/projects/destroy", { lab: "/wide" });
    tab.allowComplaint(/404|502/);
  });
});

const poll = { timeout: 40_000 };

/** Script for the page: counts the pixels of the overlay that have a colour. */
const pixels = (color: string) => `(() => {
  const canvas = document.querySelector(".traffic-canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const [r, g, b] = [0x${color.slice(0, 2)}, 0x${color.slice(2, 4)}, 0x${color.slice(4, 6)}];
  let count = 0;
  for (let at = 0; at < data.length; at += 4) if (data[at] === r && data[at + 1] === g && data[at + 2] === b) count++;
  return count;
})()`;
/** The colour of pings. */
const pink = pixels("d6336c");

/** Script for the page: simulates that the tab is hidden or visible. */
const hide = (hidden: boolean): string =>
  `Object.defineProperty(document, "hidden", { configurable: true, get: () => ${hidden} }), document.dispatchEvent(new Event("visibilitychange"))`;
