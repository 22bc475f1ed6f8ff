import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testedProgram } from "../files/tested-program.fixture.ts";
import type { AccountStore } from "../hosts/host-accounts.ts";
import { fileAccounts, readAccountFile } from "../hosts/local/accounts/file-accounts.ts";
import { openUsers, usersOf } from "../hosts/local/accounts/users.ts";
import { postgresStore } from "../service/store/postgres/postgres-store.ts";
import type { SharedStore } from "../service/store/store.ts";
import { cluster, postgresPrograms } from "../service/store/testing/cluster.fixture.ts";
import { returnAccounts, useSharedAccounts } from "./shared-accounts.ts";

let folder: string;
let file: string;
let cleanup: AsyncDisposableStack;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "labwright-accounts-"));
  file = join(folder, "users.json");
  cleanup = new AsyncDisposableStack();
});
afterEach(async () => {
  await cleanup.disposeAsync();
  await rm(folder, { recursive: true });
});

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(isTrue, { timeout: 5_000, interval: 5 }).toBe(true);
}

async function sharedStore(address: Parameters<typeof postgresStore>[0], installation: string): Promise<SharedStore> {
  const store = await postgresStore(address, { installation, log: () => {} });
  cleanup.defer(() => store.close());
  return store.shared!;
}

const twoFiles = async (): Promise<readonly [AccountStore, AccountStore]> => [fileAccounts(file), fileAccounts(file)];
const twoServices = async (): Promise<readonly [AccountStore, AccountStore]> => {
  const address = await (await cluster()).database();
  return [(await sharedStore(address, "one")).accounts, (await sharedStore(address, "two")).accounts];
};

describe.each([
  ["a file", twoFiles, true],
  ["PostgreSQL", twoServices, postgresPrograms !== undefined],
])("accounts in %s", (_name, open, isThere) => {
  test.skipIf(!isThere)("a user that one process adds, changes or removes is so in another one", async () => {
    const [first, second] = await open();
    const [one, two] = [usersOf(first), usersOf(second)];
    expect((await one.ensureFirstAdmin({ password: "first-admin" })).created).toBe(true);
    await until(async () => (await two.ensureFirstAdmin()).created === false);
    const before = two.accounts.mark();
    await one.put("ann", "ann-password", "user");
    await until(async () => (await two.find("ann"))?.role === "user");
    expect(two.accounts.mark()).not.toBe(before);
    expect(await two.check("ann", "ann-password")).toEqual({ name: "ann", role: "user" });
    const credential = two.accounts.find("ann")?.credential;
    await two.put("ann", "another-one", "viewer");
    await until(() => one.accounts.find("ann")?.credential !== credential && one.accounts.find("ann")?.role === "viewer");
    expect(await one.check("ann", "ann-password")).toBeNull();
    await one.remove("ann");
    await until(async () => (await two.find("ann")) === null);
    expect((await two.list()).map(({ name }) => name)).toEqual(["admin"]);
  });

  test.skipIf(!isThere)("identities keep their accounts, and the last admin stays", async () => {
    const [first, second] = await open();
    const [one, two] = [usersOf(first), usersOf(second)];
    await one.put("root", "root-password", "admin");
    const identity = { issuer: "https://id.example", subject: "7", names: ["ann"], role: "user" } as const;
    const isTaken = async () => false;
    expect(await one.signInExternal(identity, isTaken)).toBe("ann");
    await until(async () => (await two.find("ann")) !== null);
    expect(await two.signInExternal({ ...identity, role: "admin" }, isTaken)).toBe("ann");
    await until(async () => (await one.find("ann"))?.role === "admin");
    await one.setRole("ann", "user");
    await expect(one.remove("root")).rejects.toThrow("the last admin cannot be removed");
    await expect(one.setRole("root", "user")).rejects.toThrow("the last admin cannot be removed");
    expect(await one.find("root")).toEqual({ name: "root", role: "admin" });
  });
});

