import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { testedProgram } from "../../../files/tested-program.fixture.ts";
import { testDirectory } from "../testing/test-directory.fixture.ts";
import { openUsers } from "./users.ts";

/** `labwright users` as a program of its own. */

let state: string;
beforeEach(async () => {
  state = await testDirectory("accounts");
});
afterEach(async () => rm(state, { recursive: true, force: true }));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function users(args: readonly string[], password = "long enough"): Promise<Ran> {
  const program = testedProgram("server/users");
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, HOME: state, LABWRIGHT_STATE_DIR: state };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [program, ...args, "--password-stdin"], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 255), stdout, stderr }),
    );
    // A command that needs no password may end before the password is written.
    child.stdin?.on("error", () => {});
    child.stdin?.end(`${password}\n`);
  });
}

test("new passwords have 8 characters and are not the name; accounts with a shorter one go on working", async () => {
  const accounts = openUsers(join(state, "users.json"));
  await accounts.put("root", "short", "admin");
  for (const [name, password, why] of [
    ["alexandra", "", "is empty or only spaces"],
    ["alexandra", "          ", "is empty or only spaces"],
    ["alexandra", "7 chars", "has 7 characters; choose one with at least 8"],
    ["alexandra", "Alexandra", "is the name of the user"],
    ["alexandra", "\u{1f511}".repeat(7), "has 7 characters"],
  ] as const) {
    const refused = await users(["add", name], password);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`error: the password ${why}`)]);
    expect(await accounts.find(name)).toBeNull();
  }
  expect(await users(["passwd", "root"], "tiny")).toMatchObject({ code: 1, stderr: expect.stringContaining("at least 8") });
  expect(await accounts.check("root", "short")).toEqual({ name: "root", role: "admin" });
  expect((await users(["add", "alexandra"], "8 chars!")).code).toBe(0);
  expect(await accounts.check("alexandra", "8 chars!")).toEqual({ name: "alexandra", role: "user" });
});

test("remove lists the labs and kept disks that stay, and add warns of those that the new account owns", async () => {
  const define = async (number: number, file: string, path: string, owner: string, text?: string) => {
    const id = `00000000-0000-4000-8000-00000000000${number}`;
    const directory = join(state, "labs", id);
    await mkdir(directory, { recursive: true });
    const lists = { nodes: [], networks: [], links: [], texts: [], trafficFilters: [] };
    const lab = { version: 1, id, path, name: "x", owner, locked: false, next: { node: 1, network: 1, link: 1 }, ...lists };
    await writeFile(join(directory, file), text ?? JSON.stringify(lab));
    return id;
  };
  await define(1, "lab.json", "/b", "ann");
  await define(2, "lab.json", "/a", "ann");
  const kept = await define(3, "kept.json", "/c", "ann");
  await define(4, "lab.json", "/of-bob", "bob");
  await define(5, "lab.json", "", "", "{");
  await define(6, "lab.json", "", "", "{");
  await define(6, "lab.last.json", "/torn", "ann");
  expect((await users(["add", "root", "--role", "admin"])).stderr).toBe("");
  const what = "3 labs (/a, /b, /torn) and the kept disks of 1 lab (/c)";
  const added = await users(["add", "ann"]);
  expect([added.code, added.stdout]).toEqual([0, "ann: added as user\n"]);
  expect(added.stderr).toContain(`warning: ann now owns what an earlier account of this name left: ${what}.`);
  const removed = await users(["remove", "ann"]);
  expect([removed.code, removed.stdout]).toEqual([0, "ann: removed\n"]);
  expect(removed.stderr).toContain(`still there: ${what}; a new account ann would own them.`);
  for (const hint of ["labwright destroy --lab PATH", "labwright disks, as an admin"]) expect(removed.stderr).toContain(hint);
  const again = await users(["add", "ann", "--format", "json"]);
  expect(JSON.parse(again.stdout)).toEqual({
    name: "ann",
    role: "user",
    labs: ["/a", "/b", "/torn"],
    kept_disks: [{ id: kept, lab: "/c" }],
  });
});

test("list without accounts names the state directory, and the command for a host that has its own users", async () => {
  const none = await users(["list"]);
  expect(none).toMatchObject({ code: 0, stdout: "" });
  expect(none.stderr).toContain(`no accounts in ${state}`);
  expect(none.stderr).toContain("labwright host --users");
});
