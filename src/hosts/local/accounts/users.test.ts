import crypto, { type ScryptOptions } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openUsers } from "./users.ts";

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "labwright-users-"));
  file = join(directory, "users.json");
});
afterEach(async () => rm(directory, { recursive: true }));

test("the first admin gets a random password, which is returned once, and is created only once", async () => {
  const users = openUsers(file);
  const { created, password } = await users.ensureFirstAdmin();
  expect(created).toBe(true);
  expect(password).toMatch(/^[\w-]{20}$/);
  expect(await users.check("admin", password!)).toEqual({ name: "admin", role: "admin" });
  expect(await users.check("admin", `${password}x`)).toBeNull();
  expect(await users.ensureFirstAdmin()).toEqual({ created: false });
  expect(await users.ensureFirstAdmin({ password: "other" })).toEqual({ created: false });
  expect(await users.check("admin", "other")).toBeNull();
});

test("a given first password is used and not returned", async () => {
  const users = openUsers(file);
  expect(await users.ensureFirstAdmin({ password: "given" })).toEqual({ created: true });
  expect(await users.check("admin", "given")).not.toBeNull();
});

test("only the owner can read the file, and it contains no password", async () => {
  const users = openUsers(file);
  await users.put("ann", "a secret", "viewer");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, "utf8")).not.toContain("a secret");
});

test("users are added, changed and removed, also by another process, and the change is visible at once", async () => {
  const [one, two] = [openUsers(file), openUsers(file)];
  expect(await one.find("ann")).toBeNull();
  await two.put("admin", "x", "admin");
  await two.put("ann", "first", "user");
  expect(await one.check("ann", "first")).toEqual({ name: "ann", role: "user" });
  await two.put("ann", "second", "viewer");
  expect(await one.check("ann", "first")).toBeNull();
  expect(await one.check("ann", "second")).toEqual({ name: "ann", role: "viewer" });
  await Promise.all([one.put("bob", "x", "user"), one.put("cid", "x", "user")]);
  expect((await two.list()).map(({ name }) => name)).toEqual(["admin", "ann", "bob", "cid"]);
  await one.remove("ann");
  expect(await two.find("ann")).toBeNull();
});

/** The parameters of the scrypt calls during `work`: the cost of a guess, measured without a clock. */
async function workOf(act: () => Promise<unknown>): Promise<readonly object[]> {
  const asked: object[] = [];
  const { scrypt, scryptSync } = crypto;
  const noting = (...args: Parameters<typeof scrypt>) => {
    const [, salt, length, { N, r, p }] = args as unknown as [string, Buffer, number, ScryptOptions];
    asked.push({ salt: salt.length, length, N, r, p });
    return scrypt(...args);
  };
  Object.assign(crypto, {
    scrypt: noting,
    scryptSync: () => {
      throw new Error("a password is checked on the event loop");
    },
  });
  syncBuiltinESMExports();
  try {
    await act();
  } finally {
    Object.assign(crypto, { scrypt, scryptSync });
    syncBuiltinESMExports();
  }
  return asked;
}

test("an unknown user costs as much work as a wrong password, and as a right one, from the first guess on; none of it on the event loop", async () => {
  const users = openUsers(file);
  await users.put("ann", "secret", "user");
  const unknown = await workOf(async () => expect(await users.check("nobody", "wrong")).toBeNull());
  const wrong = await workOf(async () => expect(await users.check("ann", "wrong")).toBeNull());
  const right = await workOf(async () => expect(await users.check("ann", "secret")).not.toBeNull());
  expect(wrong).toHaveLength(1);
  expect([unknown, right]).toEqual([wrong, wrong]);
});

test("impossible names and empty passwords are refused; an unreadable file is an error", async () => {
  const users = openUsers(file);
  await expect(users.put("../x", "y", "user")).rejects.toMatchObject({ code: "bad_request" });
  await expect(users.put("ann", "", "user")).rejects.toMatchObject({ code: "bad_request" });
  await writeFile(file, "{");
  await expect(users.check("ann", "y")).rejects.toMatchObject({ code: "host_error" });
});

test("an account of a provider is found by issuer and subject only, has no password, and follows the role of the provider", async () => {
  const users = openUsers(file);
  await users.put("ann", "ann-password", "admin");
  const free = async () => false;
  const ann = { issuer: "https://id.example", subject: "1", names: ["Ann", "x"], role: "user" } as const;
  expect(await users.signInExternal(ann, free)).toBe("ann-2");
  expect(await users.signInExternal({ ...ann, issuer: "https://id.example/" }, free)).toBe("ann-3");
  expect(await users.signInExternal({ ...ann, subject: "01", names: ["  "] }, async (name) => name === "user")).toBe("user-2");
  const before = users.accounts.find("ann-2")!;
  expect(await users.signInExternal({ ...ann, names: ["ann-3"], role: "admin" }, free)).toBe("ann-2");
  // The credential stays, so sessions do too.
  expect(users.accounts.find("ann-2")).toEqual({ ...before, role: "admin" });
  expect(await users.check("ann-2", "")).toBeNull();
  await expect(users.put("ann-2", "a-password", "user")).rejects.toThrow(/signs in at https:\/\/id\.example/);
  await users.remove("ann-2");
  expect(await users.signInExternal(ann, async (name) => name === "ann-2")).toBe("ann-4");
  expect(await users.list()).toContainEqual({ name: "ann-3", role: "user", issuer: "https://id.example/" });
  // A provider may take the last admin's role: it must not stay because it is the last one.
  await users.signInExternal({ ...ann, role: "admin" }, free);
  await users.setRole("ann", "user");
  expect(await users.signInExternal({ ...ann, role: "viewer" }, free)).toBe("ann-4");
  expect(users.accounts.find("ann-4")?.role).toBe("viewer");
});

test.each(["admin", "Root", "LEASE"])("the name %s of a provider does not become that of an account", async (name) => {
  const identity = { issuer: "https://id.example", subject: "1", names: [name], role: "user" } as const;
  expect(await openUsers(file).signInExternal(identity, async () => false)).toBe(`${name.toLowerCase()}-2`);
});
