import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { builtinTemplates, loadTemplates } from "../src/hosts/local/templates/reading/templates.ts";
import type { Lab } from "../src/intent/lab/lab.ts";
import { endpointText } from "../src/intent/lab/lab.ts";
import { readIntent } from "../src/intent/read/read.ts";
import { deployedLabs } from "./deployed-labs.fixture.ts";

const directory = fileURLToPath(new URL("../labs", import.meta.url));
const { templates } = await loadTemplates([builtinTemplates]);
const names = (await readdir(directory)).filter((name) => name.endsWith(".yaml")).sort();

/** The files beside the lab, by the path that its YAML names them by. */
async function filesOf(name: string): Promise<Record<string, string>> {
  const entries = await readdir(join(directory, name.replace(/\.yaml$/, "")), { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [relative(directory, path), await readFile(path, "utf8")])));
}

async function read(name: string): Promise<Lab> {
  const { lab, diagnostics } = readIntent(await readFile(join(directory, name), "utf8"), await filesOf(name));
  expect(diagnostics).toEqual([]);
  if (lab === undefined) throw new Error(`${name} gives no lab`);
  return lab;
}

test("there are example labs", () => {
  expect(names).toEqual(expect.arrayContaining(["ospf-triangle.yaml", "switched-lan.yaml", "two-hosts.yaml"]));
});

describe.each(names)("the example lab %s", (name) => {
  test("is valid, bears its file's name and uses every file beside it", async () => {
    const lab = await read(name);
    expect(lab.name).toBe(name.replace(/\.yaml$/, ""));
    const used = lab.nodes.flatMap(({ startupConfigFile, fileSources = {} }) => [startupConfigFile, ...Object.values(fileSources)]);
    expect([...new Set(used)].filter((file) => file !== undefined).sort()).toEqual(Object.keys(await filesOf(name)).sort());
  });

  test("uses templates of ours and only what they support", async () => {
    for (const node of (await read(name)).nodes) {
      const template = templates.find((candidate) => candidate.id === node.template);
      expect(template, `template ${node.template} of ${node.key}`).toBeDefined();
      const attributes = template?.attributes.map((attribute) => attribute.name) ?? [];
      expect(attributes).toEqual(expect.arrayContaining(Object.keys(node.attributes)));
      if (node.startupConfig !== undefined) expect(template?.startupConfig).toBe(true);
      const empty = (value: unknown) =>
        value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
      for (const [field, rule] of Object.entries(template?.fields ?? {})) {
        if (rule === "unsupported") expect(empty(node[field as keyof typeof node]), `${node.key}.${field}`).toBe(true);
      }
    }
  });

  test("uses each interface once, by a name of its template", async () => {
    const lab = await read(name);
    const ends = lab.links.flatMap((link) => link.endpoints).filter((endpoint) => "node" in endpoint);
    expect(new Set(ends.map(endpointText)).size).toBe(ends.length);
    for (const end of ends) {
      const template = templates.find((candidate) => candidate.id === lab.nodes.find((node) => node.key === end.node)?.template);
      const known = Array.from({ length: template?.maxInterfaces ?? 0 }, (_, index) => template?.ethFormat.replace("{0}", String(index)));
      expect(known).toContain(end.interface);
    }
  });
});

/** Labs without tests of their own: deployed, checked against their first lines, changed once, and destroyed. All at once: routing protocols mostly wait. */
describe.skipIf(process.getuid?.() !== 0)("deployed, the example lab", () => {
  const { local, deploy, goes, pings, leadsOut } = deployedLabs();

  test.concurrent("two-hosts reach each other, and no longer when their cable is pulled", { timeout: 300_000 }, async () => {
    await deploy("two-hosts");
    await pings("two-hosts", "a", "10.0.0.2");
    await deploy("two-hosts", (yaml) => yaml.replace('["a:eth0", "b:eth0"]', '{endpoints: ["a:eth0", "b:eth0"], suspended: true}'));
    expect((await local().exec("/two-hosts", "a", "ping", "-c", "1", "-W", "1", "10.0.0.2")).code).not.toBe(0);
    await local().deploy("/two-hosts", null);
  });

  test.concurrent("switched-lan has PCs that reach each other through the switch, and the way out through the gateway", {
    timeout: 300_000,
  }, async () => {
    await deploy("switched-lan");
    for (const address of ["192.168.10.12", "192.168.10.13", "192.168.10.1"]) await pings("switched-lan", "pc1", address);
    await pings("switched-lan", "pc2", await leadsOut("switched-lan", "gw"));
    const plan = await deploy("switched-lan", (yaml) => yaml.replace(/^ {2}pc3:\n( {4}.*\n)+/m, "").replace(/^.*"pc3:eth0".*\n/m, ""));
    expect(plan.actions.map(({ op, kind, key }) => [op, kind, key])).toContainEqual(["delete", "node", "pc3"]);
    await pings("switched-lan", "pc1", "192.168.10.12");
    await local().deploy("/switched-lan", null);
  });

  test.concurrent("isis-ring finds the way round when a link is taken out", { timeout: 300_000 }, async () => {
    await deploy("isis-ring");
    await goes("isis-ring", "r1", "10.255.0.2/32", "isis", ["eth1"]);
    await goes("isis-ring", "r1", "10.255.0.3/32", "isis", ["eth1", "eth2"]);
    const plan = await deploy("isis-ring", (yaml) => yaml.replace('  - ["r1:eth1", "r2:eth2"]\n', ""));
    expect(plan.actions.map(({ op, kind }) => [op, kind])).toEqual([["delete", "link"]]);
    await goes("isis-ring", "r1", "10.255.0.2/32", "isis", ["eth2"]);
    await pings("isis-ring", "r1", "10.255.0.2");
    await local().deploy("/isis-ring", null);
  });
});
