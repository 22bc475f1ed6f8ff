import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "../wire/raw-client.ts";
import type { Served } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** The panel of a real node. */

let local: TestLocalHost;
let browser: TestBrowser;
let served: Served;
let client: RawClient;

const lab = "/closely";
const yaml = `name: closely
nodes:
  r1:
    template: frr
    startup-config: |
      interface eth0
       description intended
  h1: {template: linux}
  h2: {template: linux, start: false}
  late: {template: linux, ready: {command: test -e /tmp/ready}}
  sw: {template: switch, switching: {spanning-tree: rstp, interfaces: {eth0: {vlan: 10}, eth1: {mode: trunk, vlans: [10, 20-29]}}}}
links:
  - ["h1:eth1", "sw:eth0"]
  - ["h2:eth1", "sw:eth1"]
  - ["r1:eth0", "h1:eth0"]
  - {endpoints: ["r1:eth1", "h2:eth0"], suspended: true}
`;

beforeAll(async () => {
  [browser, local] = await Promise.all([testBrowser(), testLocalHost()]);
  served = await servePages({ host: local.host });
  client = await served.signIn("admin", "test");
  expect((await client.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

test("a node's panel shows its state, saved configuration and console log, and stops and wipes the node", {
  timeout: 180_000,
}, async () => {
  const ready = async () => {
    const { json } = await client.post("/api/v1/projects/status", { lab });
    return json.data.live.nodes.every(
      (one: { readonly name: string; readonly status: string; readonly ready?: boolean }) =>
        one.name === "h2" || one.name === "late" || (one.status === "running" && one.ready !== false),
    );
  };
  await expect.poll(ready, { timeout: 60_000, interval: 100 }).toBe(true);
  // The saved configuration then differs from the intent.
  const saved = await client.post("/api/v1/console/exec", {
    lab,
    node: "r1",
    command: "configure terminal\ninterface eth0\ndescription by hand\nend\nwrite memory",
    timeout_ms: 60_000,
  });
  expect(saved.json.data.output).toContain("[OK]");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "admin", "test");
  await page.goto(`${served.url}/ui/labs${lab}`);
  await page.getByRole("button", { name: "r1, router, running" }).click();
  const panel = page.getByRole("complementary", { name: "Node r1" });
  const value = (title: string) => panel.locator("dt", { hasText: title }).locator("xpath=following-sibling::dd");
  expect(await value("State").textContent()).toBe("running");
  expect(await value("Up").textContent()).toMatch(/^\d+ (s|min)/);
  await panel.getByRole("row", { name: /^eth0 .*h1:eth0/ }).waitFor();
  await panel.getByRole("row", { name: /^eth1 .*h2:eth0 suspended/ }).waitFor();
  const { features } = (await client.get("/api/v1/capabilities")).json.data;
  if (features.nodeLoad === true) {
    await value("CPU")
      .getByText(/^\d+ %/)
      .waitFor();
    await value("Memory")
      .getByText(/^[\d.]+ MiB/)
      .waitFor();
    await panel.getByRole("img", { name: "CPU, last two minutes" }).waitFor();
  }

  await panel.getByText("Intent and node: startup-config differs").waitFor();
  await panel.getByText("The startup-config was changed on the node.").waitFor();
  await panel.getByText("- description by hand").or(panel.getByText("-  description by hand")).waitFor();
  await panel.getByText("+  description intended").waitFor();

  // A configuration that runs and is not saved yet.
  const exec = (node: string, command: string) => client.post("/api/v1/console/exec", { lab, node, command, timeout_ms: 60_000 });
  expect((await exec("r1", "configure terminal\ninterface eth0\ndescription only running\nend")).status).toBe(200);
  await panel.getByText("Configuration", { exact: true }).click();
  await panel.getByRole("region", { name: "Running configuration of r1" }).getByText("description only running").waitFor();
  await panel.getByRole("button", { name: "Difference" }).click();
  await panel.getByRole("region", { name: "Startup, Running" }).getByText("description only running").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await panel.getByRole("button", { name: "Save running configuration" }).click();
  await panel.getByText("both are the same").waitFor();
  await panel.getByText("Saved as the node's startup configuration.").waitFor();
  await panel.getByText("-  description only running").waitFor();

  // The traffic of an interface.
  await panel.getByText("Traffic", { exact: true }).click();
  await panel.getByText("No packets yet.").waitFor();
  expect((await exec("h1", "ip address add 10.9.0.1/24 dev eth0; ping -c3 -i0.3 -W1 10.9.0.2; true")).status).toBe(200);
  await panel.getByRole("row", { name: /^eth0 .*bit\/s .*bit\/s/ }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await panel.getByText("Traffic", { exact: true }).click();
  await page.getByRole("tab", { name: "Nodes" }).click();
  await page.getByRole("row", { name: /^h1 .* 10\.9\.0\.1\/24/ }).waitFor();
  await page.getByRole("button", { name: "Close the drawer" }).click();

  await panel.getByText("Console log").click();
  const log = panel.getByRole("region", { name: "Console log of r1" });
  await log.getByText("description by hand").waitFor();
  expect(await violationsOf(page)).toEqual([]);

  // h2 is not affected: its link is suspended.
  await panel.getByText("Stopping it takes its links down. Affected: h1.").waitFor();
  const started = page.waitForResponse((answer) => answer.url().endsWith("/exec") && answer.request().postDataJSON().action === "start");
  await panel.getByRole("button", { name: "Restart" }).click();
  expect((await started).status()).toBe(200);
  await page.getByRole("button", { name: "r1, router, running" }).waitFor();
  await panel.getByRole("combobox", { name: "Stop mode" }).selectOption("by switching it off");
  await panel.getByRole("button", { name: "Stop" }).click();
  await panel.getByText("The node does not run. This is its last output.").waitFor();
  await panel.getByRole("button", { name: "Wipe…" }).click();
  const dialog = page.getByRole("dialog", { name: "Wipe r1?" });
  await dialog.getByText(/files and saved configurations that are not in the intent are lost/).waitFor();
  await dialog.getByRole("button", { name: "Wipe" }).click();
  await panel.getByText("Intent and node: the same").waitFor();
  await panel.getByRole("button", { name: "Start" }).click();
  await page.getByRole("button", { name: "r1, router, running" }).waitFor();
  await log.getByText("description by hand").waitFor({ state: "hidden" });
});

test("files are written into a running node and read from it", { timeout: 120_000 }, async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "admin", "test");
  await page.goto(`${served.url}/ui/labs${lab}`);
  await page.getByRole("button", { name: "h1, linux, running" }).click();
  const panel = page.getByRole("complementary", { name: "Node h1" });
  await panel.getByText("Files", { exact: true }).click();
  await panel.getByRole("button", { name: "etc/" }).click();
  const list = panel.getByRole("region", { name: "Files in /etc" });
  await list.getByRole("rowheader", { name: "hosts", exact: true }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await panel.getByLabel("Folder", { exact: true }).fill("/tmp");
  await page.keyboard.press("Enter");
  const temporary = panel.getByRole("region", { name: "Files in /tmp" });
  await temporary.waitFor();
  const [name, content] = ["grüße 1.txt", Buffer.from("a line\n".repeat(200_000))];
  await panel.getByLabel("Files for /tmp").setInputFiles({ name, mimeType: "text/plain", buffer: content });
  await temporary.getByRole("row", { name: /^grüße 1\.txt 1\.3 MiB/ }).waitFor();
  const size = await client.post("/api/v1/console/exec", { lab, node: "h1", command: "wc -c < '/tmp/grüße 1.txt'", timeout_ms: 60_000 });
  expect(size.json.data.output).toContain("1400000");
  const downloading = page.waitForEvent("download");
  await temporary.getByRole("button", { name: `Download ${name}` }).click();
  const saved = await downloading;
  expect(saved.suggestedFilename()).toBe(name);
  expect((await readFile(await saved.path())).equals(content)).toBe(true);
  await panel.getByLabel("Folder", { exact: true }).fill("/nowhere");
  await page.keyboard.press("Enter");
  await panel.getByText(/can't cd to \/nowhere|No such file/).waitFor();
});

test("a link in a node's panel opens the link, and a node that never ran has no console log", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "admin", "test");
  await page.goto(`${served.url}/ui/labs${lab}`);
  await page.getByRole("button", { name: "h2, linux, stopped" }).click();
  const panel = page.getByRole("complementary", { name: "Node h2" });
  await panel.getByText("Console log").click();
  await panel.getByText("No output since its last start.").waitFor();
  const state = panel.locator("dt", { hasText: "State" }).locator("xpath=following-sibling::dd[1]");
  expect(await state.textContent()).toBe("stopped");
  await panel.getByRole("button", { name: "r1:eth1" }).click();
  await page.getByRole("complementary", { name: "Link r1:eth1 to h2:eth0" }).waitFor();
});

test("a node that runs but is not ready is shown as booting until it is", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "admin", "test");
  await page.goto(`${served.url}/ui/labs${lab}`);
  await page.getByRole("button", { name: "late, linux, booting" }).click();
  const panel = page.getByRole("complementary", { name: "Node late" });
  await panel.getByText("running (not ready yet)").waitFor();
  await panel.getByRole("button", { name: "Close" }).click();
  expect((await client.post("/api/v1/console/exec", { lab, node: "late", command: "touch /tmp/ready", timeout_ms: 60_000 })).status).toBe(
    200,
  );
  await page.getByRole("button", { name: "late, linux, running" }).waitFor();
});

test("the panel of a VLAN-aware switch shows its ports as they run", { timeout: 120_000 }, async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "admin", "test");
  await page.goto(`${served.url}/ui/labs${lab}`);
  await page.getByRole("button", { name: "sw, switch, running" }).click();
  const panel = page.getByRole("complementary", { name: "Node sw" });
  await panel.getByText("Switch ports").click();
  await panel.getByText("RSTP: this switch is the root.").waitFor();
  await panel.getByRole("row", { name: /^eth0 access 10 .*designated port/ }).waitFor();
  await panel.getByRole("row", { name: /^eth1 trunk 10, 20-29/ }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
});
