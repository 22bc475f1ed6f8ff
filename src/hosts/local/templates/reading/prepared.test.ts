import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PreparedTemplate } from "./prepared.ts";
import { builtinTemplates, loadTemplates, prepareTemplates, readsOf } from "./templates.ts";

describe("templates that the bundle has read", () => {
  let prepared: readonly PreparedTemplate[];
  let own: string;
  beforeAll(async () => {
    // As the bundle has them: through JSON.
    prepared = JSON.parse(JSON.stringify(await prepareTemplates())) as readonly PreparedTemplate[];
    own = await mkdtemp(join(tmpdir(), "labwright-prepared-"));
  });
  afterAll(() => rm(own, { recursive: true }));
  const load = async (templates: readonly PreparedTemplate[]) => {
    const { templates: loaded, problems } = await loadTemplates([builtinTemplates, own], new Map(), Promise.resolve(readsOf(templates)));
    expect(problems).toEqual([]);
    return new Map(loaded.map((template) => [template.id, template]));
  };
  const marked = (text?: string) =>
    prepared.map((one) => ({ ...one, text: text ?? one.text, template: { ...one.template, description: "prepared" } }));
  const child = () => prepared.find(({ template }) => template.extends !== undefined)!.template;

  test("are the templates of the files", async () => {
    const { templates } = await loadTemplates([builtinTemplates]);
    expect([...(await load(prepared)).values()]).toEqual(templates);
  });

  test("are taken without reading the files", async () => {
    expect([...(await load(marked())).values()].filter(({ description }) => description !== "prepared")).toEqual([]);
  });

  test("are not taken if a file has another content", async () => {
    expect([...(await load(marked("id: other"))).values()].filter(({ description }) => description === "prepared")).toEqual([]);
  });

  test("are not taken if the user has replaced the template that they extend", async () => {
    const base = prepared.find(({ template }) => template.id === child().extends)!;
    const text = await readFile(join(builtinTemplates, base.name), "utf8");
    const limits = "\nlimits: {processes: 77}\n";
    await writeFile(join(own, "base.yaml"), /^limits:/m.test(text) ? text.replace(/^limits:.*$/m, limits.trim()) : text + limits);
    const loaded = await load(marked());
    expect(loaded.get(child().id)).toMatchObject({ limits: { processes: 77 } });
    expect(loaded.get(child().id)?.description).not.toBe("prepared");
    await rm(join(own, "base.yaml"));
  });
});
