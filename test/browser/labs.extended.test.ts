import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operations } from "../../src/contract/operations.ts";
import { eveFixture } from "../../src/hosts/eve/eve-host.fixture.ts";
import { readUnl } from "../../src/hosts/eve/lab-file/unl.ts";
import type { HostSession } from "../../src/hosts/host.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import { sample } from "../../src/importers/samples.fixture.ts";
import type { UrlImports } from "../../src/service/common/url-imports.ts";
import type { RawClient } from "../wire/raw-client.ts";
import { type Served, users } from "../wire/served.ts";
import { violationsOf } from "./axe.fixture.ts";
import { servePages, signIn, type TestBrowser, testBrowser } from "./browser.fixture.ts";

/** The list of labs: created from files, duplicated, updated by events, destroyed. */

/** Stands for a server of files, which no browser test may need. */
const urlImports: UrlImports = {
  hosts: ["files.example"],
  load: async (url) =>
    url.endsWith(".yaml")
      ? { filename: "own.yaml", bytes: Buffer.from("name: from-url # mine\nnodes:\n  r1: {template: frr}\n") }
      : { filename: "loaded.dot", bytes: Buffer.from("graph loaded { r1 -- h1 }") },
};

let browser: TestBrowser;
let served: Served;
let client: RawClient;

beforeAll(async () => {
  [browser, served] = await Promise.all([testBrowser(), servePages({ service: { urlImports } })]);
  client = await served.signIn("admin");
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const yaml = (name: string) =>
  `name: ${name}\nnodes:\n  r1: {template: frr}\n  h1: {template: linux}\nlinks:\n  - ["r1:eth0", "h1:eth0"]\n`;

async function deploy(name: string): Promise<void> {
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml(name) })).status).toBe(200);
}

const rowOf = (page: Page, name: string) => page.getByRole("row", { name: new RegExp(`^${name} `) });

