import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cli, run, runProcess, useService, write, yaml } from "./cli.fixture.ts";

useService();

const unchecked = "; only a service can check images and unsupported fields: --online";

test("validate shows every mistake with its line and a caret, and ends with 1", async () => {
  write("campus", yaml("campus").replace("template: frr", "tmplate: frr").replace("h1:eth1", "h9:eth1"));
  const { code, stdout, stderr } = await runProcess(["validate", "-t", "lab.yaml"]);
  expect(code).toBe(1);
  expect(stdout).toContain('lab.yaml:5:5: error: unknown key "tmplate" (unknown_key)');
  expect(stdout).toContain("  5 |     tmplate: frr\n    |     ^^^^^^^");
  expect(stdout).toContain("h9");
  expect(stderr).toMatch(/^error: lab.yaml has \d errors \(invalid_intent\)/);
});

test("validate reports a valid file on stderr, and with --format json only on stdout", async () => {
  write("campus");
  expect(await runProcess(["validate"])).toEqual({ code: 0, stdout: "", stderr: `lab.yaml is valid${unchecked}\n` });
  const { stdout } = await run(["validate", "--format", "json", "-q"]);
  expect(JSON.parse(stdout)).toEqual({ status: "valid", diagnostics: [] });
});

test("validate warns of templates, attributes and interfaces that are not Labwright's own, and names the checks that need a service", async () => {
  const text =
    'name: x\nnodes:\n  a: {template: fr}\n  b: {kind: acme}\n  c: {template: linux, attributes: {forwardin: true}}\nlinks:\n  - ["c:Gi0/1", "a:eth1"]\n';
  writeFileSync(join(cli.folder, "lab.yaml"), text);
  const { code, stdout, stderr } = await run(["validate"]);
  expect([code, stderr]).toEqual([0, `lab.yaml is valid, with 4 warnings${unchecked}\n`]);
  expect(stdout).toContain("lab.yaml:3:17: warning: node a: fr is not one of Labwright's own templates (docs/templates.md)");
  expect(stdout).toContain('hint: did you mean "frr"?');
  expect(stdout).toContain("lab.yaml:4:13: warning: node b: acme is not one of Labwright's own templates");
  expect(stdout).toContain("only a service can check that (unknown_template)");
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

test("offline validate reports a problem that nodes inherit from one line once", async () => {
  const text = "name: x\ndefaults: {template: vpcs}\nnodes: {a: {}, b: {}, c: {template: dynamips}}\n";
  writeFileSync(join(cli.folder, "lab.yaml"), text);
  const { stdout } = await run(["validate", "--format", "json"]);
  const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly { readonly line: number; readonly message: string }[] };
  expect(diagnostics.map(({ line, message }) => [line, message.split(" ", 3).join(" "), /\(the same for 1 more\)$/.test(message)])).toEqual(
    [
      [2, "node a: vpcs", true],
      [3, "node c: dynamips", false],
    ],
  );
});

test("offline validate warns of values and images that Labwright's own templates do not support", async () => {
  const text =
    "name: x\nnodes:\n  a: {template: linux, attributes: {forwarding: maybe}}\n  b: {template: linux, image: bookworm}\n  c: {template: frr, attributes: {daemons: ospfx}}\n  d: {template: frr, image: frr, attributes: {daemons: 'ospfd, bgpd'}}\n  e: {template: frr, image: default, attributes: {daemons: auto}}\n  f: {template: container, image: bookworm}\n";
  writeFileSync(join(cli.folder, "lab.yaml"), text);
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

test("a missing command, an unknown one, and several labs in the folder each have a hint", async () => {
  expect(await run([])).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Usage: labwright COMMAND") });
  expect((await run(["destory"])).stderr).toBe('error: there is no command "destory"\n  hint: did you mean labwright destroy?\n');
  for (const name of ["a.lw.yml", "b.clab.yml"]) writeFileSync(join(cli.folder, name), yaml("x"));
  expect((await run(["validate"])).stderr).toContain("several labs in this folder: a.lw.yml, b.clab.yml");
  mkdirSync(join(cli.folder, "one"));
  expect((await run(["validate", "-t", "one"])).stderr).toContain("there is no lab in one (");
  writeFileSync(join(cli.folder, "one/campus.yml"), "name: x\nnodes:\n  r1: {template: frr}\n");
  expect((await run(["validate", "-t", "one"])).stderr).toContain("hint: name the file, such as -t one/campus.yml\n");
  writeFileSync(join(cli.folder, "one/lab.yaml"), "name: x\nnodes:\n  r1: {template: frr, startup-config: r1.conf}\n");
  writeFileSync(join(cli.folder, "one/r1.conf"), "hostname r1\n");
  expect(await run(["validate", "-t", "one"])).toEqual({ code: 0, stdout: "", stderr: `one/lab.yaml is valid${unchecked}\n` });
});

test("an address without a service is reported with a hint", async () => {
  const { code, stderr } = await run(["labs", "--url", "https://127.0.0.1:1", "--pin", cli.fingerprint]);
  expect(code).toBe(1);
  expect(stderr).toContain("error: no connection to https://127.0.0.1:1: connection refused (host_unreachable)");
  expect(stderr).toContain("hint: is the service running?");
});

test("test refuses a report that cannot be written before any test runs, and names the folder", async () => {
  write("campus");
  const { code, stdout, stderr } = await run(["test", "--junit", "missing/report.xml"]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toBe("error: missing/report.xml: there is no folder missing\n  hint: create it: mkdir -p missing\n");
  expect((await run(["test", "--junit", "."])).stderr).toContain(".: it is a folder");
});
