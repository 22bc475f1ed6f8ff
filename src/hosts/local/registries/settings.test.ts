import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { credentialsPath, putCredential, readCredentials } from "./credentials.ts";
import { mayUse, registriesOf } from "./permissions.ts";
import { changeSettings, parseSettings, readSettings, SettingsError, settingsPath, usualLimits } from "./settings.ts";

const text = `# ours
default: registry.example
registries:
  registry.example: {users: all}
  secret.example:5000: {users: [ann], ca: /etc/ca.pem, mirrors: ["https://mirror.example/hub"]}
  lab.example: {users: admins, plain-http: true} # behind the firewall
limits: {minutes: 5}
`;

test("registries.yaml says which registries are open to whom", () => {
  const settings = parseSettings(text);
  expect(settings).toMatchObject({ defaultRegistry: "registry.example", limits: { ...usualLimits, minutes: 5 } });
  const ann = { name: "ann", role: "user" } as const;
  const bob = { name: "bob", role: "user" } as const;
  expect(registriesOf(settings, ann)).toEqual(["registry.example", "secret.example:5000"]);
  expect(registriesOf(settings, bob)).toEqual(["registry.example"]);
  expect(registriesOf(settings, { name: "root", role: "admin" })).toBe("any");
  expect(mayUse(settings, "other.example", bob)).toBe(false);
});

test.each([
  ["default: a.example", "default is not one of the registries"],
  ["registries: [a]", "registries is not a map"],
  ["registries: {'http://a': }", "is not the name of a registry"],
  ["registries: {a.example: {user: all}}", "has a key user; it may have users, ca, plain-http, mirrors"],
  ["registries: {a.example: {users: some}}", "must be all, admins, or a list of users"],
  ["registries: {a.example: {ca: ca.pem}}", "is not the absolute path of a file"],
  ["registries: {a.example: {mirrors: ['https://u:p@m.example']}}", "a URL with a password is refused"],
  ["registries: {a.example: {mirrors: ['ftp://m.example']}}", "is neither https:// nor http://"],
  ["limits: {minutes: 0}", "limits.minutes is not a positive whole number"],
  ["registries: {", "registries.yaml: "],
])("%s is refused: %s", (wrong, problem) => {
  expect(() => parseSettings(wrong)).toThrow(
    expect.objectContaining({ constructor: SettingsError, message: expect.stringContaining(problem) }),
  );
});

test("a change keeps comments, and a wrong one changes nothing", async () => {
  const state = await mkdtemp(join(tmpdir(), "labwright-settings-"));
  try {
    expect((await readSettings(state)).registries.size).toBe(0);
    await writeFile(settingsPath(state), text);
    await changeSettings(state, (document) => document.setIn(["registries", "new.example"], document.createNode({ users: ["bob"] })));
    const written = await readFile(settingsPath(state), "utf8");
    expect(written).toContain("# ours");
    expect(written).toContain("# behind the firewall");
    expect((await readSettings(state)).registries.get("new.example")).toMatchObject({ users: ["bob"] });
    await expect(changeSettings(state, (document) => document.set("default", "none.example"))).rejects.toThrow("default");
    expect(await readFile(settingsPath(state), "utf8")).toBe(written);
  } finally {
    await rm(state, { recursive: true });
  }
});

test("passwords are in a file that only its owner can read", async () => {
  const state = await mkdtemp(join(tmpdir(), "labwright-credentials-"));
  try {
    expect(await putCredential(state, "a.example", undefined)).toBe(false);
    await putCredential(state, "b.example", { user: "ci", password: "1" });
    await putCredential(state, "a.example", { user: "ci", password: "2" });
    expect((await stat(credentialsPath(state))).mode & 0o777).toBe(0o600);
    expect([...(await readCredentials(state)).keys()]).toEqual(["a.example", "b.example"]);
    expect(await putCredential(state, "a.example", undefined)).toBe(true);
    expect([...(await readCredentials(state)).keys()]).toEqual(["b.example"]);
  } finally {
    await rm(state, { recursive: true });
  }
});
