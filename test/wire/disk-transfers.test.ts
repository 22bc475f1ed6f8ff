import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type LabwrightClient } from "../../src/client/connect.ts";
import { type TarWrite, tarArchive } from "../../src/files/tar/tar-writer.ts";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { openUsers } from "../../src/hosts/local/accounts/users.ts";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import { sqliteStore } from "../../src/service/store/sqlite.ts";
import { type Served, serve } from "./served.ts";

/** Disks of nodes in archives, over the wire: the SDK and the command line on the embedded host. */

const yaml = "name: site\nnodes:\n  r1: {template: linux, start: false}\n  r2: {template: linux, start: false}\n";
let local: TestLocalHost;
let served: Served;
let work: string;
let alice: LabwrightClient;
let bob: LabwrightClient;

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-transfers-"));
  local = await testLocalHost();
  const users = openUsers(join(local.paths.state, "users.json"));
  for (const name of ["alice", "bob"]) await users.put(name, "test-password", "user");
  served = await serve({ host: local.host, service: { store: sqliteStore(":memory:") } });
  const client = (username: string) =>
    connect({ url: served.url, pin: served.fingerprint, credentials: { username, password: "test-password" } });
  [alice, bob] = [client("alice"), client("bob")];
  await writeFile(join(work, "site.yaml"), yaml);
});
afterAll(async () => {
  for (const client of [alice, bob]) client[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await rm(work, { recursive: true });
});

async function cli(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  await alice.getSession();
  const env = {
    ...process.env,
    LABWRIGHT_TOKEN: alice.token,
    LABWRIGHT_URL: served.url,
    LABWRIGHT_PIN: served.fingerprint,
    XDG_CONFIG_HOME: work,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [testedProgram("cli/main"), ...args], { env, cwd: work }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

async function run(lab: string, command: string): Promise<string> {
  const { code, out, err } = await cli("exec", "--lab", lab, "r1", "--", "sh", "-c", command);
  return `${out}${err}${code}`;
}

const change = [
  "echo kept > /root/note",
  "chown 7:8 /root/note",
  "chmod 2755 /root/note",
  "ln -s note /root/link",
  "ln /root/note /root/second",
  "rm /etc/hosts.allow /etc/issue 2> /dev/null",
  "rm -r /usr/share/doc && mkdir -p /usr/share/doc && echo new > /usr/share/doc/mine",
  "mkfifo /root/fifo",
].join("; ");
const look = [
  "stat -c '%n %a %u %g %h %F' /root/note /root/link /root/second /root/fifo",
  "cat /root/second",
  "readlink /root/link",
  "ls /usr/share/doc /etc/issue 2>&1",
].join("; ");

test("an archive with disks gives the nodes of another lab their files, owners, links and removed files", async () => {
  await alice.deployProject({ yaml });
  expect((await cli("export", "--format", "archive", "--with", "disks", "-t", "site.yaml", "--output", "none.tar.gz")).err).toContain(
    "no node has a disk",
  );
  await alice.execProject({ lab: "/site", action: "start", node: "r1" });
  await run("/site", change);
  const before = await run("/site", look);
  expect(before).toContain("/root/note 2755 7 8 2 regular file");
  const running = await cli("export", "--format", "archive", "--with", "disks", "-t", "site.yaml");
  expect([running.code, running.err]).toEqual([1, expect.stringMatching(/stop these, which run or hibernate: r1/)]);
  await alice.execProject({ lab: "/site", action: "stop", node: "r1" });

  const exported = await cli("export", "--format", "archive", "--with", "disks", "-t", "site.yaml");
  expect(exported).toMatchObject({
    code: 0,
    out: "wrote site.labwright.tar.gz\n",
    err: expect.stringMatching(/disks of r1: .* before compression/),
  });
  await alice.destroyProject({ lab: "/site" });

  const imported = await cli("import-file", "site.labwright.tar.gz", "--output", "copy/lab.yaml");
  expect(imported).toMatchObject({ code: 0, err: expect.stringContaining("labwright disks --import site.labwright.tar.gz") });
  const uploaded = await cli("disks", "--import", "site.labwright.tar.gz", "--lab", "/copies/site");
  expect(uploaded).toMatchObject({ code: 0, out: expect.stringContaining("the next lab of yours at /copies/site has the disks") });
  expect((await bob.listDisks()).disks).toEqual([]);
  await alice.deployProject({ yaml: await readFile(join(work, "copy", "lab.yaml"), "utf8"), lab: "/copies/site" });
  await alice.execProject({ lab: "/copies/site", action: "start", node: "r1" });
  expect(await run("/copies/site", look)).toBe(before);
  await alice.destroyProject({ lab: "/copies/site" });
});

/** An archive as labwright export writes it, with one disk of these entries. */
function archive(entries: readonly TarWrite[], change: (manifest: Record<string, unknown>) => void = () => undefined): Buffer {
  const disk = tarArchive(entries);
  const listed = (data: Buffer) => ({ sha256: createHash("sha256").update(data).digest("hex"), bytes: data.length });
  const lab = Buffer.from(yaml);
  const manifest = {
    ...{ format: "labwright-archive", version: 2, name: "site", lab: "lab/lab.yaml" },
    files: { "disks/1-r1.tar": listed(disk), "lab/lab.yaml": listed(lab) },
    disks: [{ path: "disks/1-r1.tar", node: "r1", kind: "files", template: "linux", base: "" }],
  };
  change(manifest);
  return gzipSync(
    tarArchive([
      { name: "labwright-archive.json", data: Buffer.from(JSON.stringify(manifest)) },
      { name: "disks/1-r1.tar", data: disk },
      { name: "lab/lab.yaml", data: lab },
    ]),
  );
}

async function importing(name: string, data: Buffer): Promise<string> {
  await writeFile(join(work, name), data);
  const { code, err } = await cli("disks", "--import", name);
  expect(code).toBe(1);
  expect((await alice.listDisks()).disks).toEqual([]);
  return err;
}

test("disks of a hostile or damaged archive are refused, and nothing of them stays", async () => {
  const outside = join(work, "outside");
  await mkdir(outside);
  expect(await importing("up.tar.gz", archive([{ name: "../../x", data: Buffer.from("x") }]))).toContain("leads upwards");
  const through = [
    { name: "out", type: "2", link: outside },
    { name: "out/x", data: Buffer.from("x") },
  ];
  await writeFile(join(work, "link.tar.gz"), archive(through));
  expect((await cli("disks", "--import", "link.tar.gz")).code).toBe(0);
  await expect(readFile(join(outside, "x"))).rejects.toMatchObject({ code: "ENOENT" });
  for (const { disks: id } of (await alice.listDisks()).disks) await alice.removeDisks({ id });

  const good = archive([{ name: "x", data: Buffer.from("x".repeat(10_000)) }]);
  expect(await importing("cut.tar.gz", good.subarray(0, good.length - 40))).toMatch(/damaged/);
  const tar = gunzipSync(good);
  tar.write("y", tar.indexOf("xxxx"));
  expect(await importing("changed.tar.gz", gzipSync(tar))).toContain("another SHA-256 digest");
  const first = (manifest: Record<string, unknown>) => (manifest["disks"] as Record<string, unknown>[])[0]!;
  const forged = (fields: Record<string, unknown>) => archive([{ name: "x" }], (manifest) => Object.assign(first(manifest), fields));
  expect(await importing("kind.tar.gz", forged({ kind: "machine" }))).toContain("is not that of a node of template linux");
  expect(await importing("template.tar.gz", forged({ template: "nothing" }))).toContain("this host has no template nothing");
  expect(await importing("path.tar.gz", forged({ path: "lab/lab.yaml" }))).toContain("does not list the disk");
  const huge = { sha256: "0".repeat(64), bytes: 2 ** 50 };
  const bomb = archive([{ name: "x" }], (manifest) => {
    (manifest["files"] as Record<string, unknown>)["disks/1-r1.tar"] = huge;
  });
  expect(await importing("bomb.tar.gz", bomb)).toContain("another SHA-256 digest");
  const disks = [{ node: "r1", kind: "files", template: "linux", base: "", size_bytes: 2 ** 50, sha256: huge.sha256 }] as const;
  await expect(alice.importDisks({ lab: "/site", disks })).rejects.toMatchObject({
    code: "bad_request",
    message: expect.stringContaining("may have"),
  });
});

test("an upload continues where it was interrupted, and belongs to its user", async () => {
  const disk = tarArchive([{ name: "root/note", data: Buffer.from("n".repeat(5000)) }]);
  const about = { node: "r1", kind: "files", template: "linux", base: "", size_bytes: disk.length } as const;
  const disks = [{ ...about, sha256: createHash("sha256").update(disk).digest("hex") }];
  const { transfer: id } = await alice.importDisks({ lab: "/site", disks });
  const part = (offset: number, end: number) => ({ id, node: "r1", offset, base64: disk.subarray(offset, end).toString("base64") });
  expect(await alice.uploadDiskPart(part(0, 3000))).toEqual({ node: "r1", received_bytes: 3000 });
  expect(await alice.uploadDiskPart(part(512, 4000))).toEqual({ node: "r1", received_bytes: 3000 });
  await expect(alice.finishDiskImport({ id })).rejects.toMatchObject({ message: expect.stringContaining("3000 of") });
  await expect(bob.uploadDiskPart(part(3000, 4000))).rejects.toMatchObject({ code: "disks_not_found" });
  expect(await alice.importDisks({ lab: "/site", disks })).toMatchObject({ transfer: id, disks: [{ node: "r1", received_bytes: 3000 }] });
  await alice.uploadDiskPart(part(3000, disk.length));
  await expect(alice.uploadDiskPart({ ...part(0, 10), offset: disk.length })).rejects.toMatchObject({ code: "bad_request" });
  const { disks: kept, lab } = await alice.finishDiskImport({ id });
  expect(lab).toBe("/site");
  await expect(alice.finishDiskImport({ id })).rejects.toMatchObject({ code: "disks_not_found" });
  await expect(bob.exportDisks({ lab: "/site" })).rejects.toMatchObject({ code: "lab_not_found" });
  await alice.removeDisks({ id: kept });
});

test("only users who may operate a lab export its disks, and an export is for its user alone", async () => {
  await alice.deployProject({ yaml });
  await alice.execProject({ lab: "/site", action: "start", node: "r1" });
  await alice.execProject({ lab: "/site", action: "stop", node: "r1" });
  await expect(alice.importDisks({ lab: "/site", disks: [] })).rejects.toMatchObject({ code: "lab_exists" });
  await alice.setLabGrants({ lab: "/site", grants: [{ user: "bob", right: "view" }] });
  await expect(bob.exportDisks({ lab: "/site" })).rejects.toMatchObject({ code: "operation_not_allowed" });
  await alice.setLabGrants({ lab: "/site", grants: [{ user: "bob", right: "operate" }] });
  const { transfer: id, disks } = await bob.exportDisks({ lab: "/site" });
  await expect(alice.downloadDisk({ id, node: "r1" })).rejects.toMatchObject({ code: "disks_not_found" });
  const whole = await text((await bob.downloadDisk({ id, node: "r1" })).body as NodeJS.ReadableStream);
  const rest = await text((await bob.downloadDisk({ id, node: "r1", offset: "512" })).body as NodeJS.ReadableStream);
  expect([whole.length, rest]).toEqual([disks[0]!.size_bytes, whole.slice(512)]);
  expect(await bob.removeDiskTransfer({ id })).toEqual({ transfer: id });
  await expect(bob.downloadDisk({ id, node: "r1" })).rejects.toMatchObject({ code: "disks_not_found" });
  await alice.destroyProject({ lab: "/site" });
});
