import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseArguments } from "../src/cli/command/arguments.ts";
import { findCommand } from "../src/cli/commands.ts";
import { connect } from "../src/client/index.ts";
import { memoryHost } from "../src/hosts/memory/memory-host.ts";
import { showDiagnostics } from "../src/intent/diagnostics/show.ts";
import { readIntent } from "../src/intent/read/read.ts";
import { startServer } from "../src/server/start.ts";
import { fingerprintOf } from "../src/server/tls/certificate.ts";
import { selfSigned } from "../src/server/tls/self-signed.ts";
import { createService } from "../src/service/create-service.ts";
import { sqliteStore } from "../src/service/store/sqlite.ts";

/** What the pages tell a reader to type must work. */

const root = fileURLToPath(new URL("..", import.meta.url));
const names = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
for (const name of await readdir(join(root, "docs"), { recursive: true })) if (name.endsWith(".md")) names.push(join("docs", name));
const pages = names.sort().map((name) => ({ name, text: readFileSync(join(root, name), "utf8") }));

interface Block {
  readonly page: string;
  /** What stands behind the fence: "yaml lab", "sh", "". */
  readonly kind: string;
  readonly text: string;
}
const blocks: readonly Block[] = pages.flatMap(({ name, text }) =>
  [...text.matchAll(/^```(.*?)\n(.*?)^```$/gms)].map(([, kind = "", code = ""]) => ({ page: name, kind, text: code })),
);

/** Lines that a reader types: all of a sh block, and what follows a "$ " elsewhere. Comments are the reader's. */
const typed = blocks
  .flatMap(({ page, kind, text }) =>
    text.split("\n").flatMap((line) => {
      const command = kind === "sh" ? line : /^\$ (.*)/.exec(line)?.[1];
      return command === undefined ? [] : [{ page, command: command.replace(/\s+#.*$/, "").trim() }];
    }),
  )
  .filter(({ command }) => command !== "");
const inline = pages.flatMap(({ name, text }) =>
  [...text.replaceAll(/^```.*?^```$/gms, "").matchAll(/`((?:labwright|npm run|npm) [^`]+)`/g)].map(([, command = ""]) => ({
    page: name,
    command: command.replaceAll("\n", " "),
  })),
);
const commands = [...typed, ...inline];

describe("commands of the pages", () => {
  const ofLabwright = commands.flatMap(({ page, command }) => {
    const line = /^(?:source <\()?(?:npm run labwright -- |labwright )(.*?)\)?$/.exec(command)?.[1];
    // COMMAND stands for any of them.
    return line === undefined || line.startsWith("COMMAND") ? [] : [{ page, line: line.replace(/ [<>] .*$/, "") }];
  });

  test.each(ofLabwright)("$page: labwright $line", ({ line }) => {
    const [name = "", ...rest] = line.split(" ");
    parseArguments(findCommand(name), rest);
  });

  test("there are some", () => {
    expect(ofLabwright.length).toBeGreaterThan(20);
  });

  test("npm scripts are those of the package", async () => {
    const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { scripts: Readonly<Record<string, string>> };
    const named = commands.flatMap(({ page, command }) => {
      const script = /^npm (?:run )?([a-z][a-z-]*)/.exec(command)?.[1];
      return script === undefined || ["run", "ci", "install", "publish", "pack"].includes(script) ? [] : [{ page, script }];
    });
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter(({ script }) => !Object.hasOwn(scripts, script))).toEqual([]);
  });
});

test("links inside the project lead to files", () => {
  const links = pages.flatMap(({ name, text }) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({ page: name, target: target.replace(/#.*$/, "") })),
  );
  const inside = links.filter(({ target }) => target !== "" && !/^[a-z]+:/.test(target));
  expect(inside.length).toBeGreaterThan(10);
  expect(inside.filter(({ page, target }) => !existsSync(join(root, dirname(page), target)))).toEqual([]);
});

test("the first lab of the README is valid, is deployed as it stands, and needs nothing after that", async () => {
  const [lab] = blocks.filter(({ page, kind }) => page === "README.md" && kind === "yaml lab");
  const yaml = lab?.text ?? "";
  expect(showDiagnostics(readIntent(yaml).diagnostics, { yaml })).toBe("");
  const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });
  const fingerprint = fingerprintOf(made.certificate);
  const host = memoryHost();
  const service = createService({ host, store: sqliteStore(":memory:"), log: () => {}, version: "1.2.3" });
  const server = await startServer({ service, certificate: { ...made, fingerprint }, version: "1.2.3", graceMs: 200 });
  try {
    using client = connect({ url: server.url, pin: fingerprint, credentials: { username: "admin", password: "admin" } });
    expect(await client.deployProject({ yaml })).toMatchObject({ lab: "/first", nodes: 3, links: 2 });
    expect((await client.planProject({ yaml })).operations).toEqual([]);
  } finally {
    await server.close();
    await service.close();
    await host.close();
  }
});

test("the programs of docs/sdk.md are programs, by the types of the SDK", async () => {
  const programs = blocks.filter(({ page, kind }) => page === "docs/sdk.md" && kind === "ts").map(({ text }) => text);
  expect(programs.length).toBeGreaterThan(2);
  const folder = await mkdtemp(join(tmpdir(), "labwright-docs-"));
  try {
    // One file: later blocks use the client of the first. What a reader has already is declared.
    const given = "declare const yaml: string;\ndeclare const files: Readonly<Record<string, string>>;\n";
    await writeFile(join(folder, "page.ts"), `${programs.join("\n")}${given}`);
    await writeFile(join(folder, "package.json"), '{"type": "module"}');
    const compilerOptions = {
      rootDir: "/",
      types: ["node"],
      typeRoots: [join(root, "node_modules/@types")],
      noUnusedLocals: false,
      composite: false,
      declaration: false,
      sourceMap: false,
      rewriteRelativeImportExtensions: false,
      noEmit: true,
      paths: { labwright: [join(root, "src/client/index.ts")], typebox: [join(root, "node_modules/typebox")] },
    };
    const config = { extends: join(root, "tsconfig.base.json"), compilerOptions, files: ["page.ts"] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const { stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8", timeout: 150_000 });
    expect(stdout).toBe("");
  } finally {
    await rm(folder, { recursive: true });
  }
});
