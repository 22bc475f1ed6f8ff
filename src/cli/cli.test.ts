import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../client/index.ts";

const program = fileURLToPath(new URL("./main.ts", import.meta.url));
const password = "correct horse";
const started = new Set<ChildProcess>();
let state: string;
let folder: string;
let service: ChildProcess;
let url: string;
let fingerprint: string;
let said: { stdout: string; stderr: string };

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function environment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return {
    PATH,
    HOME,
    NODE_COMPILE_CACHE,
    XDG_CONFIG_HOME: join(state, "config"),
    XDG_CACHE_HOME: join(state, "cache"),
    LABWRIGHT_STATE_DIR: state,
    LABWRIGHT_RUN_DIR: join(state, "run"),
    ...extra,
  };
}

function begin(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  command: readonly string[] = [process.execPath, program],
): ChildProcess {
  const [file = "", ...before] = command;
  const child = spawn(file, [...before, ...args], { cwd: folder, env: environment(env), stdio: ["pipe", "pipe", "pipe"] });
  started.add(child);
  child.once("exit", () => started.delete(child));
  return child;
}

/** What it writes, as far as it has. */
function watch(child: ChildProcess): { stdout: string; stderr: string } {
  const seen = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (seen.stdout += chunk));
  child.stderr?.on("data", (chunk: Buffer) => (seen.stderr += chunk));
  return seen;
}

async function run(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<Ran> {
  const child = begin(args, options.env);
  const seen = watch(child);
  child.stdin?.end(options.input ?? "");
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...seen };
}

/** The same on a terminal of its own (script, of util-linux); what is shown and what is asked come in one. */
function onTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { readonly child: ChildProcess; readonly seen: { stdout: string } } {
  const line = [process.execPath, program, ...args].map((word) => `'${word}'`).join(" ");
  const child = begin([], { TERM: "xterm", ...env }, ["script", "-qfec", line, "/dev/null"]);
  return { child, seen: watch(child) };
}

async function until(what: () => string, done: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!done()) {
    if (Date.now() > end) throw new Error(`not within 60 s: ${what()}`);
    await pause(20);
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    });
  });
}

const ended = async (child: ChildProcess) => {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once("close", resolve));
  return child.exitCode;
};

const yaml = (name: string) => `# my first lab
name: ${name}
nodes:
  r1:                 # the core
    template: frr
    startup-config: r1.conf
  h1: {template: linux}
links:
  - ["r1:eth1", "h1:eth1"]   # access
`;

function write(name: string, text = yaml(name)): void {
  writeFileSync(join(folder, "lab.yaml"), text);
  writeFileSync(join(folder, "r1.conf"), "hostname r1\n");
}

const read = () => readFileSync(join(folder, "lab.yaml"), "utf8");

beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), "labwright-cli-"));
  folder = mkdtempSync(join(state, "work-"));
  service = begin(["serve", "--port", "0", "--host", "memory"], { LABWRIGHT_ADMIN_PASSWORD: password });
  said = watch(service);
  const file = join(state, "service.json");
  await until(
    () => `service.json; it said: ${said.stderr}`,
    () => existsSync(file) || service.exitCode !== null,
  );
  if (service.exitCode !== null) throw new Error(`the service did not start:\n${said.stdout}${said.stderr}`);
  ({ url, fingerprint } = JSON.parse(readFileSync(file, "utf8")));
  const login = await run(["login", "--url", url, "--pin", fingerprint, "--user", "admin", "--password-stdin"], { input: `${password}\n` });
  expect(login).toMatchObject({ code: 0, stdout: "" });
});

afterAll(async () => {
  service.kill("SIGTERM");
  expect(await ended(service), said.stderr.slice(-2000)).toBe(0);
  for (const child of started) child.kill("SIGKILL");
  rmSync(state, { recursive: true });
});

beforeEach(() => {
  folder = mkdtempSync(join(state, "work-"));
});

const unknowable = "; only a service can tell whether its host has the images and supports every field: --online";

describe("without a service", () => {
  test("validate shows every mistake with its line and a caret, and ends with 1", async () => {
    write("campus", yaml("campus").replace("template: frr", "tmplate: frr").replace("h1:eth1", "h9:eth1"));
    const { code, stdout, stderr } = await run(["validate", "-t", "lab.yaml"]);
    expect(code).toBe(1);
    expect(stdout).toContain('lab.yaml:5:5: error: unknown key "tmplate" (unknown_key)');
    expect(stdout).toContain("  5 |     tmplate: frr\n    |     ^^^^^^^");
    expect(stdout).toContain("h9");
    expect(stderr).toMatch(/^error: lab.yaml has \d errors \(invalid_intent\)/);
  });

  test("validate of a good file says so on stderr, and --format json on stdout and nothing else", async () => {
    write("campus");
    expect(await run(["validate"])).toEqual({ code: 0, stdout: "", stderr: `lab.yaml is valid${unknowable}\n` });
    const { stdout } = await run(["validate", "--format", "json", "-q"]);
    expect(JSON.parse(stdout)).toEqual({ status: "valid", diagnostics: [] });
  });

  test("validate names templates, attributes and interfaces that are not Labwright's own, and what it cannot know", async () => {
    const text =
      'name: x\nnodes:\n  a: {template: fr}\n  b: {kind: ceos}\n  c: {template: linux, attributes: {forwardin: true}}\nlinks:\n  - ["c:Gi0/1", "a:eth1"]\n';
    writeFileSync(join(folder, "lab.yaml"), text);
    const { code, stdout, stderr } = await run(["validate"]);
    expect([code, stderr]).toEqual([0, `lab.yaml is valid, with 4 warnings${unknowable}\n`]);
    expect(stdout).toContain("lab.yaml:3:17: warning: node a: fr is not one of Labwright's own templates (container, frr, linux,");
    expect(stdout).toContain('hint: did you mean "frr"?');
    expect(stdout).toContain("lab.yaml:4:13: warning: node b: ceos is not one of Labwright's own templates");
    expect(stdout).toContain("only a service can tell whether its host has it (unknown_template)");
    expect(stdout).toContain(
      "lab.yaml:5:48: warning: node c: template linux has no attribute forwardin; it has forwarding (unknown_attribute)",
    );
    expect(stdout).toContain("lab.yaml:7:5: warning: node c has no interface Gi0/1; template linux has eth0 to eth63 (unknown_interface)");
    const online = await run(["validate", "--online", "--format", "json"]);
    expect(online.code).toBe(1);
    const { status, diagnostics } = JSON.parse(online.stdout);
    expect(status).toBe("invalid");
    expect(diagnostics.map(({ code, line }: { code: string; line: number }) => [code, line])).toEqual([
      ["unknown_template", 3],
      ["unknown_template", 4],
      ["unknown_attribute", 5],
      ["unknown_interface", 7],
    ]);
    expect(diagnostics[0].message).toContain("did you mean frr?");
  });

  test("offline validate warns of values and images that Labwright's own templates do not have", async () => {
    const text =
      "name: x\nnodes:\n  a: {template: linux, attributes: {forwarding: maybe}}\n  b: {template: linux, image: bookworm}\n  c: {template: frr, attributes: {daemons: ospfx}}\n  d: {template: frr, image: frr, attributes: {daemons: 'ospfd, bgpd'}}\n  e: {template: frr, image: default, attributes: {daemons: auto}}\n  f: {template: container, image: bookworm}\n";
    writeFileSync(join(folder, "lab.yaml"), text);
    const { code, stdout } = await run(["validate", "--format", "json"]);
    const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly { code: string; line: number; message: string }[] };
    expect([code, diagnostics.map(({ code: of, line }) => [of, line])]).toEqual([
      0,
      [
        ["bad_value", 3],
        ["unknown_image", 4],
        ["bad_value", 5],
      ],
    ]);
    expect(diagnostics[0]?.message).toBe('node a: forwarding is "maybe", not true or false');
    expect(diagnostics[2]?.message).toContain('daemons is "ospfx", not auto or a list of babeld, bfdd');
  });

  test("no command, an unknown one, and several labs in the folder each say what to do", async () => {
    expect(await run([])).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Usage: labwright COMMAND") });
    expect((await run(["destory"])).stderr).toBe('error: there is no command "destory"\n  hint: did you mean labwright destroy?\n');
    for (const name of ["a.lw.yml", "b.clab.yml"]) writeFileSync(join(folder, name), yaml("x"));
    expect((await run(["validate"])).stderr).toContain("several labs in this folder: a.lw.yml, b.clab.yml");
    mkdirSync(join(folder, "one"));
    expect((await run(["validate", "-t", "one"])).stderr).toContain("there is no lab in one (");
    writeFileSync(join(folder, "one/campus.yml"), "name: x\nnodes:\n  r1: {template: frr}\n");
    expect((await run(["validate", "-t", "one"])).stderr).toContain("hint: name it, such as -t one/campus.yml\n");
    writeFileSync(join(folder, "one/lab.yaml"), "name: x\nnodes:\n  r1: {template: frr, startup-config: r1.conf}\n");
    writeFileSync(join(folder, "one/r1.conf"), "hostname r1\n");
    expect(await run(["validate", "-t", "one"])).toEqual({ code: 0, stdout: "", stderr: `one/lab.yaml is valid${unknowable}\n` });
  });

  test("nobody at the address is told with what to do", async () => {
    const { code, stderr } = await run(["labs", "--url", "https://127.0.0.1:1", "--pin", fingerprint]);
    expect(code).toBe(1);
    expect(stderr).toContain("error: no connection to https://127.0.0.1:1: connection refused (host_unreachable)");
    expect(stderr).toContain("hint: is the service running?");
  });
});

