/**
 * `npm run control-groups`: the tests of limits and isolation on a kernel with cgroup v2, whatever the machine itself has. They run in a user-mode
 * Linux: Debian's package user-mode-linux, installed or unpacked below LABWRIGHT_UML. Other tests, or fewer: named as arguments.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { localPaths } from "../../src/hosts/local/paths.ts";

const uml = process.env["LABWRIGHT_UML"] ?? "/";
const linux = join(uml, "usr/bin/linux.uml");
const defaults = ["src/hosts/local/resources", "src/hosts/local/isolation", "src/hosts/local/rootless.test.ts"];
/** Fork and exec take tens of times what they do outside. */
const patienceMs = 30 * 60_000;

if (!existsSync(linux)) {
  console.error(`there is no ${linux}: apt-get install user-mode-linux, or unpack it (dpkg -x) and name the directory in LABWRIGHT_UML`);
  process.exit(2);
}
process.exitCode = await run(process.argv.length > 2 ? process.argv.slice(2) : defaults);

/** The tests' exit code; 1 where they did not come to one. */
async function run(tests: readonly string[]): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), "labwright-control-groups-"));
  try {
    const [release] = await readdir(join(uml, "usr/lib/uml/modules"));
    const { images, holder } = localPaths(process.env, 0);
    const settings = {
      PATH: `${dirname(process.execPath)}:/usr/sbin:/usr/bin:/sbin:/bin`,
      HOME: "/run",
      CI: "1", // no lines that are drawn over
      LABWRIGHT_STATE_DIR: "/run/state",
      LABWRIGHT_RUN_DIR: "/run/labwright",
      LABWRIGHT_IMAGE_DIR: images,
      LABWRIGHT_HOLDER: holder,
      LABWRIGHT_SEED: process.env["LABWRIGHT_SEED"] ?? "",
    };
    const words = {
      repository: fileURLToPath(new URL("../..", import.meta.url)),
      modules: join(uml, "usr/lib/uml/modules", release ?? ""),
    };
    const lines = [
      ...Object.entries(settings).map(([name, value]) => `export ${name}=${quoted(value)}`),
      ...Object.entries({ ...words, tests: tests.map(quoted).join(" ") }).map(([name, value]) => `${name}=${quoted(value)}`),
    ];
    await writeFile(join(directory, "settings"), `${lines.join("\n")}\n`);
    const argv = [
      ...["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "mem=2G", "quiet", "con=null", "con0=fd:0,fd:1"],
      `uml_dir=${directory}/`,
      `init=${fileURLToPath(new URL("init.sh", import.meta.url))}`,
      `uml_settings=${directory}/settings`,
    ];
    const kernel = spawn(linux, argv, { stdio: ["ignore", "pipe", "inherit"], timeout: patienceMs, killSignal: "SIGKILL" });
    let code = 1;
    for await (const line of createInterface(kernel.stdout)) {
      const ended = /^= exit (\d+)/.exec(line);
      if (ended === null) console.log(line.trimEnd());
      else code = Number(ended[1]);
    }
    return code;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
