import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { type Served, serve } from "./wire/served.ts";

const root = join(import.meta.dirname, "..");
const yaml = 'name: campus\nnodes:\n  r1: {template: frr}\n  h1: {template: linux}\nlinks:\n  - ["r1:eth0", "h1:eth0"]\n';

let served: Served;
let folder: string;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** As on a machine where the package is installed: `labwright` is a program, and a package that can be imported. */
function run(program: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const env = {
    PATH: [join(folder, "bin"), process.env.PATH].join(delimiter),
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    LABWRIGHT_URL: served.url,
    LABWRIGHT_PIN: served.fingerprint,
    ...(more["LABWRIGHT_TOKEN"] === undefined && { LABWRIGHT_USER: "ann", LABWRIGHT_PASSWORD: "ann-password" }),
    ...more,
  };
  return new Promise((resolve) => {
    execFile(program, args, { cwd: folder, env, timeout: 150_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 255), stdout, stderr });
    });
  });
}

beforeAll(async () => {
  served = await serve();
  folder = await mkdtemp(join(tmpdir(), "labwright-examples-"));
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin/labwright"), `#!/bin/sh\nexec '${process.execPath}' '${testedProgram("cli/main")}' "$@"\n`, {
    mode: 0o755,
  });
  await mkdir(join(folder, "node_modules/labwright"), { recursive: true });
  await writeFile(join(folder, "node_modules/labwright/package.json"), '{"type": "module", "exports": "./index.js"}');
  await writeFile(join(folder, "node_modules/labwright/index.js"), `export * from ${JSON.stringify(join(root, "src/client/index.ts"))};\n`);
  for (const name of ["plan-in-ci/plan.sh", "exec-report/report.mjs"]) {
    await writeFile(join(folder, name.split("/")[1]!), await readFile(join(root, "examples", name)));
  }
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe("plan in CI", () => {
  let token: string;
  beforeAll(async () => {
    const ann = await served.signIn("ann");
    token = (await ann.post("/api/v1/tokens", { name: "ci", scope: "deploy", labs: ["/campus"] })).json.data.token;
  });
  const plan = async (mode: string): Promise<Ran & { readonly report: string }> => {
    const ran = await run("sh", ["plan.sh", mode, "campus.lw.yml", "plan.txt"], { LABWRIGHT_TOKEN: token });
    return { ...ran, report: await readFile(join(folder, "plan.txt"), "utf8") };
  };

  test("a wrong file fails with the line; changes are in the report; apply does them; then there are none", async () => {
    await writeFile(join(folder, "campus.lw.yml"), yaml.replace("template: frr", "tmplate: frr"));
    const wrong = await plan("plan");
    expect([wrong.code, wrong.report], wrong.stderr).toEqual([1, expect.stringContaining("campus.lw.yml:3:")]);
    await writeFile(join(folder, "campus.lw.yml"), yaml);
    const pending = await plan("plan");
    expect([pending.code, pending.report], pending.stderr).toEqual([0, expect.stringMatching(/\+ .*r1[\s\S]*changes are pending\n$/)]);
    expect((await plan("apply")).code).toBe(0);
    const done = await plan("plan");
    expect([done.code, done.report], done.stderr).toEqual([0, expect.stringMatching(/no changes\n$/)]);
  });

  test("the workflow runs that script, with what it needs in the environment", async () => {
    const workflow = parse(await readFile(join(root, "examples/plan-in-ci/workflow.yml"), "utf8"));
    const { env, steps } = workflow.jobs.plan;
    expect(steps.map(({ run: line }: { run?: string }) => line)).toContain('sh plan.sh "$MODE" labs/campus.lw.yml plan.txt tests.xml');
    expect(Object.keys(env)).toEqual(["LABWRIGHT_URL", "LABWRIGHT_PIN", "LABWRIGHT_TOKEN", "MODE"]);
  });
});

test("a report of a command on many nodes is Markdown or HTML, and lists the nodes that did not answer", async () => {
  const ann = await served.signIn("ann");
  await ann.post("/api/v1/projects/deploy", { yaml: yaml.replace("campus", "report") });
  const markdown = await run(process.execPath, ["report.mjs", "/report", "echo <b>hello</b>"]);
  expect([markdown.code, markdown.stderr]).toEqual([0, ""]);
  expect(markdown.stdout).toMatch(/\| h1 \| ok \| \d+ \|\n\| r1 \| ok \| \d+ \|/);
  expect(markdown.stdout).toContain("## r1\n\n```\n<b>hello</b>\n```");
  const html = await run(process.execPath, ["report.mjs", "/report", "echo <b>hello</b>", "--html"]);
  expect(html.stdout).toContain("<pre>&#60;b&#62;hello&#60;/b&#62;</pre>");
  expect(html.stdout).not.toContain("<b>");
  await ann.post("/api/v1/projects/exec", { lab: "/report", action: "stop" });
  expect((await run(process.execPath, ["report.mjs", "/report", "echo hello"])).code).toBe(1);
  expect((await run(process.execPath, ["report.mjs", "/report"])).stderr).toContain("usage:");
});
