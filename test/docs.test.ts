import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { slugger } from "../scripts/docs-site/slug.ts";
import { parseArguments } from "../src/cli/command/arguments.ts";
import { findCommand } from "../src/cli/commands.ts";
import { connect } from "../src/client/index.ts";
import { errors } from "../src/contract/errors.ts";
import { EventData } from "../src/contract/schemas/observe.ts";
import { memoryHost } from "../src/hosts/memory/memory-host.ts";
import { diagnosticCodes } from "../src/intent/diagnostics/codes.ts";
import { showDiagnostics } from "../src/intent/diagnostics/show.ts";
import { readIntent } from "../src/intent/read/read.ts";
import { startServer } from "../src/server/start.ts";
import { fingerprintOf } from "../src/server/tls/certificate.ts";
import { selfSigned } from "../src/server/tls/self-signed.ts";
import { createService } from "../src/service/create-service.ts";
import { sqliteStore } from "../src/service/store/sqlite.ts";
import { blocks, isFollowed, pages, root } from "./docs-blocks.ts";

/** The commands, labs, programs and links of the pages are right. docs-run.test.ts runs the pages that a reader follows. */

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
    const plain = command.replaceAll(/'[^']*'|"[^"]*"/g, "quoted");
    return plain.split(/ (?:\|\|?|&&) /).flatMap((part) => {
      const line = /^(?:source <\()?(?:[A-Z_]+=\S+ )?(?:npm run labwright -- |labwright )(.*?)\)?$/.exec(part)?.[1];
      // COMMAND stands for any of them.
      return line === undefined || line.startsWith("COMMAND") ? [] : [{ page, line: line.replace(/ [<>] .*$/, "") }];
    });
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

