import { spawnSync } from "node:child_process";
import { accessSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkProgram } from "../packaging/check-program.ts";
import { debianPackage, debianVersion } from "../packaging/debian-package.ts";
import { runtimePackages } from "../packaging/locked-packages.ts";
import { manPages } from "../packaging/man-pages.ts";
import { processorNames } from "../packaging/processors.ts";
import { flagsOf } from "../src/cli/command/command.ts";
import { commands } from "../src/cli/commands.ts";
import { compileProgram } from "../src/hosts/local/setup/programs/compile.ts";

/** The packages of `npm run release`, without its compilers and downloads. `npm run release -- --test` installs the real packages. */

const root = join(import.meta.dirname, "..");
const isThere = (path: string): boolean => {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
};
let work: string;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-packaging-"));
});
afterAll(() => rm(work, { recursive: true, force: true }));

describe("the manual", () => {
  const pages = manPages(commands, { version: "1.2.3", date: "2026-01-31" });

  test("has a page for each command, which names all of its flags", () => {
    expect(pages.map(({ file }) => file)).toEqual(["labwright.1", ...commands.map(({ name }) => `labwright-${name}.1`)]);
    for (const command of commands) {
      const { text = "" } = pages.find(({ file }) => file === `labwright-${command.name}.1`) ?? {};
      if (command.raw !== true) for (const { long } of flagsOf(command)) expect(text).toContain(`\\-\\-${long.replaceAll("-", "\\-")}`);
    }
  });

  test("escapes what roff would read as a request or as typography", () => {
    const [command] = commands;
    if (command === undefined) throw new Error("there are no commands");
    const [, page] = manPages([{ ...command, details: ".so /etc/passwd\n'tis \\fB --x" }], { version: "1", date: "2026-01-31" });
    expect(page?.text).toContain("\\&.so /etc/passwd\n\\&\\(aqtis \\efB \\-\\-x\n");
  });

  test.skipIf(!isThere("/usr/bin/groff"))("is formatted by groff without a warning (if groff is installed)", async () => {
    for (const { file, text } of pages) {
      await writeFile(join(work, file), text);
      const { status, stderr } = spawnSync("groff", ["-man", "-ww", "-z", "-Tutf8", join(work, file)], {
        encoding: "utf8",
        timeout: 60_000,
      });
      expect({ file, status, stderr }).toEqual({ file, status: 0, stderr: "" });
    }
  });
});