describe("signing in", () => {
  test("an unknown certificate is refused without a terminal, and its fingerprint shown", async () => {
    const fresh = { XDG_CONFIG_HOME: join(folder, "config"), LABWRIGHT_PASSWORD: password };
    const { code, stderr } = await run(["login", "--url", url, "--user", "admin"], { env: fresh });
    expect([code, stderr]).toEqual([1, expect.stringContaining("(tls_untrusted)")]);
    expect(stderr.replaceAll(":", "").toLowerCase()).toContain(fingerprint.replaceAll(":", "").toLowerCase());
    expect(existsSync(join(folder, "config"))).toBe(false);
  });

  test("another certificate than the pinned one is refused before anything is sent", async () => {
    const { code, stderr } = await run(["labs", "--url", url, "--pin", "ab".repeat(32)]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("(tls_pin_mismatch)")]);
    expect(stderr).toContain("labwright login --pin ");
    const mistyped = await run(["labs", "--url", url, "--pin", "AB:CD"]);
    expect([mistyped.code, mistyped.stderr]).toEqual([1, expect.stringContaining('--pin takes a SHA-256 fingerprint, not "AB:CD"')]);
    expect(mistyped.stderr).toContain("labwright serve prints the fingerprint");
  });

  test("a wrong password is told by its code, and the password is never on the screen", async () => {
    const { code, stdout, stderr } = await run(["login", "--url", url, "--pin", fingerprint, "--user", "eve"], {
      env: { LABWRIGHT_PASSWORD: "guess-4711" },
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining("(invalid_credentials)")]);
    expect(stdout + stderr).not.toContain("guess-4711");
  });

  test("on a terminal the fingerprint is asked about, the password typed without echo, and both kept", async () => {
    const config = join(folder, "config");
    const { child, seen } = onTerminal(["login", "--url", url], { XDG_CONFIG_HOME: config });
    await until(
      () => "the question",
      () => seen.stdout.includes("Pin it [y/N]"),
    );
    child.stdin?.write("y\n");
    await until(
      () => "the user name",
      () => seen.stdout.includes("User name"),
    );
    child.stdin?.write("admin\n");
    await until(
      () => "the password",
      () => seen.stdout.includes("Password of admin: "),
    );
    child.stdin?.write(`${password}\n`);
    expect(await ended(child), seen.stdout).toBe(0);
    expect(seen.stdout).not.toContain(password);
    const file = join(config, "labwright/credentials.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      current: url,
      logins: [{ url, username: "admin", token: expect.any(String) }],
    });
    expect(readFileSync(file, "utf8")).not.toContain(password);
    expect((await run(["logout"], { env: { XDG_CONFIG_HOME: config } })).code).toBe(0);
    expect((await run(["labs"], { env: { XDG_CONFIG_HOME: config } })).stderr).toContain("(unauthenticated)");
  });

  test("an expired session is renewed by itself where a password is given, and a change is not", async () => {
    const config = join(folder, "config");
    const env = { XDG_CONFIG_HOME: config, LABWRIGHT_URL: url, LABWRIGHT_PIN: fingerprint, LABWRIGHT_TOKEN: "stale" };
    write("renewed");
    expect((await run(["labs"], { env })).stderr).toContain("(unauthenticated)");
    const renewing = { ...env, LABWRIGHT_USER: "admin", LABWRIGHT_PASSWORD: password };
    expect((await run(["labs"], { env: renewing })).code).toBe(0);
    expect((await run(["deploy"], { env: renewing })).stderr).toContain("(unauthenticated)");
  });
});

