import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { builtinTemplates, loadTemplates } from "../src/hosts/local/templates.ts";
import type { Lab } from "../src/intent/lab.ts";
import { endpointText } from "../src/intent/lab.ts";
import { readIntent } from "../src/intent/read.ts";

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
    const used = lab.nodes.map((node) => node.startupConfigFile).filter((file) => file !== undefined);
    expect(used.sort()).toEqual(Object.keys(await filesOf(name)).sort());
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