describe("the Debian package", () => {
  let names: readonly string[];
  let control: string;
  let scripts: string;

  beforeAll(async () => {
    const content = join(work, "content");
    for (const name of ["docs", "examples", "dist/bundle/cli", ...processorNames.map((processor) => `prebuilt/${processor}`)])
      await mkdir(join(content, name), { recursive: true });
    for (const name of [
      "README.md",
      "LICENSE",
      "package.json",
      "dist/bundle/cli/main.js",
      ...processorNames.map((p) => `prebuilt/${p}/holder`),
    ])
      await writeFile(join(content, name), "");
    // Small stand-ins for what is downloaded; names, modes and control files do not depend on their content.
    const node = join(work, "node");
    await mkdir(join(node, "bin"), { recursive: true });
    await writeFile(join(node, "bin/node"), "");
    await writeFile(join(node, "LICENSE"), "the licence of Node");
    const parts = {
      root,
      work,
      release: work,
      content,
      node,
      processor: "arm64",
      version: "1.2.3-rc.1",
      time: 1_700_000_000,
      compression: "none",
    } as const;
    const file = await debianPackage(parts);
    expect(file).toBe(join(work, "labwright_1.2.3~rc.1_arm64.deb"));
    const list = spawnSync("dpkg-deb", ["--contents", file], { encoding: "utf8" }).stdout.trimEnd().split("\n");
    names = list.map((line) => line.replace(/^(\S+) (\S+) .* \.\/(.*)$/, "$1 $2 $3"));
    control = spawnSync("dpkg-deb", ["--field", file], { encoding: "utf8" }).stdout;
    await mkdir(join(work, "control"));
    spawnSync("dpkg-deb", ["--control", file, join(work, "control")]);
    scripts = (await readdir(join(work, "control"))).sort().join(" ");
  });

  test("has the program, its Node, its npm packages, the unit, the manual and completions, all of root", async () => {
    for (const name of [
      "-rwxr-xr-x root/root usr/bin/labwright",
      "-rwxr-xr-x root/root usr/lib/labwright/bin/node",
      "-rw-r--r-- root/root usr/lib/labwright/dist/bundle/cli/main.js",
      "-rw-r--r-- root/root usr/lib/labwright/prebuilt/arm64/holder",
      "-rw-r--r-- root/root usr/lib/labwright/node_modules/fastify/package.json",
      "-rw-r--r-- root/root usr/lib/systemd/system/labwright.service",
      "-rw-r--r-- root/root usr/lib/systemd/system/labwright-api.service",
      "-rw-r--r-- root/root etc/default/labwright-api",
      "-rw-r--r-- root/root usr/share/man/man1/labwright.1.gz",
      "-rw-r--r-- root/root usr/share/man/man1/labwright-up.1.gz",
      "-rw-r--r-- root/root usr/share/bash-completion/completions/labwright",
      "-rw-r--r-- root/root usr/share/zsh/vendor-completions/_labwright",
      "-rw-r--r-- root/root usr/share/fish/vendor_completions.d/labwright.fish",
      "-rw-r--r-- root/root usr/share/doc/labwright/copyright",
      "-rw-r--r-- root/root usr/share/doc/labwright/ansible/fleet.yaml",
      "-rw-r--r-- root/root usr/share/doc/labwright/ansible/roles/labwright/tasks/main.yaml",
      "-rw-r--r-- root/root usr/share/doc/labwright/kubernetes/labwright-api.yaml",
    ])
      expect(names).toContain(name);
    expect(names.filter((name) => /prebuilt\/x64|vitest|typescript\/|node_modules\/@types/.test(name))).toEqual([]);
  });

  test("names its version, its processor and what it needs, and has the scripts of an installation", () => {
    expect(control).toMatch(/^Version: 1\.2\.3~rc\.1$/m);
    expect(control).toMatch(/^Architecture: arm64$/m);
    expect(control).toMatch(/^Depends: .*\bnftables\b.*\bwireshark-common\b/m);
    expect(control).not.toMatch(/gcc\b(?!-s1)|nodejs/);
    expect(scripts).toBe("conffiles control md5sums postinst postrm prerm");
  });

  test("has a Debian version that sorts before that of the final release", () => {
    expect(debianVersion("1.0.0")).toBe("1.0.0");
    const { status } = spawnSync("dpkg", ["--compare-versions", debianVersion("1.0.0-rc.1"), "lt", debianVersion("1.0.0")]);
    expect(status).toBe(0);
  });
});

test("the npm packages of the Debian package are those that package.json names and the ones that these need", async () => {
  const paths = await runtimePackages(root);
  const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    dependencies: Readonly<Record<string, string>>;
  };
  expect(paths).toEqual(expect.arrayContaining(Object.keys(dependencies).map((name) => `node_modules/${name}`)));
  expect(paths.filter((path) => /vitest|preact|typescript|node-linux|scripts/.test(path))).toEqual([]);
});

test("a program of the release is static and for its processor", async () => {
  const out = join(work, "tap");
  await compileProgram("tap", { out, compiler: "cc" });
  const [own, other] = process.arch === "arm64" ? (["arm64", "x64"] as const) : (["x64", "arm64"] as const);
  await checkProgram(out, own);
  await expect(checkProgram(out, other)).rejects.toThrow(`not for ${other}`);
  await expect(checkProgram("/bin/sh", own)).rejects.toThrow("is not static");
});

test("shell scripts of the packages are accepted by sh", async () => {
  const folders = ["packaging/debian", "packaging/install-tests", "scripts"];
  let count = 0;
  for (const folder of folders)
    for (const name of await readdir(join(root, folder))) {
      const file = join(root, folder, name);
      if (!/^(postinst|prerm|postrm)$|\.sh$/.test(name)) continue;
      count += 1;
      const { status, stderr } = spawnSync("sh", ["-n", file], { encoding: "utf8" });
      expect({ file, status, stderr }).toEqual({ file, status: 0, stderr: "" });
    }
  expect(count).toBeGreaterThan(8);
});
