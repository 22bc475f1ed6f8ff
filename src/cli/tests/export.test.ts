import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cli, run, write, yaml } from "./cli.fixture.ts";

beforeEach(() => {
  cli.state = mkdtempSync(join(tmpdir(), "labwright-export-"));
  cli.folder = mkdtempSync(join(cli.state, "work-"));
});
afterEach(() => rmSync(cli.state, { recursive: true }));

test("export writes a new folder with the lab and its files, and notes what has no place", async () => {
  const folder = join(cli.folder, "out");
  writeFileSync(join(cli.folder, "r1.conf"), "hostname r1\n");
  writeFileSync(
    join(cli.folder, "lab.yaml"),
    "name: x\nnodes: {r1: {template: frr, startup-config: r1.conf, ssh-keys: []}}\ntests: [{from: r1, ping: 127.0.0.1}]\n",
  );
  const { code, stdout, stderr } = await run(["export", "-o", "gns3", "--output", folder]);
  expect([code, stderr]).toEqual([0, "GNS3 has no place for tests: the lab\n"]);
  expect(stdout).toContain(`wrote ${folder}/x.gns3\n`);
  const [config] = stdout.split("\n").filter((line) => line.endsWith("/etc/frr/frr.conf"));
  expect(readFileSync(config?.replace("wrote ", "") ?? "", "utf8")).toBe("hostname r1\n");
  const again = await run(["export", "-o", "gns3", "--output", folder]);
  expect([again.code, again.stderr.split(":").at(0)]).toEqual([1, "error"]);
  expect(again.stderr).toContain(`${folder} is not empty, and nothing in it is overwritten`);
});

test("export into a folder of a file system that takes none ends with an error", async () => {
  write("campus");
  const { code, stderr } = await run(["export", "-o", "cml", "--output", "/proc/x/y"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("/proc/x")]);
});

test("export without a format, and of a lab with errors, writes nothing", async () => {
  write("campus", yaml("campus").replace("template: frr", "tmplate: frr"));
  expect((await run(["export"])).stderr).toContain("one of containerlab, unl, gns3, cml");
  const { code, stderr } = await run(["export", "-o", "cml"]);
  expect(code).toBe(1);
  expect(stderr).toContain("unknown_key");
  expect(existsSync(join(cli.folder, "campus-cml"))).toBe(false);
});

test("render prints the lab that reads alike without its helpers, and the configuration of each node", async () => {
  writeFileSync(join(cli.folder, "site.yaml"), "site: berlin\n");
  writeFileSync(join(cli.folder, "berlin-r2.conf"), "hostname r2");
  writeFileSync(join(cli.folder, "berlin-r1.conf"), "hostname r1\n");
  // biome-ignore lint/suspicious/noTemplateCurlyInString: references to variables
  const range = 'r{1..2}: {template: frr, startup-config: "${site}-${node}.conf"}';
  writeFileSync(join(cli.folder, "lab.yaml"), `name: x\nvars-files: [site.yaml]\nnodes:\n  ${range}\nlinks: [{full-mesh: "r{1..2}"}]\n`);
  const { code, stdout } = await run(["render"]);
  expect([code, stdout]).toEqual([0, expect.stringContaining('links:\n  - ["r1:eth1", "r2:eth1"]\n')]);
  expect(stdout).toContain("startup-config: berlin-r2.conf\n");
  expect((await run(["render", "--configs"])).stdout).toBe("==> r1 <==\nhostname r1\n\n==> r2 <==\nhostname r2\n");
  writeFileSync(join(cli.folder, "site.yaml"), "town: berlin\n");
  const wrong = await run(["render"]);
  expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([1, "", expect.stringContaining("unknown_variable")]);
});

test("graph prints Mermaid, and the suffix of --output chooses the format", async () => {
  write("campus");
  expect((await run(["graph"])).stdout).toContain("flowchart LR\n");
  mkdirSync(join(cli.folder, "pictures"));
  const output = join(cli.folder, "pictures", "campus.svg");
  expect((await run(["graph", "--output", output])).stdout).toBe(`wrote ${output}\n`);
  expect(readFileSync(output, "utf8")).toMatch(/^<svg xmlns/);
  expect((await run(["graph", "--output", output])).stderr).toContain("exists already");
  expect((await run(["graph", "--output", join(cli.folder, "x.png")])).stderr).toContain("the suffix names no format");
});
