import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildProgram, needsCompiler, prebuiltPath, programSources } from "./build-program.ts";
import { programNames } from "./compile.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "labwright-programs-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function putPrebuilt(prebuilt: string, name: (typeof programNames)[number], digest: string): Promise<void> {
  const path = prebuiltPath(prebuilt, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "#!/bin/sh\n");
  await writeFile(`${path}.digest`, digest);
}

test("a prebuilt program of the same sources is installed without a compiler", async () => {
  const prebuilt = join(folder, "same");
  await putPrebuilt(prebuilt, "tap", await programSources("tap"));
  const out = join(folder, "bin/tap");
  expect(await buildProgram("tap", { out, prebuilt })).toEqual({ built: true });
  expect(await readFile(out, "utf8")).toBe("#!/bin/sh\n");
  expect((await stat(out)).mode & 0o777).toBe(0o755);
  expect(await buildProgram("tap", { out, prebuilt })).toEqual({ built: false });
});

test("a prebuilt program of other sources is left alone, and the program is compiled once for a source", async () => {
  const prebuilt = join(folder, "other");
  await putPrebuilt(prebuilt, "tap", "of an older release");
  const out = join(folder, "compiled/tap");
  expect(await buildProgram("tap", { out, prebuilt })).toEqual({ built: true });
  expect((await readFile(out)).subarray(0, 4).toString("latin1")).toBe("\x7fELF");
  expect(await buildProgram("tap", { out, prebuilt })).toEqual({ built: false });
});

test("a compiler is needed until every program is prebuilt for this processor", async () => {
  const prebuilt = join(folder, "all");
  for (const name of programNames) {
    expect(await needsCompiler(prebuilt)).toBe(true);
    await putPrebuilt(prebuilt, name, await programSources(name));
  }
  expect(await needsCompiler(prebuilt)).toBe(false);
});

test("the digest of a program's sources differs between processors", async () => {
  expect(await programSources("holder", "x64")).not.toBe(await programSources("holder", "arm64"));
});
