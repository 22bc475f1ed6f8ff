import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cli, ended, onTerminal, password, run, runProcess, until, useService, write } from "./cli.fixture.ts";

useService();

test("an unknown certificate is refused without a terminal, and its fingerprint is shown", async () => {
  const fresh = { XDG_CONFIG_HOME: join(cli.folder, "config"), LABWRIGHT_PASSWORD: password };
  const { code, stderr } = await run(["login", "--url", cli.url, "--user", "admin"], { env: fresh });
  expect([code, stderr]).toEqual([1, expect.stringContaining("(tls_untrusted)")]);
  expect(stderr.replaceAll(":", "").toLowerCase()).toContain(cli.fingerprint.replaceAll(":", "").toLowerCase());
  expect(existsSync(join(cli.folder, "config"))).toBe(false);
});

test("a certificate other than the pinned one is refused before anything is sent, and a malformed pin is a usage error", async () => {
  const { code, stderr } = await run(["labs", "--url", cli.url, "--pin", "ab".repeat(32)]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("(tls_pin_mismatch)")]);
  expect(stderr).toContain("labwright login --pin ");
  const mistyped = await run(["labs", "--url", cli.url, "--pin", "AB:CD"]);
  expect([mistyped.code, mistyped.stderr]).toEqual([1, expect.stringContaining('--pin takes a SHA-256 fingerprint, not "AB:CD"')]);
  expect(mistyped.stderr).toContain("labwright serve prints the fingerprint");
});

test("a wrong password fails with its code, and no output contains the password", async () => {
  const { code, stdout, stderr } = await run(["login", "--url", cli.url, "--pin", cli.fingerprint, "--user", "eve"], {
    env: { LABWRIGHT_PASSWORD: "guess-4711" },
  });
  expect([code, stderr]).toEqual([1, expect.stringContaining("(invalid_credentials)")]);
  expect(stdout + stderr).not.toContain("guess-4711");
});

test("on a terminal login asks to confirm the fingerprint, reads the password without echo, and stores pin and token", async () => {
  const config = join(cli.folder, "config");
  const { child, seen } = onTerminal(["login", "--url", cli.url], { XDG_CONFIG_HOME: config });
  await until(
    () => "the question",
    () => seen.stdout.includes("Pin it [y/N]"),
  );
  child.stdin?.write("y\n");
  await until(
    () => "the user name",
    () => seen.stdout.includes("User name"),
  );
  child.stdin?.write("admin\n");
  await until(
    () => "the password",
    () => seen.stdout.includes("Password of admin: "),
  );
  child.stdin?.write(`${password}\n`);
  expect(await ended(child), seen.stdout).toBe(0);
  expect(seen.stdout).not.toContain(password);
  const file = join(config, "labwright/credentials.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
    current: cli.url,
    logins: [{ url: cli.url, username: "admin", token: expect.any(String) }],
  });
  expect(readFileSync(file, "utf8")).not.toContain(password);
  expect((await run(["logout"], { env: { XDG_CONFIG_HOME: config } })).code).toBe(0);
  expect((await run(["labs"], { env: { XDG_CONFIG_HOME: config } })).stderr).toContain("(unauthenticated)");
});

test("an expired session is renewed if a password is given, but a change is not repeated", async () => {
  const config = join(cli.folder, "config");
  const env = { XDG_CONFIG_HOME: config, LABWRIGHT_URL: cli.url, LABWRIGHT_PIN: cli.fingerprint, LABWRIGHT_TOKEN: "stale" };
  write("renewed");
  expect((await run(["labs"], { env })).stderr).toContain("(unauthenticated)");
  const renewing = { ...env, LABWRIGHT_USER: "admin", LABWRIGHT_PASSWORD: password };
  expect((await run(["labs"], { env: renewing })).code).toBe(0);
  expect((await run(["deploy"], { env: renewing })).stderr).toContain("(unauthenticated)");
  expect((await run(["labs"], { env: { ...renewing, LABWRIGHT_TOKEN: "lw_revoked" } })).stderr).toContain("LABWRIGHT_TOKEN is not valid");
  expect((await run(["logout"], { env: renewing })).stderr).toContain("unset LABWRIGHT_TOKEN first");
});

test("users of the embedded host are added, changed and removed on its machine, except the last admin", async () => {
  const own = { LABWRIGHT_STATE_DIR: join(cli.folder, "state") };
  mkdirSync(own.LABWRIGHT_STATE_DIR);
  const users = (args: readonly string[], input = "") => runProcess(["users", ...args], { env: own, input });
  expect(await users(["add", "root", "--role", "admin", "--password-stdin"], "secret-1\n")).toMatchObject({
    code: 0,
    stdout: "root: added as admin\n",
  });
  expect((await users(["add", "ann", "--password-stdin"], "secret-2\n")).code).toBe(0);
  expect((await users(["add", "ann", "--password-stdin"], "secret-3\n")).stderr).toContain("user ann exists already");
  expect((await users(["role", "ann", "viewer"])).code).toBe(0);
  expect(JSON.parse((await users(["list", "--format", "json"])).stdout)).toEqual([
    { name: "ann", role: "viewer" },
    { name: "root", role: "admin" },
  ]);
  expect((await users(["remove", "root"])).stderr).toContain("the last admin cannot be removed");
  expect((await users(["passwd", "nobody", "--password-stdin"], "x\n")).stderr).toContain("there is no user nobody");
  expect(await users(["remove", "ann"])).toMatchObject({ code: 0, stdout: "ann: removed\n", stderr: "" });
});
