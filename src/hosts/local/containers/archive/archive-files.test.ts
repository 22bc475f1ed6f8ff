import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { directoryFiles } from "./archive-files.ts";

test("no path of an archive leads out of its directory", async () => {
  const work = await mkdtemp(join(tmpdir(), "labwright-archive-"));
  try {
    const archive = join(work, "archive");
    await mkdir(archive);
    await writeFile(join(work, "secret"), "secret");
    await writeFile(join(archive, "inside"), "in");
    await symlink(join(work, "secret"), join(archive, "link"));
    const files = directoryFiles(archive);
    expect(await files.size("inside")).toBe(2);
    expect(await files.size("x/../inside")).toBe(2);
    for (const path of ["../secret", "a/../../secret", "/../secret", "link"])
      expect([path, await files.size(path)]).toEqual([path, undefined]);
    await expect(files.read("../secret")[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "ENOENT" });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
});
