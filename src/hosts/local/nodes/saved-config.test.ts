import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { LabDefinition } from "../definitions/definition.ts";
import { nodeDisk } from "../files/node-disk.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { savedConfigs, shownFile, shownPath, takeOverConfig } from "./saved-config.ts";

const marker = "var/lib/labwright/config.digest";
const config = "/etc/frr/frr.conf";
const digest = (text: string) => createHash("sha256").update(text).digest("hex");

let lab: string;
beforeEach(async () => {
  lab = await mkdtemp(join(tmpdir(), "labwright-disk-"));
});
afterEach(() => rm(lab, { recursive: true, force: true }));

const file = (path: string) => join(lab, "nodes/1/upper", path);
async function put(path: string, text: string | Buffer): Promise<void> {
  await mkdir(dirname(file(path)), { recursive: true });
  await writeFile(file(path), text);
}

function saved(startupConfig: string | undefined, more: Partial<LocalTemplate> = {}): string | undefined {
  const node = { id: 1, name: "r1", template: "frr", ...(startupConfig !== undefined && { startupConfig }) };
  const template = () => ({ savedConfig: config, ...more }) as LocalTemplate;
  return savedConfigs(lab, { nodes: [node] } as unknown as LabDefinition, template).get(1);
}

test("a configuration that a node saves after it took over the intended one is kept", async () => {
  await put(marker, `${digest("intended\n")}\n`);
  await put(config, "intended\n");
  expect(saved("intended\n")).toBeUndefined();
  await put(config, "frr version 8\nsaved\n");
  expect(saved("intended\n")).toBe("frr version 8\nsaved\n");
});

test("the configuration that a router saves is the intended text with the lines that differ; the same configuration in FRR's words is no saved one", async () => {
  const intended = "! by hand\ninterface eth1\n ip address 10.0.0.1/24\n no shutdown\n";
  const shown = "frr version 8.4.4\nhostname r1\n!\ninterface eth1\n ip address 10.0.0.1/24\nexit\n!\n";
  await put(marker, `${digest(intended)}\n`);
  await put(config, shown);
  expect(saved(intended, { configLanguage: "frr" })).toBeUndefined();
  await put(config, shown.replace("exit", " description x\nexit"));
  expect(saved(intended, { configLanguage: "frr" })).toBe(intended.replace(" no shutdown", " description x\n no shutdown"));
});

test("lines that FRR has never shown of the intended configuration stay, but not by what it showed of another one", async () => {
  const intended = "interface eth1\n ip address 10.0.0.1/24\nrouter bgp 1\n no bgp ebgp-requires-policy\n";
  const shown = "interface eth1\n ip address 10.0.0.1/24\nexit\n!\nrouter bgp 1\nexit\n";
  await put(marker, `${digest(intended)}\n`);
  await put(config, shown);
  await put(shownPath, shownFile(intended, shown));
  expect(saved(intended, { configLanguage: "frr" })).toBeUndefined();
  await put(shownPath, shownFile("hostname x\n", shown));
  expect(saved(intended, { configLanguage: "frr" })).toBe(intended.replace(" no bgp ebgp-requires-policy\n", ""));
});

test("a configuration that was intended since then wins", async () => {
  await put(marker, digest("old"));
  await put(config, "saved");
  expect(saved("new")).toBeUndefined();
  expect(saved(undefined)).toBeUndefined();
});

test("a node that never booted, and one whose files are not text, saved nothing", async () => {
  expect(saved("x")).toBeUndefined();
  await put(marker, digest("x"));
  expect(saved("x")).toBeUndefined();
  for (const bytes of [Buffer.from([0xff, 0xfe]), Buffer.from("a\0b"), Buffer.alloc(1024 * 1024 + 1, "a")]) {
    await put(config, bytes);
    expect(saved("x")).toBeUndefined();
  }
});

test("links that a node plants lead nowhere, and what is no plain file is not opened", async () => {
  const secret = join(lab, "secret");
  await writeFile(secret, "of the machine");
  await put(marker, digest("x"));
  await mkdir(dirname(file(config)), { recursive: true });
  await symlink(secret, file(config));
  expect(saved("x")).toBeUndefined();
  await rm(file("etc"), { recursive: true });
  await mkdir(join(lab, "frr"));
  await writeFile(join(lab, "frr/frr.conf"), "of the machine");
  await mkdir(file("etc"), { recursive: true });
  await symlink(join(lab, "frr"), file("etc/frr"));
  expect(saved("x")).toBeUndefined();
  nodeDisk(join(lab, "nodes/1")).rewrite(config, "gone");
  nodeDisk(join(lab, "nodes/1")).remove(config);
  expect(await readFile(join(lab, "frr/frr.conf"), "utf8")).toBe("of the machine");
  await rm(file("etc/frr"));
  await mkdir(file(config), { recursive: true });
  expect(saved("x")).toBeUndefined();
});

test("setting the configuration again makes the next boot take it over, unless it equals the saved one", async () => {
  await put(marker, digest("a"));
  await put(config, "saved");
  const node = (startupConfig: string) => ({ id: 1, startupConfig }) as Parameters<typeof takeOverConfig>[1];
  takeOverConfig(lab, node("saved"), config);
  expect(await readFile(file(marker), "utf8")).toBe(`${digest("saved")}\n`);
  expect(saved("saved")).toBeUndefined();
  takeOverConfig(lab, node("a"), config);
  await expect(readFile(file(marker))).rejects.toThrow(/ENOENT/);
  takeOverConfig(lab, node("a"), config);
});
