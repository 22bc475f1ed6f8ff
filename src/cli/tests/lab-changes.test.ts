import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cli, ended, onTerminal, password, read, run, until, useService, write, yaml } from "./cli.fixture.ts";

useService();

test("plan, deploy, status, exec and destroy each have their result and exit code", async () => {
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
  expect(await run(["exec", "r1", "--", "echo", "hello"])).toMatchObject({ code: 0, stdout: "hello\n", stderr: "" });
  const many = await run(["exec", "-c", "hostname"]);
  expect(many).toMatchObject({ code: 0, stdout: "h1 | h1\nr1 | r1\n", stderr: expect.stringContaining("use labwright cli") });
  expect(await run(["cli", "r1", "--", "echo", "hello"])).toMatchObject({ code: 0, stdout: "hello\n", stderr: "" });
  expect(await run(["cli", "--", "hostname"])).toMatchObject({ code: 0, stdout: "h1 | h1\nr1 | r1\n", stderr: "" });
  const json = await run(["exec", "--node", "r1,h1", "-c", "echo x", "--format", "json"]);
  expect(JSON.parse(json.stdout).results.map(({ node, output }: { node: string; output: string }) => [node, output.trim()])).toEqual([
    ["r1", "x"],
    ["h1", "x"],
  ]);
  expect(await run(["exec", "h1", "--", "exit", "7"])).toMatchObject({ code: 7, stdout: "", stderr: "" });
  expect(await run(["exec", "--node", "h1", "--", "exit", "7"])).toMatchObject({ code: 7, stdout: "", stderr: "" });
  expect(await run(["exec", "--node", "h1", "r1", "--", "exit", "7"])).toMatchObject({ code: 7 });
  expect(await run(["exec", "R1", "--", "true"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has no node R1; did you mean "r1"?'),
  });
  expect(await run(["exec", "*", "--", "hostname"])).toMatchObject({ code: 0, stderr: "" });
  expect(await run(["exec", "r1", "h1", "--", "exit", "3"])).toMatchObject({ code: 3 });
  expect(await run(["exec", "h1", "--timeout", "0.2", "--", "sleep", "60"])).toMatchObject({
    code: 124,
    stderr: "error: killed after the time limit\n",
  });
  expect(await run(["exec", "h1", "-e", "A=x,y", "--", "env", "A"])).toMatchObject({ code: 0, stdout: "x,y\n" });
  expect(await run(["exec", "h1", "--max-output", "3", "--", "echo", "hello"])).toMatchObject({ code: 125, stdout: "hel" });
  const structured = await run(["exec", "kind=frr", "--format", "json", "--", "echo", "a", "b  c"]);
  expect(JSON.parse(structured.stdout).results).toMatchObject([{ node: "r1", ok: true, exit_code: 0, stdout: "a b  c\n", stderr: "" }]);
  expect(await run(["exec", "x*", "--", "true"])).toMatchObject({ code: 1, stderr: expect.stringContaining('no node for "x*"') });
  expect(await run(["destroy"])).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
  expect(await run(["destroy", "--yes"])).toMatchObject({ code: 0, stdout: "destroyed /life\n" });
  expect(await run(["inspect", "--lab", "/life"])).toMatchObject({ code: 1, stderr: expect.stringContaining("(lab_not_found)") });
});

test("a mistake that only the host detects is shown with line and caret, as offline mistakes are", async () => {
  write("unknown-template", yaml("unknown-template").replace("template: frr", "template: rooter"));
  const { code, stderr } = await run(["deploy"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/error:.*rooter/);
  expect(stderr).toContain("template: rooter\n");
  expect(stderr).toContain("^^^^^^");
  expect(await run(["validate"])).toMatchObject({ code: 0 });
  const online = await run(["validate", "--online"]);
  expect([online.code, online.stdout]).toEqual([1, expect.stringMatching(/^lab.yaml:\d+:\d+: error: .*rooter.*\(unknown_template\)/)]);
  // Both point at the same word.
  expect(stderr).toContain(online.stdout.trim());
  const plan = await run(["plan"]);
  expect(plan.stdout.match(/the host has no template rooter/g)).toHaveLength(1);
  expect(plan.stdout).toContain("This plan cannot be applied.");
});

test("a mistake in the file of a running lab is shown with line, caret, code and hint, as for a new lab", async () => {
  write("mistaken");
  const wrong = () =>
    writeFileSync(join(cli.folder, "lab.yaml"), read().replace("{template: linux}", "{template: linux, attributes: {forwarding: maybe}}"));
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

test("a mistake has the same message offline and from the service", async () => {
  write("same", yaml("same").replace("template: frr", "tmplate: frr"));
  const offline = await run(["validate"]);
  const { connect } = await import("../../client/index.ts");
  await using client = connect({ url: cli.url, pin: cli.fingerprint, credentials: { username: "admin", password } });
  const error = await client.validateProject({ yaml: read(), files: { "r1.conf": "hostname r1\n" } }).catch((thrown: unknown) => thrown);
  const { showDiagnostics } = await import("../../intent/diagnostics/show.ts");
  const { data } = error as { data: { diagnostics: [] } };
  expect(`${showDiagnostics(data.diagnostics, { yaml: read(), name: "lab.yaml" })}\n`).toBe(offline.stdout);
});

test("apply --no-confirm applies only safe changes, and a confirmed apply the rest", async () => {
  write("grow");
  expect((await run(["deploy"])).code).toBe(0);
  writeFileSync(join(cli.folder, "r1.conf"), "hostname r1\nip routing\n");
  writeFileSync(
    join(cli.folder, "lab.yaml"),
    read().replace("  h1: {template: linux}\n", "  h1: {template: linux}\n  h2: {template: linux}\n"),
  );
  const plan = await run(["plan"]);
  expect([plan.code, plan.stdout]).toEqual([2, expect.stringContaining("h2")]);
  expect(await run(["apply"])).toMatchObject({ code: 1, stderr: expect.stringContaining("--no-confirm") });
  const safe = await run(["apply", "--no-confirm"]);
  expect([safe.code, safe.stderr]).toEqual([2, expect.stringContaining("waiting for a confirmed apply")]);
  // With both flags, --no-confirm counts.
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

test("up names unsupported fields, as deploy does", async () => {
  write("partly", yaml("partly").replace("h1: {template: linux}", "h1: {template: linux, cpu: 2}"));
  const up = await run(["up", "lab.yaml"]);
  expect([up.code, up.stdout]).toEqual([0, expect.stringMatching(/^unsupported: h1\.cpu: /)]);
  const deploy = await run(["deploy", "--replace", "--yes"]);
  expect(deploy.stdout).toContain(up.stdout.split("\n")[0]);
});

test("a second up of a lab with unsupported fields leaves them out again and starts stopped nodes", async () => {
  write("again", yaml("again").replace("h1: {template: linux}", "h1: {template: linux, cpu: 2}"));
  expect((await run(["up", "lab.yaml"])).code).toBe(0);
  expect((await run(["stop", "--node", "r1"])).code).toBe(0);
  writeFileSync(join(cli.folder, "lab.yaml"), read().replace("  r1: ", "  r2: {template: linux}\n  r1: "));
  const again = await run(["up", "lab.yaml"]);
  expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^unsupported: h1\.cpu: [\s\S]*r2 +running/m)]);
  const asJson = await run(["up", "lab.yaml", "--format", "json"]);
  expect([asJson.code, asJson.stderr]).toEqual([0, expect.stringContaining("unsupported: h1.cpu: ")]);
  expect(await run(["up", "lab.yaml", "--allow-unsupported"])).toMatchObject({ code: 0 });
});

test("up of a lab without nodes reports that it is empty", async () => {
  write("empty", "name: empty\nnodes: {}\n");
  const { code, stderr } = await run(["up", "lab.yaml"]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("The lab is empty")]);
  expect(stderr).not.toContain("The lab is up");
});

test("apply refuses unsupported fields with a hint, and with --allow-unsupported applies the rest", async () => {
  write("poor");
  expect((await run(["deploy"])).code).toBe(0);
  const without = read();
  writeFileSync(
    join(cli.folder, "lab.yaml"),
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
  // Without other changes it is not an error, and the unsupported field is still named.
  expect(await run(["apply"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^no changes\nunsupported: h1\.cpu: /) });
  writeFileSync(join(cli.folder, "lab.yaml"), without);
  expect(await run(["apply", "--yes"])).toMatchObject({ code: 0, stdout: expect.not.stringContaining("unsupported") });
});

test("on a terminal apply shows the plan and asks; --prune deletes nodes that are not in the file", async () => {
  write("asked");
  expect((await run(["deploy"])).code).toBe(0);
  const before = read();
  writeFileSync(
    join(cli.folder, "lab.yaml"),
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

test("a changed test or condition is no change of the host: plan and apply say that it is stored and takes effect", async () => {
  write("kept");
  expect((await run(["deploy"])).code).toBe(0);
  const text = read();
  writeFileSync(
    join(cli.folder, "lab.yaml"),
    `${text.replace("template: frr", "template: frr\n    ready: {command: test -e /up}")}tests: [{from: h1, command: "true"}]\n`,
  );
  expect(await run(["plan"])).toMatchObject({
    code: 0,
    stdout: "no changes of the host; the text changes ready, tests: apply stores them, and then they take effect\n",
  });
  expect(JSON.parse((await run(["plan", "--format", "json"])).stdout)).toMatchObject({ operations: [], stored: ["ready", "tests"] });
  expect(await run(["apply", "--no-wait"])).toMatchObject({ code: 0, stdout: "no changes of the host; stored the changed ready, tests\n" });
  expect(await run(["plan"])).toMatchObject({ code: 0, stdout: "no changes\n" });
});