describe("a lab's life", () => {
  test("plan 2, deploy 0, plan 0, status, exec, destroy", async () => {
    write("life");
    const plan = await run(["plan"]);
    expect([plan.code, plan.stdout]).toEqual([2, expect.stringMatching(/\+.*r1/)]);
    expect(plan.stdout).not.toContain("\u001b");
    expect(await run(["deploy"])).toMatchObject({ code: 0, stdout: expect.stringContaining("deployed /life: 2 nodes, 1 link") });
    expect(await run(["deploy"])).toMatchObject({ code: 1, stderr: expect.stringContaining("(lab_exists)\n  hint: labwright apply") });
    expect(await run(["plan"])).toMatchObject({ code: 0, stdout: "no changes\n" });
    const status = await run(["status", "--format", "json"]);
    expect(status.stderr).toBe("");
    expect(JSON.parse(status.stdout).live.nodes.map(({ node }: { node: string }) => node)).toEqual(["h1", "r1"]);
    expect((await run(["status"])).stdout).toMatch(/NODE +STATUS[\s\S]*h1 +running/);
    expect(await run(["exec", "--node", "r1", "--", "echo", "hello"])).toMatchObject({ code: 0, stdout: "hello\n", stderr: "" });
    const many = await run(["exec", "-c", "hostname"]);
    expect(many).toMatchObject({ code: 0, stdout: "h1 | h1\nr1 | r1\n" });
    const json = await run(["exec", "--node", "r1,h1", "-c", "echo x", "--format", "json"]);
    expect(JSON.parse(json.stdout).results.map(({ node, output }: { node: string; output: string }) => [node, output.trim()])).toEqual([
      ["r1", "x"],
      ["h1", "x"],
    ]);
    expect(await run(["destroy"])).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
    expect(await run(["destroy", "--yes"])).toMatchObject({ code: 0, stdout: "destroyed /life\n" });
    expect(await run(["inspect", "--lab", "/life"])).toMatchObject({ code: 1, stderr: expect.stringContaining("(lab_not_found)") });
  });

  test("what only the host knows is shown with the same line and caret as offline mistakes", async () => {
    write("unknown-template", yaml("unknown-template").replace("template: frr", "template: rooter"));
    const { code, stderr } = await run(["deploy"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/error:.*rooter/);
    expect(stderr).toContain("template: rooter\n");
    expect(stderr).toContain("^^^^^^");
    expect(await run(["validate"])).toMatchObject({ code: 0 });
    const online = await run(["validate", "--online"]);
    expect([online.code, online.stdout]).toEqual([1, expect.stringMatching(/^lab.yaml:\d+:\d+: error: .*rooter.*\(unknown_template\)/)]);
    // At the word itself, as deploy shows it.
    expect(stderr).toContain(online.stdout.trim());
    const plan = await run(["plan"]);
    expect(plan.stdout.match(/the host has no template rooter/g)).toHaveLength(1);
    expect(plan.stdout).toContain("It cannot be applied as it is.");
  });

  test("a mistake in the file of a lab that runs is shown with line, caret, code and hint, as in that of a new one", async () => {
    write("mistaken");
    const wrong = () =>
      writeFileSync(join(folder, "lab.yaml"), read().replace("{template: linux}", "{template: linux, attributes: {forwarding: maybe}}"));
    wrong();
    const fresh = await run(["plan"]);
    expect([fresh.code, fresh.stdout]).toEqual([1, expect.stringMatching(/! node h1 \(line 7\): .*\(bad_value\)/)]);
    write("mistaken");
    expect((await run(["deploy"])).code).toBe(0);
    wrong();
    const place = /^lab\.yaml:7:\d+: error: node h1: .*\(bad_value\)\n {2}7 \| .*maybe.*\n.*\^.*\n {4}hint: labwright templates NAME/m;
    for (const command of [["plan"], ["apply", "--yes"], ["up", "lab.yaml"]]) {
      const { code, stderr } = await run(command);
      expect([command, code, stderr]).toEqual([command, 1, expect.stringMatching(place)]);
    }
    expect((await run(["apply", "--yes"])).stderr).toContain("error: lab.yaml has 1 error; nothing was changed (invalid_intent)");
  });

  test("offline and by the service, a mistake is told in the same words", async () => {
    write("same", yaml("same").replace("template: frr", "tmplate: frr"));
    const offline = await run(["validate"]);
    const { connect } = await import("../client/index.ts");
    await using client = connect({ url, pin: fingerprint, credentials: { username: "admin", password } });
    const error = await client.validateProject({ yaml: read(), files: { "r1.conf": "hostname r1\n" } }).catch((thrown: unknown) => thrown);
    const { showDiagnostics } = await import("../intent/diagnostics/show.ts");
    const { data } = error as { data: { diagnostics: [] } };
    expect(`${showDiagnostics(data.diagnostics, { yaml: read(), name: "lab.yaml" })}\n`).toBe(offline.stdout);
  });

  test("apply does what is safe, waits with the rest, and does it when confirmed", async () => {
    write("grow");
    expect((await run(["deploy"])).code).toBe(0);
    writeFileSync(join(folder, "r1.conf"), "hostname r1\nip routing\n");
    writeFileSync(
      join(folder, "lab.yaml"),
      read().replace("  h1: {template: linux}\n", "  h1: {template: linux}\n  h2: {template: linux}\n"),
    );
    const plan = await run(["plan"]);
    expect([plan.code, plan.stdout]).toEqual([2, expect.stringContaining("h2")]);
    expect(await run(["apply"])).toMatchObject({ code: 1, stderr: expect.stringContaining("--no-confirm") });
    const safe = await run(["apply", "--no-confirm"]);
    expect([safe.code, safe.stderr]).toEqual([2, expect.stringContaining("waiting for a confirmed apply")]);
    // A yes, too, stops nothing where the other flag says so.
    expect(await run(["apply", "--yes", "--no-confirm"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("waiting for a confirmed"),
    });
    const rest = await run(["plan", "--format", "json"]);
    expect([rest.code, JSON.parse(rest.stdout).actions.map(({ key }: { key: string }) => key)]).toEqual([2, ["r1"]]);
    expect(await run(["apply", "--yes"])).toMatchObject({ code: 0, stdout: expect.stringContaining("applied /grow") });
    expect((await run(["plan"])).code).toBe(0);
    expect(await run(["apply"])).toMatchObject({ code: 0, stdout: "no changes\n" });
  });

  test("up names what the host does not support, as deploy does", async () => {
    write("partly", yaml("partly").replace("h1: {template: linux}", "h1: {template: linux, cpu: 2}"));
    const up = await run(["up", "lab.yaml"]);
    expect([up.code, up.stdout]).toEqual([0, expect.stringMatching(/^unsupported: h1\.cpu: /)]);
    const deploy = await run(["deploy", "--replace", "--yes"]);
    expect(deploy.stdout).toContain(up.stdout.split("\n")[0]);
  });

  test("up again of a lab with fields that the host does not support leaves them out again and starts what is down", async () => {
    write("again", yaml("again").replace("h1: {template: linux}", "h1: {template: linux, cpu: 2}"));
    expect((await run(["up", "lab.yaml"])).code).toBe(0);
    expect((await run(["stop", "--node", "r1"])).code).toBe(0);
    writeFileSync(join(folder, "lab.yaml"), read().replace("  r1: ", "  r2: {template: linux}\n  r1: "));
    const again = await run(["up", "lab.yaml"]);
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^unsupported: h1\.cpu: [\s\S]*r2 +running/m)]);
    const asJson = await run(["up", "lab.yaml", "--format", "json"]);
    expect([asJson.code, asJson.stderr]).toEqual([0, expect.stringContaining("unsupported: h1.cpu: ")]);
    expect(await run(["up", "lab.yaml", "--allow-unsupported"])).toMatchObject({ code: 0 });
  });

  test("up of a lab without nodes says that it is empty", async () => {
    write("empty", "name: empty\nnodes: {}\n");
    const { code, stderr } = await run(["up", "lab.yaml"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("The lab is empty")]);
    expect(stderr).not.toContain("The lab is up");
  });

  test("a second file with the same name changes the lab only when a person agrees, or with --take-over", async () => {
    write("mine");
    expect((await run(["deploy"])).code).toBe(0);
    mkdirSync(join(folder, "other"));
    const other = join(folder, "other/lab.yaml");
    writeFileSync(other, "name: mine\nnodes:\n  z: {template: linux}\n");
    const nodes = async () =>
      JSON.parse((await run(["status", "--format", "json"])).stdout).live.nodes.map(({ name }: { name: string }) => name);
    const place = (path: string) => `${path} on machine ${hostname()}`;
    const words = `the last change of /mine came from ${place(join(folder, "lab.yaml"))}, not from ${place(other)}`;
    for (const command of [
      ["apply", "-t", other],
      ["apply", "-t", other, "--yes", "--prune"],
      ["up", other, "--yes"],
      ["apply", "-t", other, "--no-confirm"],
      ["destroy", "-t", other, "--yes"],
      ["down", "-t", other, "--yes"],
      ["deploy", "-t", other, "--replace", "--yes"],
    ]) {
      const { code, stderr } = await run(command);
      expect([command, code, stderr]).toEqual([
        command,
        1,
        expect.stringMatching(
          /^error: nothing was changed: the last change of [\s\S]*\n {2}hint: .*--take-over.*change `name:` in the file/,
        ),
      ]);
      expect(stderr).toContain(words);
    }
    expect(await nodes()).toEqual(["h1", "r1"]);
    const plan = await run(["plan", "-t", other]);
    expect([plan.code, plan.stderr]).toEqual([2, expect.stringContaining("apply asks, or needs --take-over")]);
    const { child, seen } = onTerminal(["destroy", "-t", other]);
    await until(
      () => seen.stdout,
      () => seen.stdout.includes("[y/N]"),
    );
    child.stdin?.write("n\n");
    await ended(child);
    expect(seen.stdout).toContain(`(2 nodes, 2 running), last changed from ${place(join(folder, "lab.yaml"))}`);
    // Its own file is asked nothing, and no more is the other one once it was said.
    writeFileSync(join(folder, "lab.yaml"), read().replace("template: linux", "template: linux, start: false"));
    expect((await run(["apply", "--yes"])).code).toBe(0);
    expect((await run(["apply", "-t", other, "--yes", "--take-over"])).code).toBe(0);
    expect(await nodes()).toEqual(["h1", "r1", "z"]);
    writeFileSync(other, "name: mine\nnodes:\n  z: {template: linux}\n  y: {template: linux}\n");
    expect((await run(["apply", "-t", other, "--yes"])).code).toBe(0);
    expect((await run(["apply", "--yes", "--prune"])).stderr).toContain(`came from ${place(other)}, not from`);
    const asked = onTerminal(["apply", "--prune"]);
    await until(
      () => asked.seen.stdout,
      () => asked.seen.stdout.includes("from now on [y/N]"),
    );
    asked.child.stdin?.write("y\n");
    await until(
      () => asked.seen.stdout,
      () => asked.seen.stdout.includes("Apply this?"),
    );
    asked.child.stdin?.write("y\n");
    expect([await ended(asked.child), asked.seen.stdout]).toEqual([0, expect.stringContaining("applied /mine")]);
    expect(await nodes()).toEqual(["h1", "r1"]);
  });

  test("a file that has moved takes its lab over though nothing else is to change, and may replace or destroy it from then on", async () => {
    write("moved");
    expect((await run(["deploy"])).code).toBe(0);
    const folderOf = (name: string) => {
      mkdirSync(join(folder, name));
      for (const file of ["lab.yaml", "r1.conf"]) writeFileSync(join(folder, name, file), readFileSync(join(folder, file)));
      return join(folder, name, "lab.yaml");
    };
    const [second, third] = [folderOf("second"), folderOf("third")];
    expect(await run(["apply", "-t", second, "--take-over"])).toMatchObject({ code: 0, stdout: "no changes\n" });
    writeFileSync(second, readFileSync(second, "utf8").replace("template: linux", "template: linux, start: false"));
    expect((await run(["apply", "-t", second, "--yes"])).code).toBe(0);
    expect((await run(["up", third, "--take-over", "--yes", "--no-wait"])).code).toBe(0);
    expect((await run(["deploy", "-t", second, "--replace", "--yes"])).code).toBe(1);
    expect((await run(["deploy", "-t", second, "--replace", "--yes", "--take-over"])).code).toBe(0);
    expect((await run(["deploy", "-t", second, "--replace", "--yes"])).code).toBe(0);
    expect((await run(["destroy", "-t", third, "--yes"])).code).toBe(1);
    expect(await run(["destroy", "-t", third, "--yes", "--take-over"])).toMatchObject({ code: 0, stdout: "destroyed /moved\n" });
    expect((await run(["deploy", "-t", second])).code).toBe(0);
    expect(await run(["destroy", "--lab", "/moved", "--yes"])).toMatchObject({ code: 0, stdout: "destroyed /moved\n" });
  });

  test.each([["apply"], ["up", "--no-wait"]])(
    "%s --take-over records the new file though only unsupported fields differ",
    async (command, ...more) => {
      const name = `taken-${command}`;
      write(name);
      expect((await run(["deploy"])).code).toBe(0);
      mkdirSync(join(folder, name));
      const moved = join(folder, name, "lab.yaml");
      writeFileSync(join(folder, name, "r1.conf"), readFileSync(join(folder, "r1.conf")));
      writeFileSync(moved, read().replace("h1: {template: linux}", "h1: {template: linux, cpu: 2}"));
      const taken = await run([command, "-t", moved, "--take-over", "--yes", ...more]);
      expect([taken.code, taken.stdout]).toEqual([0, expect.stringContaining("unsupported: h1.cpu: ")]);
      // The old file is the stranger now; the new one is asked nothing.
      writeFileSync(join(folder, "lab.yaml"), read().replace("template: linux", "template: linux, start: false"));
      expect(await run(["apply", "--yes"])).toMatchObject({ code: 1, stderr: expect.stringContaining(`came from ${moved} on machine`) });
      writeFileSync(moved, readFileSync(moved, "utf8").replace("cpu: 2", "cpu: 2, start: false"));
      expect((await run(["apply", "-t", moved, "--yes", "--allow-unsupported"])).code).toBe(0);
    },
  );

  test("apply refuses what the host does not support, says what to do, and with --allow-unsupported applies the rest", async () => {
    write("poor");
    expect((await run(["deploy"])).code).toBe(0);
    const without = read();
    writeFileSync(
      join(folder, "lab.yaml"),
      read().replace("  h1: {template: linux}\n", "  h1: {template: linux, cpu: 2, icon: Desktop.png}\n"),
    );
    const plan = await run(["plan"]);
    expect([plan.code, plan.stdout]).toEqual([1, expect.stringContaining("--allow-unsupported applies the rest")]);
    const refused = await run(["apply", "--yes"]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("error: nothing was changed: the plan cannot be applied")]);
    expect(refused.stderr).toContain("unsupported: h1.cpu: ");
    expect(refused.stderr).toContain("hint: --allow-unsupported applies the rest");
    const dry = await run(["deploy", "--dry-run"]);
    expect([dry.code, dry.stdout]).toEqual([2, expect.not.stringContaining("cannot be applied")]);
    expect((await run(["plan", "--allow-unsupported"])).code).toBe(2);
    const applied = await run(["apply", "--yes", "--allow-unsupported"]);
    expect([applied.code, applied.stdout]).toEqual([0, expect.stringMatching(/applied \/poor: 1 step\nunsupported: h1\.cpu: /)]);
    // With nothing else left to do it is no failure, and is named all the same.
    expect(await run(["apply"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^no changes\nunsupported: h1\.cpu: /) });
    writeFileSync(join(folder, "lab.yaml"), without);
    expect(await run(["apply", "--yes"])).toMatchObject({ code: 0, stdout: expect.not.stringContaining("unsupported") });
  });

  test("on a terminal apply shows the plan and does what the answer says; --prune deletes what the file has not", async () => {
    write("asked");
    expect((await run(["deploy"])).code).toBe(0);
    const before = read();
    writeFileSync(
      join(folder, "lab.yaml"),
      before.replace("  h1: {template: linux}\n", "  h1: {template: linux}\n  h2: {template: linux}\n"),
    );
    for (const [answer, outcome, code] of [
      ["n", "nothing was changed", 1],
      ["y", "applied /asked", 0],
    ] as const) {
      const { child, seen } = onTerminal(["apply"]);
      await until(
        () => `the question in ${JSON.stringify(seen.stdout)}`,
        () => seen.stdout.includes("Apply this? [y/N]"),
      );
      expect(seen.stdout).toContain("\u001b[32m  + node h2");
      child.stdin?.write(`${answer}\n`);
      expect([await ended(child), seen.stdout]).toEqual([code, expect.stringContaining(outcome)]);
    }
    write("asked", before);
    const kept = await run(["plan"]);
    expect([kept.code, kept.stdout]).toEqual([0, "no changes; 1 more on the host than in the file (--prune deletes it)\n"]);
    expect((await run(["plan", "--prune"])).code).toBe(2);
    expect(await run(["apply", "--prune", "--yes"])).toMatchObject({ code: 0, stdout: expect.stringContaining("- node h2") });
    expect((await run(["plan", "--prune"])).stdout).toBe("no changes\n");
    const { child, seen } = onTerminal(["destroy"]);
    await until(
      () => `the question in ${JSON.stringify(seen.stdout)}`,
      () => seen.stdout.includes("[y/N]"),
    );
    child.stdin?.write("n\n");
    expect([await ended(child), seen.stdout]).toEqual([1, expect.stringContaining("nothing was changed")]);
  });

  test("pull shows the difference, keeps comments, and writes only when told to", async () => {
    write("pulled");
    expect((await run(["deploy"])).code).toBe(0);
    const before = read();
    expect(await run(["pull", "--yes"])).toMatchObject({ code: 0, stdout: "lab.yaml is up to date\n" });
    // The host has more than the file: what another person deployed.
    writeFileSync(
      join(folder, "lab.yaml"),
      before.replace("  h1: {template: linux}\n", "  h1: {template: linux}\n  h2: {template: linux}\n"),
    );
    writeFileSync(join(folder, "r1.conf"), "hostname r1\nip routing\n");
    expect((await run(["apply", "--yes"])).code).toBe(0);
    write("pulled", before);
    const state = async () => (await run(["labs", "--format", "json"])).stdout;
    const recorded = await state();
    const dry = await run(["pull", "--dry-run"]);
    expect([dry.code, dry.stdout]).toEqual([2, expect.stringMatching(/^\+ {2}h2/m)]);
    expect(dry.stdout).toContain("+ip routing");
    expect(read()).toBe(before);
    expect(await run(["pull"])).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
    // Neither has told the service that the file is what the host has.
    expect(await state()).toBe(recorded);
    expect(await run(["pull", "--yes"])).toMatchObject({ code: 0, stdout: expect.stringContaining("wrote r1.conf, lab.yaml") });
    expect(read()).toMatch(/^# my first lab\n[\s\S]*# the core[\s\S]*h2:[\s\S]*# access\n$/);
    expect(readFileSync(join(folder, "r1.conf"), "utf8")).toBe("hostname r1\nip routing\n");
    expect((await run(["plan"])).code).toBe(0);
  });

  test("save writes configurations into the lab's files when told to, or into a directory, and names the nodes left out", async () => {
    write("saving");
    expect((await run(["deploy"])).code).toBe(0);
    expect((await run(["stop", "--node", "r1"])).code).toBe(0);
    const before = read();
    expect(await run(["save"])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^\+ {2}h1.*hostname h1/m),
      stderr: expect.stringContaining("--yes"),
    });
    expect(read()).toBe(before);
    const saved = await run(["save", "--yes"]);
    expect(saved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^h1 +saved/m) });
    expect(saved.stdout).toMatch(/^r1 +skipped +the node is stopped; start it first/m);
    expect(saved.stdout).toContain("wrote lab.yaml");
    expect(read()).toMatch(/^# my first lab\n[\s\S]*# the core[\s\S]*hostname h1[\s\S]*# access\n$/);
    expect(await run(["save", "--yes"])).toMatchObject({ code: 0, stdout: expect.stringContaining("the files are up to date") });
    expect(await run(["save", "--lab", "/saving"])).toMatchObject({ code: 1, stderr: expect.stringContaining("--dir DIR") });
    const one = await run(["save", "--lab", "/saving", "--node", "h1", "--dir", "out/configs", "--format", "json"]);
    expect(JSON.parse(one.stdout)).toMatchObject({ saved: 1, written: ["out/configs/h1.cfg"], files: { "h1.cfg": "hostname h1\n" } });
    expect(readFileSync(join(folder, "out/configs/h1.cfg"), "utf8")).toBe("hostname h1\n");
    expect(await run(["save", "--node", "nobody"])).toMatchObject({ code: 1, stderr: expect.stringContaining("node_not_found") });
  });

  test("a locked lab refuses changes with the command that unlocks it; a host without a load says so", async () => {
    write("held");
    expect((await run(["deploy"])).code).toBe(0);
    expect(await run(["lock"])).toMatchObject({ code: 0, stdout: "/held: locked\n" });
    const refused = await run(["stop", "--lab", "/held"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/\/held is locked on the host[\s\S]*\(lab_locked\)\n\s+hint: \S*labwright unlock/);
    expect((await run(["status"])).stdout).toContain("locked");
    expect(await run(["unlock", "--lab", "/held", "--format", "json"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"locked": false'),
    });
    expect((await run(["stop", "--lab", "/held"])).code).toBe(0);
    expect(await run(["host"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("this host does not offer a report of its load"),
    });
  });

  test("commands in results are spelled as they can be typed, a file is not overwritten by a capture, and plans name changed entries", async () => {
    const text = (name: string) => `name: listed\nnodes:\n  h1: {template: linux, exec: ["echo a", "echo ${name}"]}\n`;
    write("listed", text("b"));
    expect((await run(["deploy"])).code).toBe(0);
    write("listed", text("c"));
    expect((await run(["plan"])).stdout).toContain('2 → 2 entries: -"echo b", +"echo c"');
    writeFileSync(join(folder, "kept.pcapng"), "mine");
    const capture = await run(["capture", "h1:eth0", "-w", "kept.pcapng"]);
    expect([capture.code, capture.stderr]).toEqual([1, expect.stringContaining("kept.pcapng is there already")]);
    expect((await run(["grants", "--revoke", "nobody"])).stderr).toContain("error: /listed is not shared with nobody");
    const destroyed = await run(["destroy", "--no-wipe", "--yes"], { env: { npm_lifecycle_event: "labwright" } });
    expect(destroyed.stdout).toBe("destroyed /listed; npm run labwright -- disks lists its disks\n");
  });

  test("hints fit the command: adopt of a recorded lab, quarantine of an unknown ID, no login", async () => {
    write("hinted");
    expect((await run(["deploy"])).code).toBe(0);
    expect((await run(["adopt", "/hinted"])).stderr).toMatch(/\(lab_exists\)\n {2}hint: .*labwright grants --lab \/hinted/);
    for (const action of ["restore", "delete"])
      expect((await run(["quarantine", action, "nowhere"])).stderr).toMatch(/\(lab_not_found\)\n {2}hint: labwright quarantine list/);
    expect((await run(["labs"], { env: { LABWRIGHT_TOKEN: "not-a-token" } })).stderr).toBe(
      "error: you are not signed in (unauthenticated)\n  hint: labwright login\n",
    );
    await run(["stop", "--node", "h1"]);
    expect((await run(["exec", "--node", "h1", "--", "true"])).stderr).toContain("labwright start --node h1");
  });

  test("open gives a link to the lab's page, by file or by path, that signs in once", async () => {
    write("shown");
    expect((await run(["open", "lab.yaml"])).stderr).toContain("lab_not_found");
    expect((await run(["deploy"])).code).toBe(0);
    const opened = await run(["open", "lab.yaml"]);
    expect(opened).toMatchObject({ code: 0, stderr: expect.stringContaining("good once") });
    expect(opened.stderr.replaceAll(":", "").toLowerCase()).toContain(fingerprint.replaceAll(":", "").toLowerCase());
    const link = new URL(opened.stdout.trim());
    expect([link.origin, link.pathname]).toEqual([new URL(url).origin, "/ui/labs/shown"]);
    const { ticket } = /#ticket=(?<ticket>[0-9a-f]{64})$/.exec(link.href)!.groups!;
    using client = connect({ url, pin: fingerprint });
    expect(await client.createBrowserSession({ ticket })).toMatchObject({ expires_at: expect.any(String) });
    await expect(client.createBrowserSession({ ticket })).rejects.toMatchObject({ code: "browser_token_invalid" });
    const { url: other } = JSON.parse((await run(["open", "--lab", "/shown", "--format", "json"])).stdout) as { readonly url: string };
    expect(other).not.toBe(link.href);
  });

  test("start, stop and wipe tell what became of each node", async () => {
    write("power");
    expect((await run(["deploy"])).code).toBe(0);
    expect((await run(["stop", "--node", "r1", "--mode", "poweroff"])).stdout).toBe("1 node: 1 stopped\n");
    expect((await run(["stop", "--node", "r1,h1"])).stdout).toBe("2 nodes: 1 stopped, 1 already stopped\n");
    expect((await run(["start"])).stdout).toBe("2 nodes: 2 started\n");
    expect((await run(["wipe", "--node", "h1"])).stderr).toContain("--yes");
    const unknown = await run(["start", "--node", "nobody"]);
    expect([unknown.code, unknown.stderr + unknown.stdout]).toEqual([1, expect.stringMatching(/node_not_found|invalid/)]);
    expect(await run(["start", "--node", "r1,nobody"])).toEqual({
      code: 1,
      stdout: "2 nodes: 1 already running, 1 invalid\n",
      stderr: "/power has no node nobody; it has h1, r1\n",
    });
    // The same flag chooses rows.
    const rows = async (...args: string[]) => (await run(args)).stdout.match(/^[hr]1(?= )/gm);
    for (const command of ["status", "inspect", "consoles"]) {
      expect(await rows(command), command).toEqual(["h1", "r1"]);
      expect(await rows(command, "--node", "r1"), command).toEqual(["r1"]);
      expect(await rows(command, "--node", "r1,h1"), command).toEqual(["h1", "r1"]);
      expect(await run([command, "--node", "nobody"]), command).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("(node_not_found)"),
      });
    }
  });

  test("a question names what would be lost, and is not asked about what is not there", async () => {
    write("stake");
    expect((await run(["destroy"])).stderr).toContain("error: there is no lab /stake (lab_not_found)");
    expect((await run(["deploy"])).code).toBe(0);
    const lost = "/stake (2 nodes, 2 running)";
    expect((await run(["destroy"])).stderr).toContain(`not asked, because there is no terminal: Remove the lab ${lost} with its disks?`);
    expect((await run(["deploy", "-c"])).stderr).toContain(`Delete the lab ${lost} with its disks`);
    expect((await run(["wipe", "--node", "h1"])).stderr).toContain(`Stop h1 of ${lost} and delete the disks?`);
    const byPath = await run(["jobs", "--lab", "stake"]);
    expect(byPath.stdout).toContain("deployProject");
    // The same lab, by its file.
    expect(await run(["jobs", "-t", "."])).toEqual(byPath);
  });

  test("a link is named by one of its ends, and a call does one thing to it", async () => {
    write("cable");
    expect((await run(["deploy"])).code).toBe(0);
    expect((await run(["link", "h1:eth1", "--delay", "40", "--loss", "0.5"])).stdout).toBe(
      "from h1:eth1: delay 40 ms, loss 0.5 %\nfrom r1:eth1: delay 40 ms, loss 0.5 %\n",
    );
    expect((await run(["link", "h1:eth1", "--delay", "7", "--from", "r1:eth1"])).stdout).toBe(
      "from h1:eth1: perfect\nfrom r1:eth1: delay 7 ms\n",
    );
    const shown = "h1:eth1 -- r1:eth1\nfrom h1:eth1: perfect\nfrom r1:eth1: delay 7 ms (saved on the host: perfect)\n";
    for (const ends of [["h1:eth1"], ["h1:eth1", "r1:eth1"], ["h1:eth1"]])
      expect(await run(["link", ...ends])).toMatchObject({ code: 0, stdout: shown });
    expect((await run(["link", "r1:eth1"])).stdout).toMatch(/^r1:eth1 -- h1:eth1\nfrom r1:eth1: delay 7 ms/);
    expect(JSON.parse((await run(["link", "h1:eth1", "--format", "json"])).stdout).quality).toMatchObject({ a: { delay: 7 } });
    expect((await run(["link", "h1:eth1", "h1:eth9"])).stderr).toContain("/cable has no link h1:eth1 -- h1:eth9");
    expect(await run(["link", "h1:eth1", "--clear"])).toMatchObject({ code: 0, stdout: "from h1:eth1: perfect\nfrom r1:eth1: perfect\n" });
    expect((await run(["link", "h1:eth1"])).stdout).toBe("h1:eth1 -- r1:eth1\nfrom h1:eth1: perfect\nfrom r1:eth1: perfect\n");
    expect((await run(["link", "h1:eth1", "--preset", "wan2", "--loss", "0", "--from", "h1:eth1"])).stdout).toBe(
      "from h1:eth1: delay 40 ms, jitter 2 ms, bandwidth 10000 kbit/s\nfrom r1:eth1: perfect\n",
    );
    expect((await run(["link", "r1:eth1", "--suspend", "--from", "r1:eth1"])).stdout).toMatch(/: suspended at r1:eth1\n$/);
    expect((await run(["inspect"])).stdout.match(/suspended/g)).toHaveLength(1);
    expect((await run(["status"])).stdout).toMatch(/\nsuspended: r1:eth1 \(labwright link NODE:INTERFACE --resume\)\n$/);
    expect((await run(["link", "h1:eth1"])).stdout).toMatch(/^h1:eth1 -- r1:eth1 {2}suspended\n.*\n.*perfect; suspended at this end\n$/);
    expect((await run(["stop", "--node", "h1"])).code).toBe(0);
    const idle = await run(["link", "h1:eth1", "--delay", "9"]);
    expect([idle.code, idle.stderr]).toEqual([1, expect.stringContaining("error: nothing was changed: a link without running nodes")]);
    expect(await run(["link", "h1:eth1", "--delay", "9", "--save"])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("in force when"),
    });
    expect((await run(["link", "r1:eth9", "--resume"])).stderr).toBe("error: r1:eth9 is in no link of /cable\n  hint: such as r1:eth1\n");
    const wrong = [
      ["--suspend", "--resume"],
      ["--suspend", "--delay", "4"],
      ["--suspend", "--preset", "wan1"],
      ["--preset", "wan3"],
      ["--delay", "-5"],
      ["--clear", "--delay", "5"],
      ["--clear", "--suspend"],
      ["--clear", "--from", "h1:eth1"],
      ["--save"],
      ["--from", "h1:eth1"],
    ];
    for (const flags of wrong) {
      const { code, stderr } = await run(["link", "r1:eth1", ...flags]);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: --(suspend|delay|preset|clear|save|from) /)]);
    }
  });

  test("what is meant for the node and stands before -- is told, not run in part", async () => {
    const { code, stderr } = await run(["exec", "--node", "h1", "ping", "-c", "3", "10.0.0.1"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("hint: what is for the node stands behind --")]);
    expect((await run(["exec", "ip", "-br", "addr"])).stderr).toContain("hint: what is for the node stands behind --");
  });

  test("what is piped into a console is answered before it ends", async () => {
    write("piped");
    expect((await run(["deploy"])).code).toBe(0);
    // A node on a busy machine may take its time for the first answer; its scrollback has it the next time all the same.
    let stdout = "";
    for (let round = 0; round < 5 && !/over there[\r\n]+over there/.test(stdout); round++) {
      const ran = await run(["console", "r1"], { input: "echo over there\r" });
      expect(ran.code, ran.stderr).toBe(0);
      stdout = ran.stdout;
    }
    expect(stdout).toMatch(/over there[\r\n]+over there/);
  });

  test("a console carries bytes both ways and is left by its escape", async () => {
    write("talk");
    expect((await run(["deploy"])).code).toBe(0);
    const { child, seen } = onTerminal(["console", "r1", "--record", "talk.cast"]);
    await until(
      () => `the prompt: ${seen.stdout}`,
      () => seen.stdout.includes("r1# "),
    );
    child.stdin?.write("echo over there\r");
    await until(
      () => `the echo in ${JSON.stringify(seen.stdout)}`,
      () => /over there[\r\n]+over there/.test(seen.stdout),
    );
    child.stdin?.write("\u001d");
    expect(await ended(child), seen.stdout).toBe(0);
    expect(seen.stdout).toContain("left the console of r1");
    const [head, ...events] = readFileSync(join(folder, "talk.cast"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(head).toMatchObject({ version: 2, width: expect.any(Number) });
    expect(events.map(([, , text]: readonly [number, string, string]) => text).join("")).toMatch(/over there[\r\n]+over there/);
    expect(await run(["console", "r1", "--record", "talk.cast"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there already"),
    });
    expect((await run(["consoles"])).stdout).toMatch(/r1 +\w+ +running +yes/);
    expect((await run(["stop", "--node", "r1"])).code).toBe(0);
    expect(await run(["logs", "r1"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/over there\nover there\n/) });
    expect((await run(["logs"])).stderr).toContain("of which node?");
  });

  test("events are told as they happen, as lines for people or one object a line, until a signal", async () => {
    write("told");
    expect((await run(["deploy"])).code).toBe(0);
    const people = begin(["events", "--lab", "/told", "--type", "node,job"]);
    const programs = begin(["events", "--format", "json"]);
    const [lines, objects] = [watch(people), watch(programs)];
    // Whether they listen already shows in what they hear.
    const deadline = Date.now() + 60_000;
    while (!lines.stdout.includes("node h1: stopped") || !objects.stdout.includes('"stopped"')) {
      expect(Date.now(), lines.stdout + lines.stderr + objects.stderr).toBeLessThan(deadline);
      expect((await run(["stop", "--node", "h1"])).code).toBe(0);
      await pause(1_000);
      expect((await run(["start", "--node", "h1"])).code).toBe(0);
      await pause(1_000);
    }
    expect(lines.stdout).toMatch(/^\d\d:\d\d:\d\d {2}\/told {2}execProject by admin: begins$/m);
    expect(lines.stdout).toMatch(/^\d\d:\d\d:\d\d {2}\/told {2}node h1: stopped \(was running\b.*\)$/m);
    expect(lines.stdout).not.toContain("heartbeat");
    people.kill("SIGINT");
    programs.kill("SIGTERM");
    expect([await ended(people), await ended(programs)]).toEqual([0, 0]);
    const told = objects.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(told).toContainEqual(expect.objectContaining({ type: "node", lab: "/told", data: expect.objectContaining({ node: "h1" }) }));
    expect((await run(["events", "--type", "node,nodes"])).stderr).toContain('not "nodes"');
    const wrong = await run(["events", "--lab", "/no-such-lab"]);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("lab_not_found")]);
    expect((await run(["destroy", "--yes"])).code).toBe(0);
  });

  test("catalogue, inspect and labs have a table and pure JSON", async () => {
    write("listed");
    const deployed = await run(["deploy"]);
    expect(deployed.code, deployed.stderr).toBe(0);
    expect((await run(["templates"])).stdout).toMatch(/^ID[\s\S]*frr +router/);
    expect((await run(["templates", "frr"])).stdout).toContain("daemons");
    expect((await run(["inspect"])).stdout).toMatch(/r1:eth1.*h1:eth1/);
    expect((await run(["labs"])).stdout).toContain("/listed");
    for (const command of [["templates"], ["inspect"], ["labs"], ["consoles"]]) {
      const { stdout, stderr } = await run([...command, "--format", "json"]);
      expect([typeof JSON.parse(stdout), stderr], command[0]).toEqual(["object", ""]);
    }
  });
});

