import { execFileSync, spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { buildKind, compilerFlags, programNames } from "../src/hosts/local/setup/programs/compile.ts";

/** The programs that set-up has built. readelf is part of the compiler's package. */

const paths = localPaths(process.env, process.getuid?.() ?? 0);
let work: string;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-hardening-"));
});
afterAll(() => rm(work, { recursive: true, force: true }));

function builtFile(name: Exclude<(typeof programNames)[number], "guest">): string {
  if (name !== "supervisor") return paths[name];
  const [file] = globSync(join(paths.images, "qemu-*/rootfs/usr/lib/labwright/vm"));
  if (file === undefined) throw new Error(`no qemu image in ${paths.images}: run set-up first`);
  return file;
}

function readelf(...args: readonly string[]): string {
  return execFileSync("readelf", ["--wide", ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

// A build with sanitizers is for tests only.
// The guest is part of an initial RAM disk.
const onMachine = programNames.filter((name) => name !== "guest");
describe.skipIf(buildKind() === "sanitized").each(onMachine)("the %s", (name) => {
  test("is a static program that the kernel loads at a random address", () => {
    const file = builtFile(name);
    expect(readelf("--file-header", file)).toMatch(/Type:\s+DYN /);
    expect(readelf("--dynamic", file)).toMatch(/FLAGS_1.*\bPIE\b/);
    expect(readelf("--segments", file)).not.toContain("INTERP");
    expect(readelf("--dynamic", file)).not.toContain("(NEEDED)");
  });

  test("resolves all relocations at its start and makes them read-only", () => {
    const file = builtFile(name);
    expect(readelf("--segments", file)).toContain("GNU_RELRO");
    expect(readelf("--dynamic", file)).toMatch(/FLAGS_1.*\bNOW\b/);
  });

  test("has no segment that is both writable and executable, nor an executable stack", () => {
    const flags = readelf("--segments", builtFile(name)).matchAll(/^ {2}(LOAD|GNU_STACK) .* ([R ][W ][E ]) +0x\w+$/gm);
    const segments = Array.from(flags, ([, type, flag]) => `${type} ${flag}`);
    expect(segments.filter((segment) => segment.startsWith("LOAD")).length).toBeGreaterThan(1);
    expect(segments).toContain("GNU_STACK RW ");
    expect(segments.filter((segment) => segment.endsWith("WE"))).toEqual([]);
  });
});

test.each([
  ["decoder", "root.c"],
  ["holder", "nodes.c"],
  ["shaper", "ask.c"],
  ["supervisor", "main.c"],
  ["tap", "main.c"],
])("functions of the %s with buffers check a canary, and calls that write into buffers check their size", async (program, unit) => {
  const object = join(work, `${program}.o`);
  execFileSync("cc", [...compilerFlags("hardened"), "-c", "-o", object, join(import.meta.dirname, program, unit)]);
  const symbols = (await readFile(object)).toString("latin1");
  expect(symbols).toContain("\0__stack_chk_fail\0");
  expect(symbols).toMatch(/\0__v?snprintf_chk\0/);
});

test.each([
  ["a use of freed memory", "char *volatile text = __builtin_malloc(argc); __builtin_free(text); return *text;", "heap-use-after-free"],
  ["a signed overflow", "int most = 2147483647; return most + argc > 0;", "signed integer overflow"],
])("a build with sanitizers ends with a report at %s", async (_, body, report) => {
  const source = join(work, "wrong.c");
  await writeFile(source, `int main(int argc, char **argv) { (void)argv; ${body} }\n`);
  execFileSync("cc", [...compilerFlags("sanitized"), "-o", join(work, "wrong"), source]);
  const { status, stderr } = spawnSync(join(work, "wrong"), { encoding: "utf8" });
  expect(status).not.toBe(0);
  expect(stderr).toContain(report);
});
