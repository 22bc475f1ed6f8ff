import { execFile, execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testedProgram } from "../../../../files/tested-program.fixture.ts";
import { localPaths } from "../../machine/paths.ts";

let home: string;

function run(...args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const env = {
    PATH: process.env.PATH,
    LABWRIGHT_STATE_DIR: join(home, "state"),
    LABWRIGHT_IMAGE_DIR: localPaths(process.env, process.getuid?.() ?? 0).images,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [testedProgram("hosts/local/containers/main"), ...args], { env, cwd: home }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 255), stdout, stderr });
    });
  });
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "labwright-image-vm-"));
  await chmod(home, 0o755);
  const disk = Buffer.alloc(1 << 20);
  disk.writeUInt16BE(0x55aa, 510);
  await writeFile(join(home, "vios-adventerprisek9-m.spa.159-3.m9.img"), disk);
  await writeFile(join(home, "unknown.img"), disk);
});
afterAll(() => rm(home, { recursive: true }));

test("labwright image adds, lists and removes images of virtual machines, and reports their template and licence", async () => {
  const added = await run("add", "vios-adventerprisek9-m.spa.159-3.m9.img", "--name", "vios-15.9");
  expect(added).toMatchObject({ code: 0, stderr: "" });
  expect(added.stdout).toMatch(/^vios-15\.9: added, 1 disk, 0\.\d MB, for template vios \(Cisco IOSv\)$/m);
  expect(added.stdout).toContain("\n  1 CPU, 512 MiB, interfaces Gi0/0, Gi0/1, Gi0/2 … of model e1000, disks on virtio\n");
  expect(added.stdout).toContain("\n  Cisco IOSv needs a licence of Cisco Modeling Labs\n");
  expect(added.stdout).toContain("\n  in a lab: {template: vios, image: vios-15.9}\n");
  expect((await run("add", "unknown.img")).stdout).toContain(
    "no template knows this file name; --template NAME --replace chooses another one than qemu",
  );
  const json = await run("add", "unknown.img", "--name", "other", "--template", "veos", "--format", "json");
  expect(JSON.parse(json.stdout)).toMatchObject({
    name: "other",
    kind: "vm",
    template: "veos",
    template_by: "flag",
    disks: 1,
    license: "an account of Arista",
  });

  const lab = join(home, "state", "labs", "l1");
  await mkdir(lab, { recursive: true });
  await writeFile(join(lab, "lab.json"), JSON.stringify({ path: "/campus", nodes: [{ image: "other" }] }));
  const listed = JSON.parse((await run("ls", "--format", "json")).stdout) as readonly { readonly name: string }[];
  expect(listed.filter(({ name }) => ["other", "unknown", "vios-15.9"].includes(name))).toEqual([
    expect.objectContaining({ name: "other", kind: "vm", template: "veos", from: "unknown.img", used_by: ["/campus"] }),
    expect.objectContaining({ name: "unknown", template: "qemu", used_by: [] }),
    expect.objectContaining({ name: "vios-15.9", template: "vios" }),
  ]);
  expect((await run("list")).stdout).toMatch(/^NAME +SIZE +DISKS +CDS +ADDED +TEMPLATE +USED BY +FROM$/m);
  expect(await run("rm", "other")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("image other is used by /campus, whose disks are based on it (in_use)"),
  });
  expect(await run("rm", "vios-15.9")).toMatchObject({ code: 0, stdout: "vios-15.9: removed\n" });
  expect((await run("prune", "--all", "--dry-run")).stdout).toContain("unknown: would be removed");
});

test("labwright image explains what it does not take", async () => {
  await writeFile(join(home, "text.qcow2"), "hello");
  const bad = await run("add", "text.qcow2");
  expect([bad.code, bad.stdout]).toEqual([1, ""]);
  expect(bad.stderr).toMatch(/^error: .*text\.qcow2 is not a disk: .*\(bad_image\)\n {2}hint: download it again/);
  expect((await run("add", "unknown.img", "--ref", "x", "--template", "veos")).stderr).toContain("--ref is for images of containers");
  execFileSync("mkfifo", [join(home, "pipe.qcow2")]);
  expect((await run("add", "pipe.qcow2")).stderr).toContain("pipe.qcow2 is neither a file nor a directory");
  expect((await run("rm", "nothing")).stderr).toContain("there is no image nothing (not_found)");
});