describe("labs of others, and what became of changes", () => {
  test("import clones a lab and writes its intent, load only looks, grants share, jobs tell", async () => {
    write("source");
    expect((await run(["deploy", "-q"])).code).toBe(0);
    const imported = await run(["import", "/source", "--as", "/copies/one", "-t", "copy.lw.yml"]);
    expect([imported.code, imported.stdout], imported.stderr).toEqual([
      0,
      expect.stringMatching(
        /^\/source was cloned to \/copies\/one, stopped\n\d+ kept, \d+ mapped, \d+ dropped\n[\s\S]*wrote copy\.lw\.yml\n$/,
      ),
    ]);
    expect((await run(["plan", "-t", "copy.lw.yml", "--lab", "/copies/one"])).code).toBe(0);
    const again = await run(["import", "/source", "-t", "copy.lw.yml"]);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("copy.lw.yml is there already")]);
    expect((await run(["import", "/source", "--as", "/copies/one"])).stderr).toContain("(lab_exists)");

    const loaded = await run(["load", "/copies/one", "-t", "loaded.lw.yml", "--format", "json"]);
    expect(JSON.parse(loaded.stdout)).toMatchObject({ lab: "/copies/one", mode: "load", written: ["loaded.lw.yml"] });
    expect(readFileSync(join(folder, "loaded.lw.yml"), "utf8")).toContain("template: frr");

    const shared = await run(["grants", "--lab", "/source", "--grant", "bob=view,eve=edit"]);
    expect(shared.stdout).toMatch(/admin +owner\n *bob +view\n *eve +edit/);
    const less = await run(["grants", "--lab", "/source", "--revoke", "eve", "--grant", "bob=operate", "--format", "json"]);
    expect(JSON.parse(less.stdout)).toMatchObject({ owner: "admin", grants: [{ user: "bob", right: "operate" }] });
    expect(await run(["grants", "--lab", "/source", "--grant", "bob=own"])).toMatchObject({ code: 1, stdout: "" });

    const listed = await run(["jobs", "--lab", "/copies/one", "--format", "json"]);
    const { jobs } = JSON.parse(listed.stdout);
    expect(jobs).toMatchObject([{ operation: "importProject", status: "done" }]);
    expect((await run(["jobs", jobs[0].job])).stdout).toContain("importProject of admin");
    expect((await run(["jobs", jobs[0].job, "--cancel"])).stderr).toContain("(operation_not_allowed)");
  });

  test("users of the embedded host are added, changed and removed on its machine, and the last admin stays", async () => {
    const own = { LABWRIGHT_STATE_DIR: join(folder, "state") };
    mkdirSync(own.LABWRIGHT_STATE_DIR);
    const users = (args: readonly string[], input = "") => run(["users", ...args], { env: own, input });
    expect(await users(["add", "root", "--role", "admin", "--password-stdin"], "secret-1\n")).toMatchObject({
      code: 0,
      stdout: "root: added as admin\n",
    });
    expect((await users(["add", "ann", "--password-stdin"], "secret-2\n")).code).toBe(0);
    expect((await users(["add", "ann", "--password-stdin"], "secret-3\n")).stderr).toContain("there is a user ann already");
    expect((await users(["role", "ann", "viewer"])).code).toBe(0);
    expect(JSON.parse((await users(["list", "--format", "json"])).stdout)).toEqual([
      { name: "ann", role: "viewer" },
      { name: "root", role: "admin" },
    ]);
    expect((await users(["remove", "root"])).stderr).toContain("the last admin stays");
    expect((await users(["passwd", "nobody", "--password-stdin"], "x\n")).stderr).toContain("there is no user nobody");
    expect(await users(["remove", "ann"])).toMatchObject({ code: 0, stdout: "ann: removed\n", stderr: "" });
  });
});

