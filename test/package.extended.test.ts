import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idRange } from "../src/hosts/local/machine/idmap.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { staleImages } from "../src/hosts/local/setup/images/image-builder.ts";

/** The package as its users get it: packed, unpacked into an empty project, with only the packages that it names beside it. */

const root = fileURLToPath(new URL("..", import.meta.url));
let project: string;
let installed: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "labwright-package-"));
  installed = join(project, "node_modules/labwright");
  await mkdir(installed, { recursive: true });
  // As on a clean clone: npm pack builds what it packs.
  run("npm", ["pack", "--silent", "--pack-destination", project], root);
  const [tarball = ""] = (await readdir(project)).filter((name) => name.endsWith(".tgz"));
  run("tar", ["xzf", join(project, tarball), "--strip-components=1", "-C", installed], project);
  const { dependencies } = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as { dependencies: object };
  // A consumer's own type checker needs Node's types, as every consumer of a Node package has them.
  for (const name of [...Object.keys(dependencies), "@types/node"]) {
    await mkdir(dirname(join(project, "node_modules", name)), { recursive: true });
    await symlink(join(root, "node_modules", name), join(project, "node_modules", name));
  }
}, 600_000);
afterAll(() => rm(project, { recursive: true, force: true }));

function run(program: string, args: readonly string[], cwd = project) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8", timeout: 600_000 });
  if (error !== undefined || status !== 0)
    throw new Error(`${program} ${args.join(" ")} ended with ${status}\n${stdout}${stderr}`, { cause: error });
  return { stdout, stderr };
}

test("it has programs, types, sources of the holder and documents, and nothing that only tests need", async () => {
  const files = (await readdir(installed, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const names = files.map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
  const outside = names.filter(
    (name) =>
      !/^(dist|docs|examples|labs|mappings|schema|templates|src\/hosts\/local\/setup\/rootfs)\//.test(name) &&
      // Some versions of npm pack every README beside what is listed.
      !/^native\/(common|decoder|guest|holder|shaper|supervisor|tap)\/[\w-]+\.[ch]$/.test(name) &&
      !/^native\/(\w+\/)?README\.md$/.test(name),
  );
  expect(outside.sort()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "package.json", "src/hosts/local/setup/apparmor/labwright-node"]);
  expect(
    names.filter((name) => /\.test\.|(^|\/)tests?\/|testing|tested-|arbitrary|fixture|conformance|tsbuildinfo|\.map$/.test(name)),
  ).toEqual([]);
  expect(names).toContain("native/holder/holder.c");
  expect(names).toContain("dist/bundle/server/main.js");
  expect(names).toContain("dist/bundle/licenses.md");
  expect(names).toContain("dist/docs/how-to/capture-packets.html");
});

describe("its program", () => {
  // npm makes it executable when it installs it; the mode in the archive does not matter.
  test("begins with a line that names Node", async () => {
    const { bin } = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as { bin: { labwright: string } };
    const path = join(installed, bin.labwright);
    expect(await readFile(path, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  test.each(["18.20.4", "20.19.0", "22.12.0"])("fails on Node %s with the version that it needs, and nothing more", (version) => {
    const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
    const argv = ["--import", `data:text/javascript,${encodeURIComponent(older)}`, join(installed, "dist/bundle/cli/main.js"), "up"];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8", timeout: 600_000 });
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr.split("\n")).toEqual([
      `error: labwright needs Node 24 or newer; this is ${version}`,
      expect.stringMatching(/^ {2}hint: /),
      "",
    ]);
  });

  test("shows its help, version and the service's flags, and checks a lab", async () => {
    const program = join(installed, "dist/bundle/cli/main.js");
    const labwright = (...args: string[]) => run(process.execPath, [program, ...args]);
    expect(labwright("--help").stdout).toContain("Usage: labwright COMMAND");
    expect(labwright("version").stdout).toMatch(/^labwright \d+\.\d+\.\d+\n$/);
    expect(labwright("serve", "--help").stdout).toContain("Usage: labwright serve");
    expect(labwright("setup", "--help").stdout).toContain("Usage: labwright setup");
    expect(labwright("validate", "-t", join(installed, "labs/ospf-triangle.yaml")).stderr).toContain("valid");
    const mistyped = join(installed, "mistyped.yaml");
    await writeFile(mistyped, "name: x\nnodes: {r1: {template: fr}}\n");
    expect(labwright("validate", "-t", mistyped).stdout).toContain('did you mean "frr"?');
  });
});

test("npm runs prepack of the checkout, and no locked package has a script of its own that it would run at an installation", async () => {
  expect(await readFile(join(root, ".npmrc"), "utf8")).not.toMatch(/^ignore-scripts/m);
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, { readonly hasInstallScript?: boolean; readonly os?: readonly string[] | string }>>;
  };
  const withScript = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript === true);
  // fsevents is for macOS alone: npm does not install it on Linux.
  expect(withScript.filter(([, { os = "" }]) => [os].flat().join() !== "darwin").map(([path]) => path)).toEqual([]);
});

test("the embedded host finds its templates, the sources of its programs and the nodes' own files", async () => {
  const part = async (path: string) => await import(pathToFileURL(join(installed, "dist/hosts/local", path)).href);
  const { builtinTemplates, loadTemplates } = await part("templates/reading/templates.js");
  const { templates } = await loadTemplates([builtinTemplates]);
  expect(templates.map(({ id }: { readonly id: string }) => id)).toContain("frr");
  const { buildProgram } = await part("setup/programs/build-program.js");
  for (const name of ["holder", "shaper", "tap"] as const)
    expect(await buildProgram(name, { out: join(project, name) })).toEqual({ built: true });
  // The digest of a recipe covers the content of the nodes' own files and who may run them: packing keeps both.
  const installedImages = await part("setup/images/image-builder.js");
  const place = {
    directory: localPaths(process.env, process.getuid?.() ?? 0).images,
    idBase: process.getuid?.() === 0 ? idRange.base : 0,
    triplet: process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu",
  };
  expect(await installedImages.staleImages(place)).toEqual(await staleImages(place));
});

test("a program in TypeScript uses the SDK by its types", async () => {
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable"],
    types: ["node"],
    strict: true,
    noEmit: true,
  };
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "consumer", type: "module" }));
  await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
  await writeFile(
    join(project, "consumer.ts"),
    `import type { Duplex } from "node:stream";
import { connect, type InputOf, LabwrightError, type ResultOf } from "labwright";

await using lab = connect({ url: "https://localhost:1", token: "none" });
const input: InputOf<"planProject"> = { yaml: "name: x", prune: false };
export const plan = async (): Promise<string | undefined> => (await lab.planProject(input)).plan_identity;
export const bytes = async (): Promise<Duplex> => lab.openConsole({ lab: "/x", node: "r1" });
export const one: ResultOf<"getHealth"> = { status: "ok" };
// @ts-expect-error a number is not a lab
export const wrong = () => lab.planProject({ lab: 1 });
// @ts-expect-error the action is required
export const missing = () => lab.execProject({ lab: "/x" });
// @ts-expect-error the plan's summary is made of numbers
export const text = async (): Promise<string | undefined> => (await lab.planProject(input)).summary?.creates;
const error = await lab.getHealth().catch((thrown: unknown) => thrown);
if (!(error instanceof LabwrightError) || error.code !== "host_unreachable") throw error;
`,
  );
  run(join(root, "node_modules/.bin/tsc"), ["-p", project]);
  run(process.execPath, [join(project, "consumer.ts")]);
});