describe.skipIf(postgresPrograms === undefined)("the accounts of services on one database", () => {
  test("changes of two services at once are all kept, and one admin of two stays", async () => {
    const [one, two] = (await twoServices()).map(usersOf) as [ReturnType<typeof usersOf>, ReturnType<typeof usersOf>];
    const names = Array.from({ length: 6 }, (_, at) => `user${at}`);
    await Promise.all([
      one.put("a", "a-password", "admin"),
      two.put("b", "b-password", "admin"),
      ...names.map((name, at) => (at % 2 === 0 ? one : two).put(name, `${name}-pass`, "user")),
    ]);
    await until(async () => (await one.list()).length === 8 && (await two.list()).length === 8);
    const removed = await Promise.allSettled([one.remove("a"), two.remove("b")]);
    expect(removed.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await until(async () => (await two.list()).filter(({ role }) => role === "admin").length === 1);
  });

  test("those of a state directory move there once, also after a crash between the steps, and none is lost", async () => {
    const address = await (await cluster()).database();
    const shared = await sharedStore(address, "one");
    const before = openUsers(file);
    await before.put("root", "root-password", "admin");
    await before.put("ann", "ann-password", "user");
    const original = await readFile(file, "utf8");
    const warnings: string[] = [];
    const use = () => useSharedAccounts(file, shared, (text) => warnings.push(text));
    await use();
    const users = usersOf(shared.accounts);
    expect(await users.check("ann", "ann-password")).toEqual({ name: "ann", role: "user" });
    expect(readAccountFile(file)).toEqual({ store: shared.shown });
    expect((await stat(join(folder, "users-before-store.json"))).mode & 0o777).toBe(0o600);
    // Cut off after the database had them, before the file was replaced.
    await writeFile(file, original);
    await use();
    // And after the file was moved away.
    await rm(file);
    await use();
    expect([readAccountFile(file), warnings]).toEqual([{ store: shared.shown }, []]);
    // Another machine joins with accounts of its own.
    const other = join(folder, "other.json");
    await openUsers(other).put("eve", "eve-password", "admin");
    await useSharedAccounts(other, shared, (text) => warnings.push(text));
    expect(warnings).toEqual([expect.stringMatching(/these of the state directory are not among them, and stay in .*-2.json: eve$/)]);
    expect((await users.list()).map(({ name }) => name)).toEqual(["ann", "root"]);
    // The file of an earlier start is not replaced.
    expect(await readFile(join(folder, "users-before-store-2.json"), "utf8")).toContain("eve");
    expect(await readFile(join(folder, "users-before-store.json"), "utf8")).toBe(original);
    expect((await readdir(folder)).filter((name) => name.startsWith("users-before-store"))).toHaveLength(2);
    // Without the database, nothing makes accounts in their place.
    await expect(openUsers(file).ensureFirstAdmin()).rejects.toThrow(`the accounts are in the database ${shared.shown}: add --store`);
  });

  test("they return to a state directory, which must not have others", async () => {
    const accounts = [{ name: "root", role: "admin", hash: "scrypt$1$1$1$a$b" }] as const;
    await returnAccounts(file, accounts);
    expect(readAccountFile(file)).toEqual({ accounts });
    await openUsers(file).put("eve", "eve-password", "user");
    await expect(returnAccounts(file, accounts)).rejects.toThrow(/accounts that the database does not have \(eve\): move the file away/);
    expect(readAccountFile(file)).toMatchObject({ accounts: [{ name: "eve" }, { name: "root" }] });
  });

  test("labwright users changes those of a running service with --store, and says so without it", async () => {
    const address = await (await cluster()).database();
    const shared = await sharedStore(address, "one");
    await useSharedAccounts(file, shared, () => {});
    const users = usersOf(shared.accounts);
    await users.put("root", "root-password", "admin");
    const run = (...args: readonly string[]) =>
      new Promise<{ readonly code: number; readonly text: string }>((resolve) => {
        const env = { PATH: process.env.PATH, HOME: folder, LABWRIGHT_STATE_DIR: folder, LABWRIGHT_PASSWORD: "a long password" };
        execFile(process.execPath, [testedProgram("server/users"), ...args], { env }, (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : 1, text: stdout + stderr }),
        );
      });
    expect(await run("add", "ann")).toMatchObject({ code: 1, text: expect.stringContaining("add --store") });
    expect(await run("add", "ann", "--store", address.url)).toEqual({ code: 0, text: "ann: added as user\n" });
    await until(async () => (await users.find("ann")) !== null);
    expect(await users.check("ann", "a long password")).toEqual({ name: "ann", role: "user" });
    expect(await run("list", "--store", address.url)).toMatchObject({ text: expect.stringMatching(/^ann +user\nroot +admin\n$/) });
    expect(await run("list", "--store", "postgres://labwright@127.0.0.1:1/none")).toMatchObject({
      code: 1,
      text: expect.stringMatching(/^error: /),
    });
    expect(existsSync(file)).toBe(true);
  });
});