test("status --watch says that the service went away, and goes on when it is back", async () => {
  const own = join(folder, "own");
  const env = {
    LABWRIGHT_STATE_DIR: own,
    XDG_CONFIG_HOME: join(folder, "config"),
    LABWRIGHT_ADMIN_PASSWORD: password,
    LABWRIGHT_USER: "admin",
    LABWRIGHT_PASSWORD: password,
  };
  const file = join(own, "service.json");
  const serve = async (port: string) => {
    const child = begin(["serve", "--port", port, "--host", "memory"], env);
    const told = watch(child);
    await until(
      () => `the service; it said: ${told.stderr}`,
      () => existsSync(file) || child.exitCode !== null,
    );
    return child;
  };
  // None of those that the system gives to whoever asks: it must be free again after the restart.
  const first = await serve(String(10_000 + (process.pid % 10_000)));
  const at = JSON.parse(readFileSync(file, "utf8")) as { url: string; fingerprint: string };
  const there = ["--url", at.url, "--pin", at.fingerprint];
  write("watched");
  expect((await run(["deploy", "-q", ...there], { env })).code).toBe(0);
  const watching = begin(["status", "--watch", ...there], env);
  const seen = watch(watching);
  await until(
    () => `the status; it said: ${seen.stderr}`,
    () => seen.stdout.includes("/watched"),
  );
  first.kill("SIGTERM");
  await ended(first);
  await until(
    () => `the note; it said: ${seen.stderr}`,
    () => seen.stderr.includes("trying again"),
  );
  const second = await serve(new URL(at.url).port);
  await until(
    () => `the return; it said: ${seen.stderr}`,
    () => seen.stderr.includes("the service answers again"),
  );
  expect(seen.stderr.match(/trying again/g)).toHaveLength(1);
  watching.kill("SIGINT");
  expect(await ended(watching)).toBe(0);
  second.kill("SIGTERM");
  await ended(second);
});