test("a lab's files are dropped on the page, checked, and deployed", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/new`);
  await page.getByLabel("The lab as YAML").waitFor();
  const files = {
    "dropped.clab.yml": yaml("dropped").replace("r1: {template: frr}", "r1: {template: frr, startup-config: r1.conf}"),
    "r1.conf": "hostname from-a-file\n",
  };
  const drop = async (some: Readonly<Record<string, string>>) => {
    const dataTransfer = await page.evaluateHandle(`(() => {
      const all = new DataTransfer();
      for (const [name, text] of Object.entries(${JSON.stringify(some)})) all.items.add(new File([text], name));
      return all;
    })()`);
    await page.getByLabel("The lab as YAML").dispatchEvent("drop", { dataTransfer });
  };
  // The service refuses a lab of ours as one of another tool.
  tab.allowComplaint(/422 .*import-file/);
  await drop({ "a.yaml": "name: a", "b.yml": "name: b" });
  await page.getByText("Choose one YAML file only: got a.yaml, b.yml.").waitFor();
  await drop(files);
  await page.getByText("Read dropped.clab.yml, r1.conf.").waitFor();
  expect(await page.getByLabel("The lab as YAML").inputValue()).toBe(files["dropped.clab.yml"]);
  expect(await violationsOf(page)).toEqual([]);
  // The check reports a removed file as missing.
  await page.getByRole("button", { name: "Remove r1.conf" }).click();
  await page.getByRole("button", { name: "Check" }).click();
  await page
    .getByRole("alert")
    .getByText(/r1\.conf/)
    .first()
    .waitFor();
  await tab.expectComplaint(/422/);
  // The list leads to the line.
  await page.getByRole("alert").getByRole("button", { name: "line 3" }).click();
  const selected =
    "(() => { const text = document.querySelector('#yaml'); return text.value.slice(text.selectionStart, text.selectionEnd); })()";
  expect(await page.evaluate(selected)).toContain("startup-config: r1.conf");
  await page.getByLabel("Choose files…").setInputFiles({ name: "r1.conf", mimeType: "text/plain", buffer: Buffer.from(files["r1.conf"]) });
  await page.getByText("Read r1.conf.").waitFor();
  await page.getByRole("button", { name: "Deploy" }).click();
  await page.getByRole("heading", { name: "dropped" }).waitFor();
  const { json } = await client.post("/api/v1/projects/public", { lab: "/dropped", as_written: true });
  expect(json.data.files).toEqual({ "r1.conf": files["r1.conf"] });
});

test("a lab of another tool is shown with the fate of its parts before it is stored; a damaged one with its place", async () => {
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.goto(`${served.url}/ui/new`);
  const choose = (name: string, text: string) =>
    page
      .getByLabel("Choose files…")
      .first()
      .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
  const unl = Buffer.from(Object.values(sample("eve/samples/wan-serial.unl"))[0] ?? "").toString();
  tab.allowComplaint(/422 .*import-file/);
  await choose("broken.unl", unl.slice(0, 900));
  await page
    .getByRole("alert")
    .getByText(/broken\.unl:\d+: /)
    .waitFor();
  await choose("wan-serial.unl", unl);
  await page.getByRole("button", { name: "From YAML or a file of another tool…" }).waitFor({ state: "detached" });
  // The page before was scrolled down to its buttons for files.
  await page.getByRole("heading", { name: "Import wan-serial.unl" }).and(page.locator(":focus")).waitFor();
  expect(await page.evaluate("scrollY")).toBe(0);
  const report = page.getByRole("region", { name: "Report" });
  await report.getByText(/\d+ kept, \d+ mapped, \d+ dropped/).waitFor();
  await report
    .getByText(/^wan-serial\.unl:\d+$/)
    .first()
    .waitFor();
  await page.getByRole("heading", { name: "Images that this host does not have" }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect((await client.get("/api/v1/labs")).json.data.labs.map(({ name }: { readonly name: string }) => name)).not.toContain("wan-serial");
  await page.getByLabel("Nodes whose image is not there").selectOption("frr");
  await page.getByRole("button", { name: "Edit first" }).click();
  const editor = page.getByLabel("The lab as YAML");
  expect(await editor.inputValue()).toMatch(/template: frr/);
  await page.getByText("Allowed: files.example").waitFor();
  // A lab of Labwright becomes the text, as if its file was chosen.
  await page.getByLabel("URL of a lab").fill("https://files.example/own.yaml");
  await page.getByRole("button", { name: "Import from URL" }).click();
  await page.getByText("Read own.yaml.").waitFor();
  expect(await editor.inputValue()).toBe("name: from-url # mine\nnodes:\n  r1: {template: frr}\n");
  await page.getByLabel("URL of a lab").fill("https://files.example/loaded.dot");
  await page.getByRole("button", { name: "Import from URL" }).click();
  await page.getByRole("heading", { name: "Import loaded.dot" }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  // Pasted text of another tool is offered, too.
  await editor.fill("");
  await page.evaluate(`(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "graph pasted {\\n r1 -- h1\\n}\\n");
    document.querySelector("#yaml").dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  })()`);
  await page.getByRole("heading", { name: "Import pasted" }).waitFor();
  await page.getByRole("button", { name: "Deploy" }).click();
  await page.getByRole("heading", { name: "pasted", exact: true }).waitFor();
});

test("the list shows state, drift and last change as they change, and names what is lost when a lab is destroyed", async () => {
  await deploy("listed");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  const row = rowOf(page, "listed");
  await row.getByText("all 2 running").waitFor();
  await row.getByText("in sync").waitFor();
  await row.getByText("deployed").waitFor();
  const lab = "/listed";
  await client.post("/api/v1/projects/exec", { lab, action: "stop", node: "h1" });
  await row.getByText("1 running, 1 stopped").waitFor();
  await client.post("/api/v1/projects/links/quality", { lab, endpoints: ["r1:eth0", "h1:eth0"], a: { delay: 5 }, save: true });
  await row.getByRole("link", { name: "out of sync: 1 difference" }).waitFor();
  await row.getByRole("button", { name: "Actions of listed" }).click();
  await page.getByRole("menuitem", { name: "Destroy…" }).click();
  const dialog = page.getByRole("dialog", { name: "Destroy listed?" });
  await dialog.getByText(/Its 2 nodes are stopped, and their disks are deleted\..*Running now: r1\./).waitFor();
  await dialog.getByText(/Changed on the host and not in the intent: .*h1:eth0/).waitFor();
  const destroy = dialog.getByRole("button", { name: "Destroy" });
  expect(await destroy.isDisabled()).toBe(true);
  await dialog.getByRole("textbox").fill("listed");
  await destroy.click();
  await row.waitFor({ state: "detached" });
  // Requests for the lab while it was destroyed.
  tab.allowComplaint(/404/);
  expect((await client.post("/api/v1/projects/status", { lab })).status).toBe(404);
});

test("a lab is duplicated, its copy opens, and its source is not changed", async () => {
  await deploy("source");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.getByRole("button", { name: "Duplicate a lab…" }).click();
  const dialog = page.getByRole("dialog", { name: "Duplicate a lab" });
  await dialog.getByLabel("Lab on the host").selectOption("/source");
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel("Path of the copy").fill("courses/mine");
  await dialog.getByRole("button", { name: "Duplicate" }).click();
  await dialog.getByRole("heading", { name: "Duplicated as /courses/mine" }).waitFor();
  await dialog.getByText(/the lab source is mine here/).waitFor();
  await dialog.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("heading", { name: "mine" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/ui/labs/courses/mine");
  await page.getByRole("button", { name: "r1, router, stopped" }).waitFor();
  await page.getByRole("button", { name: "Start all" }).click();
  await page.getByText("2 running").waitFor();
  await page.getByRole("button", { name: "Stop all…" }).click();
  await page
    .getByRole("dialog")
    .getByText(/The 2 running nodes are stopped/)
    .waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Stop all" }).click();
  await page.getByRole("button", { name: "r1, router, stopped" }).waitFor();
  expect(await page.title()).toBe("mine: Topology – Labwright");
  const { json } = await client.post("/api/v1/projects/status", { lab: "/source" });
  expect(json.data.live.nodes.map(({ status }: { readonly status: string }) => status)).toEqual(["running", "running"]);
});

test("the page of a shared lab offers only what the right allows, and shows the right", async () => {
  await deploy("shared");
  const grant = async (right: string) =>
    expect((await client.send(operations.setLabGrants, { lab: "/shared", grants: [{ user: "ann", right }] })).status).toBe(200);
  await grant("view");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "ann");
  await rowOf(page, "shared").getByText("in sync").waitFor();
  const offered = async (name: string) => (await page.getByRole("button", { name }).count()) > 0;
  await page.getByRole("button", { name: "Actions of shared" }).click();
  expect(await page.getByRole("menuitem").allInnerTexts()).toEqual(["Open", "Duplicate…", "Download"]);
  await page.keyboard.press("Escape");
  await page.goto(`${served.url}/ui/labs/shared`);
  await page.getByText("shared with you, read-only").waitFor();
  await page.getByRole("button", { name: "r1, router, running" }).click();
  const panel = page.getByRole("complementary", { name: "Node r1" });
  await panel.getByText("Template").waitFor();
  expect([await offered("Stop all…"), await panel.getByRole("button", { name: /Stop|Console/ }).count()]).toEqual([false, 0]);
  await page.goto(`${served.url}/ui/labs/shared?drawer=consoles&node=r1`);
  await page.getByText("shared with you, read-only").waitFor();
  expect(await page.getByRole("tab").allInnerTexts()).toEqual(["Captures", "Nodes", "Links", "Log", "Jobs", "History"]);
  expect(await page.getByRole("tabpanel").count()).toBe(0);
  await page.getByRole("link", { name: "Consoles" }).click();
  await page.getByRole("heading", { name: "You may not use the consoles of this lab" }).waitFor();

  await grant("operate");
  await page.goto(`${served.url}/ui/labs/shared`);
  await page.getByText("shared with you to operate, but not to edit").waitFor();
  await page.getByRole("button", { name: "Stop all…" }).waitFor();
  await page.locator("[data-link] .link-button").first().press("Enter");
  const link = page.getByRole("complementary", { name: /^Link / });
  await link.getByRole("button", { name: "Apply" }).waitFor();
  expect(await link.getByLabel("Save to the intent, too").count()).toBe(0);
  expect(await offered("Lock")).toBe(false);

  await grant("edit");
  await page.goto(`${served.url}/ui/labs/shared`);
  await page.getByRole("button", { name: "Stop all…" }).waitFor();
  expect(await page.getByText("shared with you").count()).toBe(0);
  await page.locator("[data-link] .link-button").first().press("Enter");
  await link.getByLabel("Save to the intent, too").waitFor();
  // This host has no numbers that labs could share.
  await page.getByRole("button", { name: "Lock" }).waitFor();
  expect(await offered("Renumber…")).toBe(false);
});

test("a stopped lab is locked, unlocked and renumbered by its buttons if the host supports it", async () => {
  await using eve = await eveFixture({ notices: "visible" });
  await using own = await servePages({ host: eve.host });
  const admin = await own.signIn("admin", "eve");
  const pair = (name: string) => `name: ${name}\nnodes: {pc1: {template: vpcs, start: false}, pc2: {template: vpcs, start: false}}\n`;
  expect((await admin.post("/api/v1/projects/deploy", { yaml: pair("first") })).status).toBe(200);
  // A copy that was created in the host's own pages.
  const twin = (eve.fake.labFile("/first.unl") ?? "").replace(/(<lab [^>]*\bid=")[^"]*/, `$1${crypto.randomUUID()}`);
  eve.fake.putLabFile("/second.unl", twin.replace(/(<lab [^>]*\bname=")[^"]*/, "$1second"));
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, own.url, "admin", "eve");
  await page.goto(`${own.url}/ui/labs/first`);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  await button("Renumber…").waitFor();
  await button("Lock").click();
  await page.locator(".lab-head .mark", { hasText: "locked" }).waitFor();
  await button("Unlock").waitFor();
  expect(readUnl(eve.fake.labFile("/first.unl") ?? "").lock).toBe(1);
  await expect.poll(() => button("Renumber…").count()).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  await button("Unlock").click();
  await button("Lock").waitFor();
  expect(readUnl(eve.fake.labFile("/first.unl") ?? "").lock).toBe(0);
  await button("Renumber…").click();
  const question = page.getByRole("dialog", { name: "Renumber the lab?" });
  await question.getByText("The disks of").waitFor();
  await question.getByRole("button", { name: "Renumber" }).click();
  await page.getByText("pc1: 1 is now 3, pc2: 2 is now 4").waitFor();
  await page.reload();
  await button("Start all").click();
  await button("Stop all…").waitFor();
  await expect.poll(() => button("Renumber…").count()).toBe(0);
  expect(eve.fake.running()).toHaveLength(2);
  await admin.post("/api/v1/projects/exec", { lab: "/first", action: "stop" });
  expect((await admin.post("/api/v1/projects/snapshots/take", { lab: "/first" })).status).toBe(200);
  await page.goto(`${own.url}/ui/`);
  await page.getByRole("button", { name: "Actions of first" }).click();
  await page.getByRole("menuitem", { name: "Destroy…" }).click();
  await page.getByRole("dialog").getByText("1 snapshot is deleted, too.").waitFor();
});

test("nodes that ended with the host are restored by one button", async () => {
  const memory = memoryHost({ users });
  // Reports stopped nodes as ended with their host.
  const lost = (session: HostSession): HostSession => ({
    ...session,
    capabilities: async () => {
      const offered = await session.capabilities();
      return { ...offered, features: { ...offered.features, resume: true } };
    },
    status: async (lab) => {
      const live = await session.status(lab);
      return { ...live, nodes: live.nodes.map((node) => (node.status === "stopped" ? { ...node, lost: "host_restart" as const } : node)) };
    },
  });
  const host = { ...memory, login: async (user: string, password: string) => lost(await memory.login(user, password)) };
  await using own = await servePages({ host });
  const admin = await own.signIn("admin");
  expect((await admin.post("/api/v1/projects/deploy", { yaml: yaml("back") })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, own.url);
  await page.goto(`${own.url}/ui/labs/back`);
  await page.getByRole("button", { name: "r1, router, running" }).waitFor();
  expect(await page.getByRole("button", { name: /^Restore/ }).count()).toBe(0);
  expect((await admin.post("/api/v1/projects/exec", { lab: "/back", action: "stop" })).status).toBe(200);
  await page.getByRole("button", { name: "Restore 2" }).click();
  await page.getByRole("button", { name: "r1, router, running" }).waitFor();
  await page.getByRole("button", { name: "Stop all…" }).waitFor();
  await expect.poll(() => page.getByRole("button", { name: /^Restore/ }).count()).toBe(0);
  const { json } = await admin.post("/api/v1/projects/status", { lab: "/back" });
  expect(json.data.live.nodes.map(({ status }: { readonly status: string }) => status)).toEqual(["running", "running"]);
});

test("an admin sees the use of the host by the labs of each owner", async () => {
  await deploy("used");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.getByRole("link", { name: "Host", exact: true }).click();
  await page.getByRole("row", { name: /^admin [1-9]\d* [1-9]\d* 0 –$/ }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
});

test("a viewer sees labs, without buttons to change them", async () => {
  await deploy("looked");
  expect((await client.send(operations.setLabGrants, { lab: "/looked", grants: [{ user: "eve", right: "view" }] })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url, "eve");
  await rowOf(page, "looked").getByText("in sync").waitFor();
  expect(await page.getByRole("button", { name: /Share|Duplicate/ }).count()).toBe(0);
  await page.getByRole("button", { name: "Actions of looked" }).click();
  expect(await page.getByRole("menuitem").allInnerTexts()).toEqual(["Open", "Download"]);
  await page.keyboard.press("Escape");
  expect(await page.getByRole("link", { name: /New lab|Host/ }).count()).toBe(0);
});

test("labs are found by name, stopped and started from the list, and shared with a right that is changed and taken back", async () => {
  await deploy("findable");
  await deploy("other");
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  await page.getByRole("searchbox", { name: "Find a lab" }).fill("FIND");
  await page.getByText(/^1 of \d+$/).waitFor();
  expect(await page.locator(".labs tbody tr").count()).toBe(1);
  const act = async (name: string) => {
    await page.getByRole("button", { name: "Actions of findable" }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  await act("Stop all…");
  await page.getByRole("dialog", { name: "Stop findable?" }).getByRole("button", { name: "Stop all" }).click();
  await rowOf(page, "findable").getByText("all 2 stopped").waitFor();
  await act("Start all");
  await rowOf(page, "findable").getByText("all 2 running").waitFor();

  await rowOf(page, "findable").getByRole("button", { name: "Share…" }).click();
  const dialog = page.getByRole("dialog", { name: "Share /findable" });
  const grants = async () => (await client.get("/api/v1/labs/grants?lab=/findable")).json.data.grants;
  await dialog.getByLabel("User").fill("ann");
  await dialog.getByRole("combobox", { name: "Right", exact: true }).selectOption("operate");
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Share" }).click();
  await dialog.getByText("Shared with ann.").waitFor();
  expect(await grants()).toEqual([{ user: "ann", right: "operate" }]);
  await dialog.getByRole("combobox", { name: "Right of ann" }).selectOption("edit");
  await expect.poll(grants).toEqual([{ user: "ann", right: "edit" }]);
  await dialog.getByRole("button", { name: "Remove ann" }).click();
  await dialog.getByText("No longer shared with ann.").waitFor();
  expect(await grants()).toEqual([]);
});

test("a lab with files is downloaded as a zip, from which a new lab is made", async () => {
  const files = { "conf/r1.conf": "hostname r1\n! größer\n" };
  const text = "# kept\nname: packed\nnodes:\n  r1: {template: frr, startup-config: conf/r1.conf}\n";
  expect((await client.post("/api/v1/projects/deploy", { yaml: text, files })).status).toBe(200);
  await using tab = await browser.open();
  const { page } = tab;
  await signIn(page, served.url);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Actions of packed" }).click();
  await page.getByRole("menuitem", { name: "Download" }).click();
  expect((await download).suggestedFilename()).toBe("packed.zip");
  const zip = await readFile(await (await download).path());
  // The list may ask for the lab while it is destroyed.
  tab.allowComplaint(/404/);
  expect((await client.post("/api/v1/projects/destroy", { lab: "/packed" })).status).toBe(200);
  await page.getByRole("link", { name: "New lab" }).first().click();
  // An archive of ours is none of another tool.
  tab.allowComplaint(/422 .*import-file/);
  await page.getByLabel("Choose files…").setInputFiles({ name: "packed.zip", mimeType: "application/zip", buffer: zip });
  await page.getByText("Read packed.yaml, conf/r1.conf.").waitFor();
  await page.getByRole("button", { name: "Deploy" }).click();
  await page.getByRole("heading", { name: "packed" }).waitFor();
  const { json } = await client.post("/api/v1/projects/public", { lab: "/packed", as_written: true });
  expect(json.data).toMatchObject({ yaml: text, files });
});
