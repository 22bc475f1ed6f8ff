import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cli, ended, onTerminal, read, run, until, useService, write } from "./cli.fixture.ts";

useService();

test("a second file with the same lab name changes the lab only after a confirmation or with --take-over", async () => {
  write("mine");
  expect((await run(["deploy"])).code).toBe(0);
  mkdirSync(join(cli.folder, "other"));
  const other = join(cli.folder, "other/lab.yaml");
  writeFileSync(other, "name: mine\nnodes:\n  z: {template: linux}\n");
  const nodes = async () =>
    JSON.parse((await run(["status", "--format", "json"])).stdout).live.nodes.map(({ name }: { name: string }) => name);
  const place = (path: string) => `${path} on machine ${hostname()}`;
  const words = `the last change of /mine came from ${place(join(cli.folder, "lab.yaml"))}, not from ${place(other)}`;
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
      expect.stringMatching(/^error: nothing was changed: the last change of [\s\S]*\n {2}hint: .*--take-over.*change `name:` in the file/),
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
  expect(seen.stdout).toContain(`(2 nodes, 2 running), last changed from ${place(join(cli.folder, "lab.yaml"))}`);
  // The recorded file needs no question. After --take-over the other file is the recorded one.
  writeFileSync(join(cli.folder, "lab.yaml"), read().replace("template: linux", "template: linux, start: false"));
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

test("a moved file takes over its lab without other changes, and may then replace or destroy it", async () => {
  write("moved");
  expect((await run(["deploy"])).code).toBe(0);
  const folderOf = (name: string) => {
    mkdirSync(join(cli.folder, name));
    for (const file of ["lab.yaml", "r1.conf"]) writeFileSync(join(cli.folder, name, file), readFileSync(join(cli.folder, file)));
    return join(cli.folder, name, "lab.yaml");
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
    mkdirSync(join(cli.folder, name));
    const moved = join(cli.folder, name, "lab.yaml");
    writeFileSync(join(cli.folder, name, "r1.conf"), readFileSync(join(cli.folder, "r1.conf")));
    writeFileSync(moved, read().replace("h1: {template: linux}", "h1: {template: linux, cpu: 2}"));
    const taken = await run([command, "-t", moved, "--take-over", "--yes", ...more]);
    expect([taken.code, taken.stdout]).toEqual([0, expect.stringContaining("unsupported: h1.cpu: ")]);
    // The new file is the recorded one now: only the old file needs a confirmation.
    writeFileSync(join(cli.folder, "lab.yaml"), read().replace("template: linux", "template: linux, start: false"));
    expect(await run(["apply", "--yes"])).toMatchObject({ code: 1, stderr: expect.stringContaining(`came from ${moved} on machine`) });
    writeFileSync(moved, readFileSync(moved, "utf8").replace("cpu: 2", "cpu: 2, start: false"));
    expect((await run(["apply", "-t", moved, "--yes", "--allow-unsupported"])).code).toBe(0);
  },
);

test("pull shows the difference, keeps comments, and writes only after a confirmation", async () => {
  write("pulled");
  expect((await run(["deploy"])).code).toBe(0);
  const before = read();
  expect(await run(["pull", "--yes"])).toMatchObject({ code: 0, stdout: "lab.yaml is up to date\n" });
  // The host has a node that is not in the file: another user has deployed it.
  writeFileSync(
    join(cli.folder, "lab.yaml"),
    before.replace("  h1: {template: linux}\n", "  h1: {template: linux}\n  h2: {template: linux}\n"),
  );
  writeFileSync(join(cli.folder, "r1.conf"), "hostname r1\nip routing\n");
  expect((await run(["apply", "--yes"])).code).toBe(0);
  write("pulled", before);
  const state = async () => (await run(["labs", "--format", "json"])).stdout;
  const recorded = await state();
  const dry = await run(["pull", "--dry-run"]);
  expect([dry.code, dry.stdout]).toEqual([2, expect.stringMatching(/^\+ {2}h2/m)]);
  expect(dry.stdout).toContain("+ip routing");
  expect(read()).toBe(before);
  expect(await run(["pull"])).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
  // Neither call has recorded the file in the service.
  expect(await state()).toBe(recorded);
  expect(await run(["pull", "--yes"])).toMatchObject({ code: 0, stdout: expect.stringContaining("wrote r1.conf, lab.yaml") });
  expect(read()).toMatch(/^# my first lab\n[\s\S]*# the core[\s\S]*h2:[\s\S]*# access\n$/);
  expect(readFileSync(join(cli.folder, "r1.conf"), "utf8")).toBe("hostname r1\nip routing\n");
  expect((await run(["plan"])).code).toBe(0);
});

test("save writes configurations to the lab's files after a confirmation, or to a directory, and names skipped nodes", async () => {
  write("saving");
  expect((await run(["deploy"])).code).toBe(0);
  expect((await run(["stop", "--node", "r1"])).code).toBe(0);
  const before = read();
  expect(await run(["save"])).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^\+ {2}h1:\n(?:\+.*\n)*\+ +hostname h1$/m),
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
  expect(readFileSync(join(cli.folder, "out/configs/h1.cfg"), "utf8")).toBe("hostname h1\n");
  expect(await run(["save", "--node", "nobody"])).toMatchObject({ code: 1, stderr: expect.stringContaining("node_not_found") });
});

test("import clones a lab and writes its file, load only reads, grants changes rights, jobs lists changes", async () => {
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
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("copy.lw.yml exists already")]);
  expect((await run(["import", "/source", "--as", "/copies/one"])).stderr).toContain("(lab_exists)");
  const noFolder = await run(["import", "/source", "--as", "/copies/two", "-t", "copy.lw.yml/two.lw.yml"]);
  expect([noFolder.code, noFolder.stderr]).toEqual([1, expect.stringContaining("a part of its path is not a folder")]);
  expect((await run(["labs"])).stdout).not.toContain("/copies/two");
  const longName = `${"x".repeat(300)}.lw.yml`;
  const noFile = await run(["import", "/source", "--as", "/copies/two", "-t", longName]);
  expect([noFile.code, noFile.stderr]).toEqual([1, expect.stringContaining("its name is too long; the copy /copies/two is on the host")]);
  expect(noFile.stderr).toContain(`labwright pull --lab /copies/two -t ${longName} writes the file`);

  const loaded = await run(["load", "/copies/one", "-t", "loaded.lw.yml", "--format", "json"]);
  expect(JSON.parse(loaded.stdout)).toMatchObject({ lab: "/copies/one", mode: "load", written: ["loaded.lw.yml"] });
  expect(readFileSync(join(cli.folder, "loaded.lw.yml"), "utf8")).toContain("template: frr");

  const shared = await run(["grants", "--lab", "/source", "--grant", "bob=view,eve=edit"]);
  expect(shared.stdout).toMatch(/admin +owner\n *bob +view\n *eve +edit/);
  const less = await run(["grants", "--lab", "/source", "--revoke", "eve", "--grant", "bob=operate", "--format", "json"]);
  expect(JSON.parse(less.stdout)).toMatchObject({ owner: "admin", grants: [{ user: "bob", right: "operate" }] });
  expect(await run(["grants", "--lab", "/source", "--grant", "bob=own"])).toMatchObject({ code: 1, stdout: "" });

  const listed = await run(["jobs", "--lab", "/copies/one", "--format", "json"]);
  const { jobs } = JSON.parse(listed.stdout);
  expect(jobs).toMatchObject([{ operation: "importProject", status: "done" }]);
  expect((await run(["jobs", jobs[0].job])).stdout).toContain("import by admin");
  expect((await run(["jobs", jobs[0].job, "--cancel"])).stderr).toContain("(operation_not_allowed)");
});

test("commands that need only the lab's name use it if the file has errors, and others refuse the file", async () => {
  write("broken");
  expect((await run(["deploy"])).code).toBe(0);
  for (const text of [
    "name: broken\nnodes:\n  r1: {template: frr, colour: red}\nlinks: 7\n",
    "name: 'broken' # the lab\nnodes:\n  r1: {template: [frr\n",
  ]) {
    write("broken", text);
    for (const command of [["status"], ["exec", "h1", "--", "true"], ["stop", "--node", "h1"], ["lock"], ["unlock"], ["jobs", "-t", "."]]) {
      const ran = await run(command);
      expect(ran.stderr, `${command}`).toMatch(
        /^warning: lab\.yaml has \d errors?, so that only its lab's name is used: \/broken; labwright validate -t lab\.yaml shows/,
      );
      expect(ran.stderr, `${command}`).not.toContain("invalid_intent");
    }
    expect((await run(["stop", "--node", "r1"])).stdout).toContain("1 node:");
    for (const command of ["plan", "apply", "deploy", "up", "test", "save"])
      expect((await run([command, ...(command === "up" ? ["lab.yaml"] : [])])).stderr, command).toContain("(invalid_intent)");
  }
  for (const nameless of ["nodes: {r1: {template: frr}}\n", "name: a\nname: broken\n", "name: a lab!\n"]) {
    write("broken", nameless);
    const { code, stderr } = await run(["destroy", "--yes"]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/no name of a lab can be read from it\n {2}hint: --lab \/NAME names the lab/),
    ]);
  }
  write("broken", "name: broken\nnodes: [\n");
  expect(await run(["destroy", "--yes"])).toMatchObject({ code: 0, stdout: "destroyed /broken\n" });
});
