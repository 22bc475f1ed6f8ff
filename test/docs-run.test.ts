import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { freePort } from "../src/hosts/local/testing/free-port.fixture.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";
import { cluster, postgresPrograms } from "../src/service/store/testing/cluster.fixture.ts";
import { type Block, blocks, isFollowed, pages } from "./docs-blocks.ts";
import { commandsOf, followPage, missingLine, shell } from "./docs-session.ts";

/** The tutorial, the how-to pages, troubleshooting and upgrading, done as their readers do them: on the embedded host, by the program, in a folder of their own. */

const patience = 400_000;
const followed = pages.filter(({ name }) => isFollowed(name)).map(({ name }) => name);
const runnable = followed.filter((name) => blocks.some(({ page, kind }) => page === name && kind === "console"));
let base: string;

beforeAll(async () => {
  base = await testDirectory("docs");
  await mkdir(join(base, "bin"));
  const program = join(base, "bin/labwright");
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${testedProgram("cli/main")}' "$@"\n`);
  await chmod(program, 0o755);
});
afterAll(() => rm(base, { recursive: true }));

test("the pages to follow are there", () => {
  expect(runnable).toEqual(expect.arrayContaining(["docs/tutorial.md", "docs/troubleshooting.md"]));
  expect(runnable.length).toBeGreaterThan(6);
});

describe.concurrent("the commands of", () => {
  test.for(runnable)("%s do what it shows", { timeout: patience }, async (name, { expect: expectHere }) => {
    const own = join(base, name.replaceAll("/", "-"));
    const folder = join(own, "work");
    await mkdir(folder, { recursive: true });
    const { images, holder } = localPaths(process.env, process.getuid?.() ?? 0);
    const env = {
      PATH: `${join(base, "bin")}:${process.env["PATH"]}`,
      ...(process.env["NODE_COMPILE_CACHE"] !== undefined && { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }),
      HOME: own,
      XDG_CONFIG_HOME: join(own, "config"),
      LABWRIGHT_STATE_DIR: join(own, "state"),
      LABWRIGHT_RUN_DIR: join(own, "run"),
      LABWRIGHT_IMAGE_DIR: addsImages(name) ? await imagesOfItsOwn(images, own) : images,
      LABWRIGHT_HOLDER: holder,
      LABWRIGHT_PORT: "0",
    };
    try {
      await followPage(await withDatabase(await withFreePorts(blocks.filter(({ page }) => page === name))), { folder, env });
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${await circumstances(folder, env)}`, { cause: error });
    } finally {
      const ended = await followPage([{ page: name, line: 0, kind: "console", options: {}, text: cleanUp }], { folder, env }).then(
        () => undefined,
        String,
      );
      expectHere(ended).toBeUndefined();
    }
  });
});

/** Replaces the ports of the machine that the page publishes by free ones: a lab of this machine may have those of the page. */
async function withFreePorts(page: readonly Block[]): Promise<readonly Block[]> {
  const ports = new Set(page.flatMap(({ text }) => [...text.matchAll(/ports: \["(\d+):\d+"/g)].map(([, port = ""]) => port)));
  let replaced = page;
  for (const port of ports) {
    const free = String(await freePort());
    replaced = replaced.map((block) => ({ ...block, text: block.text.replaceAll(new RegExp(`\\b${port}\\b`, "g"), free) }));
  }
  return replaced;
}

/** Replaces the database of the page by an empty one of a real server. Without PostgreSQL on this machine, its commands are left out. */
async function withDatabase(page: readonly Block[]): Promise<readonly Block[]> {
  const shown = "postgres://labwright@db.example/labwright";
  if (page.every(({ kind, text }) => kind !== "console" || !text.includes(shown))) return page;
  if (postgresPrograms === undefined) return page.filter(({ kind }) => kind !== "console");
  const { url } = await (await cluster()).database();
  return page.map((block) => ({ ...block, text: block.text.replaceAll(shown, url) }));
}

const addsImages = (page: string) => blocks.some((block) => block.page === page && /^\$ labwright image add/m.test(block.text));

/** Returns an image directory with the small image alone, for a page that adds to it, and writes the archive that docker export would have written. */
async function imagesOfItsOwn(images: string, own: string): Promise<string> {
  const [small = ""] = (await readdir(images)).filter((name) => name.startsWith("base-"));
  const copy = join(own, "images");
  await mkdir(copy);
  // With owners and modes, which node's cp does not keep.
  execFileSync("cp", ["-a", join(images, small), copy]);
  execFileSync("tar", ["-C", join(images, small, "rootfs"), "-cf", join(own, "work/busybox.tar"), "."]);
  return copy;
}

/** Returns the state of the labs at a failure, the last output of their nodes, and the end of the service's log. */
async function circumstances(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { output } = await shell(inquiry, folder, env);
  return output;
}

const inquiry = `labwright labs
labwright labs --format json | grep -o '"/[a-z0-9-]*"' | tr -d '"' | sort -u | while read -r lab; do
  labwright status --lab "$lab"
  labwright status --lab "$lab" --format json | grep -oE '"name": ?"[^"]*"' | cut -d '"' -f 4 | sort -u | while read -r node; do
    echo "$lab $node:"; labwright logs --lab "$lab" "$node" | tail -n 15
  done
done
grep -v '"msg":"request"' "$LABWRIGHT_STATE_DIR/service.log" | tail -n 30
`;

/** Destroys what a page that failed left; a page that was followed to its end has left nothing, and no service. */
const cleanUp = `$ labwright labs --format json | grep -o '"/[a-z0-9-]*"' | tr -d '"' | sort -u | while read -r lab; do labwright destroy --lab "$lab" --yes; done
$ labwright down || true
`;

describe("the reader of the pages", () => {
  test("takes commands, exit codes and output apart", () => {
    const text = "$ labwright plan   # exit code 2: changes\nsome\n\nmore\n$ true\n";
    expect(commandsOf({ page: "p", line: 1, kind: "console", options: {}, text })).toEqual([
      { command: "labwright plan", exitCode: 2, shown: ["some", "more"] },
      { command: "true", exitCode: 0, shown: [] },
    ]);
  });

  test("misses a line that is not there, or comes in another order", () => {
    expect(missingLine(["a  b", "…", "ready: … (3.5 s)"], "a b\nx\nready: h1 h2 (12 s)\n")).toBeUndefined();
    expect(missingLine(["a", "b"], "b\na\n")).toBe("b");
    expect(missingLine(["1 node: 1 stopped"], "1 node: 2 stopped\n")).toBe("1 node: 1 stopped");
  });

  test("fails at a command that ends otherwise than the page says", async () => {
    const block = { page: "p", line: 3, kind: "console", options: {}, text: "$ false\n" };
    await expect(followPage([block], { folder: base, env: process.env })).rejects.toThrow('p:3: "false" ended with 1, not 0');
  });
});
