import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type LabwrightClient } from "../../src/client/connect.ts";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { openUsers } from "../../src/hosts/local/accounts/users.ts";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import { sqliteStore } from "../../src/service/store/sqlite.ts";
import type { Store } from "../../src/service/store/store.ts";
import { type Served, serve } from "./served.ts";

/** Kept disks and labs without a record, over the wire: the SDK and the command line on the embedded host. */

const lab = "/campus";
const yaml = "name: campus\nnodes:\n  r1: {template: linux, start: false}\n  r2: {template: linux, start: false}\n";
let local: TestLocalHost;
let store: Store;
let served: Served;
let work: string;
const clients: LabwrightClient[] = [];
let admin: LabwrightClient;
let alice: LabwrightClient;
let bob: LabwrightClient;

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-disks-"));
  local = await testLocalHost();
  const users = openUsers(join(local.paths.state, "users.json"));
  for (const name of ["alice", "bob"]) await users.put(name, "test-password", "user");
  store = sqliteStore(":memory:");
  served = await serve({ host: local.host, service: { store } });
  const client = (username: string, password: string) => {
    const made = connect({ url: served.url, pin: served.fingerprint, credentials: { username, password } });
    clients.push(made);
    return made;
  };
  admin = client("admin", "test");
  alice = client("alice", "test-password");
  bob = client("bob", "test-password");
});
afterAll(async () => {
  for (const client of clients) client[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await rm(work, { recursive: true });
});

/** labwright, as the user of this client. */
async function cli(
  client: LabwrightClient,
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  await client.getSession();
  const main = testedProgram("cli/main");
  const env = { ...process.env, LABWRIGHT_TOKEN: client.token, XDG_CONFIG_HOME: work };
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args, "--url", served.url, "--pin", served.fingerprint], { env, cwd: work }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

async function kept(owner: LabwrightClient): Promise<string> {
  await owner.deployProject({ yaml });
  await owner.destroyProject({ lab, wipe: false });
  const { disks } = await owner.listDisks();
  return disks.find((one) => one.lab === lab)!.disks;
}

test("kept disks are listed with their lab, owner, nodes and size, and removed by their id", async () => {
  const id = await kept(alice);
  const [disks] = (await alice.listDisks()).disks;
  expect(disks).toMatchObject({ disks: id, lab, owner: "alice", nodes: [{ node: "r1" }, { node: "r2" }] });
  expect(disks!.size_bytes).toBe(disks!.nodes.reduce((sum, { size_bytes: size }) => sum + size, 0));
  expect(Math.abs(Date.now() - Date.parse(disks!.kept_at))).toBeLessThan(600_000);
  expect((await bob.listDisks()).disks).toEqual([]);
  await expect(bob.removeDisks({ id })).rejects.toMatchObject({ status: 404, code: "disks_not_found" });
  expect((await admin.listDisks()).disks).toEqual([disks]);
  expect(await alice.removeDisks({ id })).toEqual({ disks: id });
  await expect(alice.removeDisks({ id })).rejects.toMatchObject({ status: 404, code: "disks_not_found" });
});

test("disks of a lab that was made of them are not kept any more", async () => {
  const id = await kept(alice);
  await alice.deployProject({ yaml });
  expect((await alice.listDisks()).disks).toEqual([]);
  await expect(alice.removeDisks({ id })).rejects.toMatchObject({ code: "disks_not_found" });
  await alice.destroyProject({ lab });
});

test("labwright disks lists them, and removes them after a yes", async () => {
  const id = await kept(alice);
  const listed = await cli(alice, "disks");
  expect([listed.code, listed.out]).toEqual([0, expect.stringMatching(new RegExp(`DISKS .*LAB[\\s\\S]*${id} +/campus +alice +r1, r2`))]);
  expect((await cli(bob, "disks")).out).toBe("no disks are kept\n");
  expect(await cli(bob, "disks", "--remove", id, "--yes")).toMatchObject({
    code: 1,
    err: expect.stringContaining("there are no kept disks"),
  });
  expect(await cli(alice, "disks", "--remove", id)).toMatchObject({
    code: 1,
    err: expect.stringContaining("/campus (alice) permanently?"),
  });
  expect(JSON.parse((await cli(admin, "disks", "--format", "json")).out).disks).toMatchObject([{ disks: id, owner: "alice" }]);
  expect(await cli(admin, "disks", "--remove", id, "--yes")).toMatchObject({ code: 0, out: `removed ${id}\n` });
  expect((await alice.listDisks()).disks).toEqual([]);
});

test("labwright adopt gives a lab without a record an owner, and labwright destroy removes one", async () => {
  await alice.deployProject({ yaml });
  store.labs.delete(lab);
  expect(await cli(alice, "status", "--lab", lab)).toMatchObject({ code: 1, err: expect.stringContaining("lab_not_found") });
  expect(await cli(alice, "adopt", lab)).toMatchObject({ code: 1, err: expect.stringContaining("operation_not_allowed") });
  expect((await cli(admin, "labs")).out).toMatch(/\/campus +load/);
  expect((await cli(admin, "adopt")).err).toContain("adopt needs the path of a lab");
  expect(await cli(admin, "adopt", lab, "--owner", "alice")).toMatchObject({ code: 0, out: "/campus belongs to alice: 2 nodes\n" });
  expect((await alice.listLabs()).labs).toMatchObject([{ lab, owner: "alice", right: "own", nodes: 2 }]);
  await expect(admin.adoptLab({ lab })).rejects.toMatchObject({ status: 409, code: "lab_exists" });
  expect((await alice.planProject({ lab })).actions).toEqual([]);

  store.labs.delete(lab);
  expect(await cli(admin, "destroy", "--lab", lab, "--yes")).toMatchObject({ code: 0, out: "destroyed /campus\n" });
  await expect(admin.adoptLab({ lab })).rejects.toMatchObject({ status: 404, code: "lab_not_found" });
});