describe("up", () => {
  test("starts a service where none runs, deploys, waits, and uses it again the next time", async () => {
    const own = join(folder, "state");
    const env = { LABWRIGHT_STATE_DIR: own, LABWRIGHT_RUN_DIR: join(own, "run"), XDG_CONFIG_HOME: join(folder, "config") };
    write("upped");
    const first = await run(["up", "lab.yaml", "--host", "memory"], { env });
    const { pid } = JSON.parse(readFileSync(join(own, "service.json"), "utf8")) as { pid: number };
    try {
      expect([first.code, first.stderr]).toEqual([0, expect.stringContaining("started a service at https://")]);
      expect(first.stdout).toMatch(/h1 +running/);
      expect(first.stderr).toContain("labwright console");
      expect(statSync(join(own, "admin-password")).mode & 0o777).toBe(0o600);
      const second = await run(["up", "lab.yaml", "--format", "json"], { env });
      expect([second.code, second.stderr]).toEqual([0, expect.not.stringContaining("started a service")]);
      expect(JSON.parse(second.stdout)).toMatchObject({ lab: "/upped" });
      await run(["stop", "--node", "h1"], { env });
      const third = await run(["up", "lab.yaml"], { env });
      expect([third.code, third.stderr]).toEqual([0, expect.stringMatching(/stopped: h1.*\n.*labwright start -t lab.yaml --node h1/)]);
    } finally {
      process.kill(pid, "SIGTERM");
      await until(
        () => "the end of the service",
        () => !existsSync(`/proc/${pid}`),
      );
    }
    // Of the log, which has the words of all services so far, only those of this one are shown.
    const wrong = await run(["up", "lab.yaml", "--host", "nowhere"], { env });
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringMatching(/the service did not start:\n.*--host takes [^\n]*"nowhere"\n {2}hint: /),
    ]);
    expect(wrong.stderr).not.toContain("listens on");
  });

  test("starts it at the port that is asked for, and down stops it and no other", async () => {
    const own = join(folder, "state");
    const env = { LABWRIGHT_STATE_DIR: own, LABWRIGHT_RUN_DIR: join(own, "run"), XDG_CONFIG_HOME: join(folder, "config") };
    const port = await freePort();
    const address = `https://127.0.0.1:${port}`;
    const at = () => (JSON.parse(readFileSync(join(own, "service.json"), "utf8")) as { url: string }).url;
    write("ported");
    for (const [args, more] of [
      [["--url", address], {}],
      [["--port", String(port)], {}],
      [[], { LABWRIGHT_PORT: String(port) }],
      [[], { LABWRIGHT_URL: address }],
    ] as const) {
      const up = await run(["up", "lab.yaml", "--host", "memory", ...args], { env: { ...env, ...more } });
      expect([up.code, up.stderr]).toEqual([0, expect.stringContaining(`started a service at ${address} `)]);
      expect(at()).toBe(address);
      const other = await run(["up", "lab.yaml", "--port", "1"], { env });
      expect([other.code, other.stderr]).toEqual([1, expect.stringContaining(`this machine's service runs at ${address}, not at port 1`)]);
      expect(other.stderr).toContain("leave --port out");
      const elsewhere = await run(["up", "lab.yaml", "--url", "https://127.0.0.1:1"], { env });
      expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining("leave --url out")]);
      expect(await run(["down"], { env })).toMatchObject({ code: 0, stderr: expect.stringContaining(`stopped the service at ${address}`) });
    }
    const wrong = await run(["up", "lab.yaml", "--host", "memory"], { env: { ...env, LABWRIGHT_PORT: "abc" } });
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('LABWRIGHT_PORT takes a number from 0 to 65535, not "abc"')]);
    expect((await run(["up", "lab.yaml", "--port", "1", "--url", address], { env })).stderr).toContain(
      "--port is for a service of this machine",
    );
    // At a loopback address with somebody else's certificate no second service is tried.
    const stranger = await run(["up", "lab.yaml", "--url", url], { env: { ...env, LABWRIGHT_PASSWORD: password } });
    expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining("(tls_untrusted)")]);
    // Begun by labwright serve.
    const refused = await run(["down"]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("was not started by labwright up: it was left alone")]);
    expect((await run(["deploy"])).code).toBe(0);
    expect(await run(["down", "-t", "lab.yaml", "--yes"])).toMatchObject({ code: 0, stdout: "destroyed /ported\n" });
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("that is ended by %s while its service starts ends the service", async (signal) => {
    const own = join(folder, "state");
    const services = () =>
      readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .filter((pid) => {
          try {
            const of = (file: string) => readFileSync(`/proc/${pid}/${file}`, "utf8");
            return of("cmdline").includes("server/main") && of("environ").includes(`LABWRIGHT_STATE_DIR=${own}\0`);
          } catch {
            return false; // it has ended meanwhile
          }
        });
    write("cut-off");
    const up = begin(["up", "lab.yaml", "--host", "memory", "--port", "0"], {
      LABWRIGHT_STATE_DIR: own,
      LABWRIGHT_RUN_DIR: join(own, "run"),
    });
    const seen = watch(up);
    await until(
      () => `a service; up said ${seen.stderr}`,
      () => services().length === 1,
    );
    up.kill(signal);
    await ended(up);
    expect([up.signalCode, seen.stderr]).toEqual([signal, expect.stringContaining("the service that was starting was ended")]);
    await until(
      () => "the end of the service",
      () => services().length === 0,
    );
  });

  test("waits for a service that somebody else is just starting", async () => {
    const own = join(folder, "state");
    const env = { LABWRIGHT_STATE_DIR: own, LABWRIGHT_RUN_DIR: join(own, "run"), XDG_CONFIG_HOME: join(folder, "config") };
    write("awaited");
    mkdirSync(own, { mode: 0o700 });
    // The lock is taken, and nobody answers yet.
    const lock = new DatabaseSync(join(own, "service.lock"));
    lock.exec("BEGIN EXCLUSIVE");
    const waiting = begin(["up", "lab.yaml", "--host", "memory"], env);
    const seen = watch(waiting);
    await until(
      () => `the refusal; it said: ${seen.stderr}`,
      () =>
        existsSync(join(own, "service.log")) &&
        readFileSync(join(own, "service.log"), "utf8").includes("another service runs on the state directory"),
    );
    lock.close();
    const password = readFileSync(join(own, "admin-password"), "utf8").trim();
    const other = begin(["serve", "--port", "0", "--host", "memory"], { ...env, LABWRIGHT_ADMIN_PASSWORD: password });
    try {
      expect([await ended(waiting), seen.stderr]).toEqual([0, expect.stringContaining("somebody else has just started the service")]);
    } finally {
      other.kill("SIGTERM");
      await ended(other);
    }
  });
});