describe("pages that a reader follows", () => {
  test("have commands only in console blocks, which docs-run.test.ts runs, or in blocks that give the reason why not", () => {
    const commandsApart = blocks.filter(({ page, kind, options, text }) => {
      if (!isFollowed(page) || kind === "console" || options["skip"]) return false;
      return kind === "sh" || /^\$ /m.test(text) || /^ *labwright /m.test(text);
    });
    expect(commandsApart.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
    const indented = pages.filter(
      ({ name, text }) => isFollowed(name) && /^(?: {4}|\t)(?:labwright|npm|sudo) /m.test(text.replaceAll(/^```.*?^```$/gms, "")),
    );
    expect(indented.map(({ name }) => name)).toEqual([]);
  });

  test("have commands, each of them", () => {
    const without = pages.filter(({ name }) => isFollowed(name) && !commands.some(({ page }) => page === name));
    expect(without.map(({ name }) => name)).toEqual([]);
  });
});

test("a command of the other pages is one that is checked here, or its block gives the reason why not", () => {
  const programs = /^(?:apt|chmod|cp|curl|docker|git|iptables|mkdir|openssl|sh|ssh|sudo|systemctl|tar) /;
  const isChecked = (command: string) => /^(?:npm (?:run )?|(?:source <\()?labwright )/.test(command);
  const own = blocks.filter(({ page, options }) => !isFollowed(page) && !page.startsWith("docs/hosts/") && !options["skip"]);
  const unchecked = own.flatMap(({ page, line, kind, text }) => {
    const lines =
      kind === "sh"
        ? text.split("\n")
        : text.split("\n").flatMap((each) => (/^\$ /.test(each) ? [each.slice(2)] : programs.test(each) ? [each] : []));
    return lines.filter((command) => command.trim() !== "" && !isChecked(command)).map((command) => `${page}:${line}: ${command}`);
  });
  expect(unchecked).toEqual([]);
  const indented = pages.flatMap(({ name, text }) =>
    /^ {4}(?:apt|cp|labwright|mkdir|ssh|sudo) /m.test(text.replaceAll(/^( *)```.*?^\1```$/gms, "")) ? [name] : [],
  );
  expect(indented).toEqual([]);
});

test.each(blocks.filter(({ kind }) => kind === "yaml lab"))("the lab of $page:$line is valid", ({ options, text }) => {
  const files = Object.fromEntries((options["files"] ?? "").split(",").flatMap((file) => (file === "" ? [] : [[file, "hostname r1\n"]])));
  expect(showDiagnostics(readIntent(text, files).diagnostics, { yaml: text })).toBe("");
});

test("links inside the project lead to files, and to headings that are there", () => {
  const links = pages.flatMap(({ name, text }) =>
    [...text.replaceAll(/^ *```.*?^ *```$/gms, "").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({ page: name, target })),
  );
  const inside = links.filter(({ target }) => !/^[a-z]+:/.test(target));
  expect(inside.length).toBeGreaterThan(100);
  const dead = inside.filter(({ page, target }) => {
    const [file = "", anchor] = target.split("#");
    const path = file === "" ? page : join(dirname(page), file);
    if (!existsSync(join(root, path))) return true;
    return anchor !== undefined && path.endsWith(".md") && !anchorsOf(readFileSync(join(root, path), "utf8")).includes(anchor);
  });
  expect(dead).toEqual([]);
});

function anchorsOf(text: string): readonly string[] {
  const slug = slugger();
  const headings = text.replaceAll(/^ *```.*?^ *```$/gms, "").matchAll(/^#{1,6} (.*)$/gm);
  return [...headings].map(([, heading = ""]) => slug(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)|[`*]/g, "$1")));
}

describe("troubleshooting", () => {
  const page = pages.find(({ name }) => name === "docs/troubleshooting.md")?.text ?? "";
  const symptoms = [...page.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, words = ""]) => words),
  );

  test("names only codes that exist", () => {
    const codes = symptoms.flatMap((words) => [...words.matchAll(/^\(?([a-z]+(?:_[a-z]+)+)\)?$/g)].map(([, code = ""]) => code));
    expect(codes.length).toBeGreaterThan(15);
    const nodeFields = ["disk_full"];
    expect(
      codes.filter((code) => !Object.hasOwn(errors, code) && !Object.hasOwn(diagnosticCodes, code) && !nodeFields.includes(code)),
    ).toEqual([]);
  });

  test("quotes only words that the program prints", () => {
    const sources = globSync(["src/**/*.{ts,tsx,mjs,js}", "scripts/setup.sh"], { cwd: root }).filter((name) => !/\.test\./.test(name));
    const printed = sources.map((name) => readFileSync(join(root, name), "utf8")).join("\n");
    // Of programs in nodes: the kernel's, ping's, FRR's.
    // And one that is put together of parts; the page runs the command that prints it.
    const ofOthers = [
      "need 6.2 GiB of memory, 4.1 GiB are free",
      "Destination Net Unreachable",
      "administratively prohibited",
      "Error: Unknown device type.",
      "bgpd is not running",
      "% Unknown command: ip …",
    ];
    const phrases = symptoms.filter((words) => / /.test(words) && !ofOthers.includes(words));
    expect(phrases.length).toBeGreaterThan(10);
    // Names and figures are the example's: the longest part without them counts.
    const longest = (words: string) =>
      words
        .replace(/ ?\([a-z_]+\)$/, "")
        .split(/…|https:|\b[\d.]+(?: GiB)?\b|\b[A-Z]{3,}\b|: |[()]/)
        .reduce((a, b) => (b.length > a.length ? b : a), "")
        .trim();
    expect(phrases.filter((words) => !printed.includes(longest(words))).map((words) => [words, longest(words)])).toEqual([]);
  });
});

test("the page of events has a row for each type, and the fields that the contract names", () => {
  const page = pages.find(({ name }) => name === "docs/events.md")?.text ?? "";
  const rows = new Map([...page.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, type = "", data = ""]) => [type, data]));
  expect((EventData.properties.type as unknown as { readonly enum: readonly string[] }).enum.filter((type) => !rows.has(type))).toEqual([]);
  const comment =
    /What happened\. `data` by type – ([\s\S]*?)\*\//.exec(readFileSync(join(root, "src/contract/schemas/observe.ts"), "utf8"))?.[1] ?? "";
  const fields = [...comment.matchAll(/(\w+): (\{[^;]*\})/g)].flatMap(([, type = "", data = ""]) =>
    [...data.matchAll(/[{,] *(\w+)\b/g)].map(([, field = ""]) => ({ type, field })),
  );
  expect(fields.length).toBeGreaterThan(30);
  expect(fields.filter(({ type, field }) => !new RegExp(`\\b${field}\\b`).test(rows.get(type) ?? ""))).toEqual([]);
});

test("the glossary has each term once, in alphabetical order", () => {
  const page = pages.find(({ name }) => name === "docs/glossary.md")?.text ?? "";
  const terms = [...page.matchAll(/^\| ([^|]+?) \| /gm)].map(([, term = ""]) => term).filter((term) => term !== "term");
  expect(terms.length).toBeGreaterThan(50);
  expect(terms).toEqual([...new Set(terms)].sort((a, b) => a.localeCompare(b, "en")));
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
    // One file: later blocks use the client of the first. Names that a reader has already are declared.
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
