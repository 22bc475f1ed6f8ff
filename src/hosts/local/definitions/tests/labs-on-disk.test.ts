import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { labsOnDisk } from "../labs-on-disk.ts";

test("a part of another machine's lab is no lab, also if its newest definition is damaged", async () => {
  const state = await mkdtemp(join(tmpdir(), "labwright-on-disk-"));
  try {
    const files: readonly Readonly<Record<string, string>>[] = [
      { "lab.json": '{"path":"/mine"}' },
      { "lab.json": '{"path":"/~parts/1"}' },
      { "lab.json": "{", "lab.last.json": '{"path":"/~parts/2"}' },
      { "lab.json": "{" },
      { "kept.json": "{}" },
    ];
    for (const [at, all] of files.entries()) {
      const folder = join(state, "labs", `00000000-0000-4000-8000-00000000000${at}`);
      await mkdir(folder, { recursive: true });
      for (const [name, text] of Object.entries(all)) await writeFile(join(folder, name), text);
    }
    expect(await labsOnDisk(state)).toEqual({ labs: 2, parts: ["/~parts/1", "/~parts/2"] });
  } finally {
    await rm(state, { recursive: true });
  }
});
