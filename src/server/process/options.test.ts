import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ServeOptions, serveOptions } from "./options.ts";
import { removeServiceFile, writeServiceFile } from "./service-file.ts";
import { holdStateDir } from "./state-lock.ts";

test("without flags it listens on loopback only", () => {
  expect(serveOptions([], {}, "/var/lib/labwright")).toEqual({
    listen: "127.0.0.1",
    port: 8443,
    anyPort: false,
    host: "embedded",
    stateDir: "/var/lib/labwright",
    names: [],
    resume: "never",
    adopt: false,
    nat: { allow: [], deny: [] },
    hostsFile: "/etc/hosts",
    bindAllow: [],
    importUrls: [],
    logLevel: "info",
  });
});

test("nodes start again after a reboot only if an option requests it, and only on the embedded host", () => {
  expect(serveOptions(["--resume", "always"], {}, "/s")).toMatchObject({ resume: "always" });
  expect(serveOptions([], { LABWRIGHT_RESUME: "always" }, "/s")).toMatchObject({ resume: "always" });
  expect(() => serveOptions(["--resume", "sometimes"], {}, "/s")).toThrow(/--resume takes one of always, never/);
  expect(() => serveOptions(["--resume", "always", "--host", "memory"], {}, "/s")).toThrow(/--resume always is for --host embedded/);
});

test("--nat-allow and --nat-deny take networks and addresses, and refuse anything else", () => {
  const flags = ["--nat-allow", "10.1.2.3/16", "--nat-allow", "192.168.1.7", "--nat-deny", "0.0.0.0/0"];
  expect(serveOptions(flags, { LABWRIGHT_NAT_ALLOW: "10.0.0.0/8" }, "/s")).toMatchObject({
    nat: { allow: ["10.1.0.0/16", "192.168.1.7/32"], deny: ["0.0.0.0/0"] },
  });
  expect(serveOptions([], { LABWRIGHT_NAT_ALLOW: "10.0.0.0/8,172.16.5.0/24", LABWRIGHT_NAT_DENY: "255.255.255.255" }, "/s")).toMatchObject({
    nat: { allow: ["10.0.0.0/8", "172.16.5.0/24"], deny: ["255.255.255.255/32"] },
  });
  for (const wrong of ["10.0.0.0/33", "10.0.0", "::1", "10.0.0.256", "10.0.0.0/8; accept", "", "lan"]) {
    expect(() => serveOptions(["--nat-allow", wrong], {}, "/s")).toThrow(/--nat-allow takes an IPv4 network/);
  }
  expect(() => serveOptions(["--nat-deny", "10.0.0.0/8", "--host", "memory"], {}, "/s")).toThrow(/--nat-deny are for --host embedded/);
});

test("a machine without labs is one of a fleet, and takes no options for nodes", () => {
  const fleet = ["--store", "postgres://labwright@db.example/labwright", "--advertise", "https://192.0.2.7:8444"];
  expect(serveOptions(fleet, { LABWRIGHT_HOST: "none" }, "/s")).toMatchObject({ host: "none", bindAllow: [] });
  expect(serveOptions(["--host", "none", ...fleet], {}, "/s")).not.toHaveProperty("hostsFile");
  expect(() => serveOptions(["--host", "none"], {}, "/s")).toThrow(/--host none needs --store and --advertise: without labs of its own/);
  expect(() => serveOptions(["--host", "none", ...fleet.slice(0, 2)], {}, "/s")).toThrow(/--host none needs --store and --advertise/);
  expect(() => serveOptions(["--host", "none", "--resume", "always", ...fleet], {}, "/s")).toThrow(/is for --host embedded/);
  const oidc = ["--oidc-issuer", "https://id.example", "--oidc-client-id", "labwright"];
  expect(serveOptions(["--host", "none", ...fleet, ...oidc], {}, "/s")).toMatchObject({ oidc: { issuer: "https://id.example" } });
});

test("the file for names of nodes is /etc/hosts, another one or none, on the embedded host alone", () => {
  expect(serveOptions([], { LABWRIGHT_HOSTS_FILE: "none" }, "/s")).not.toHaveProperty("hostsFile");
  expect(serveOptions(["--hosts-file", "/run/hosts"], { LABWRIGHT_HOSTS_FILE: "none" }, "/s")).toMatchObject({ hostsFile: "/run/hosts" });
  expect(serveOptions(["--host", "memory"], {}, "/s")).not.toHaveProperty("hostsFile");
  expect(() => serveOptions(["--hosts-file", "hosts"], {}, "/s")).toThrow('--hosts-file takes an absolute path or none, not "hosts"');
  expect(() => serveOptions(["--hosts-file", "/h", "--host", "memory"], {}, "/s")).toThrow(/--hosts-file is for --host embedded/);
});

test("directories for binds are absolute, and for the embedded host alone", () => {
  expect(serveOptions(["--bind-allow", "/srv/a", "--bind-allow", "/b"], { LABWRIGHT_BIND_ALLOW: "/c" }, "/s")).toMatchObject({
    bindAllow: ["/srv/a", "/b"],
  });
  expect(serveOptions([], { LABWRIGHT_BIND_ALLOW: "/c:/d" }, "/s")).toMatchObject({ bindAllow: ["/c", "/d"] });
  expect(() => serveOptions(["--bind-allow", "srv"], {}, "/s")).toThrow('--bind-allow takes an absolute path, not "srv"');
  expect(() => serveOptions(["--bind-allow", "/srv", "--host", "memory"], {}, "/s")).toThrow(/--bind-allow is for --host embedded/);
});

test("hosts for imports by URL are names or addresses, and none without the flag", () => {
  const { importUrls } = serveOptions(
    ["--import-url-allow", "Git.example", "--import-url-allow", "http://10.0.0.1:8000"],
    {},
    "/s",
  ) as ServeOptions;
  expect(importUrls).toMatchObject([
    { protocol: "https:", host: "git.example", port: "443", isAddress: false },
    { protocol: "http:", host: "10.0.0.1", port: "8000", isAddress: true },
  ]);
  expect(serveOptions([], { LABWRIGHT_IMPORT_URL_ALLOW: "a.example,*.b.example" }, "/s")).toMatchObject({
    importUrls: [{}, { isWildcard: true }],
  });
  expect(() => serveOptions(["--import-url-allow", "a/b"], {}, "/s")).toThrow(/--import-url-allow takes a host such as/);
});

test("flags override the environment", () => {
  const env = {
    LABWRIGHT_PORT: "1",
    LABWRIGHT_HOST: "embedded",
    LABWRIGHT_STATE_DIR: "/s",
    LABWRIGHT_NAMES: "a,b",
    LABWRIGHT_LISTEN: "::",
  };
  expect(serveOptions(["--port", "0", "--host=memory", "--name", "c", "--name", "d"], env, "/s")).toMatchObject({
    listen: "::",
    port: 0,
    host: "memory",
    stateDir: "/s",
    names: ["c", "d"],
  });
  expect(serveOptions([], env, "/s")).toMatchObject({ port: 1, names: ["a", "b"] });
});

test("an EVE-NG host is named by its URL, and plain HTTP needs --host-plain-http", () => {
  const eve = (...args: string[]) => serveOptions(["--host", "eve", ...args], {}, "/s");
  expect(eve("--url", "https://eve.lab")).toMatchObject({ host: "eve", eve: { url: "https://eve.lab", plainHttp: false } });
  for (const pin of [`${"AB:".repeat(31)}AB`, "ab".repeat(32), `sha256:${"ab".repeat(32)}`]) {
    expect(eve("--host-url", "https://eve.lab", "--host-pin", pin)).toMatchObject({ eve: { pin: "ab".repeat(32) } });
  }
  for (const pin of ["ab:cd", "", "x".repeat(64), "ab".repeat(33)]) {
    expect(() => eve("--host-url", "https://eve.lab", "--host-pin", pin)).toThrow(/--host-pin takes the SHA-256 fingerprint .* not "/);
  }
  expect(() => serveOptions(["--host=eve", "--url", "https://eve.lab"], { LABWRIGHT_HOST_PIN: "ab" }, "/s")).toThrow("--host-pin takes");
  expect(eve("--host-url", "http://eve.lab", "--host-plain-http")).toMatchObject({ eve: { url: "http://eve.lab", plainHttp: true } });
  expect(serveOptions(["--host=eve"], { LABWRIGHT_HOST_URL: "https://eve.lab" }, "/s")).toMatchObject({ eve: { url: "https://eve.lab" } });
  expect(() => eve()).toThrow("--host eve needs --host-url");
  for (const url of ["https://u@eve.lab", "https://:p@eve.lab", "https://user:hush@eve.lab"]) {
    expect(() => eve("--host-url", url)).toThrow(/^--host-url contains a user name or a password(?!.*hush)/);
  }
  for (const rest of ["/lab", "/?a=b", "?", "#x"])
    expect(() => eve("--host-url", `https://eve.lab${rest}`)).toThrow("address of the host alone");
  expect(eve("--host-url", "https://eve.lab:8443/")).toMatchObject({ eve: { url: "https://eve.lab:8443/" } });
  expect(() => eve("--host-url", "http://eve.lab")).toThrow("unencrypted");
  expect(() => eve("--host-url", "eve.lab")).toThrow("takes a URL");
  expect(() => serveOptions(["--host-url", "https://eve.lab"], {}, "/s")).toThrow("--host eve, not embedded");
  expect(() => serveOptions(["--host", "pnetlab"], {}, "/s")).toThrow("--host eve");
});

test("the lifetimes of a token are given with a unit", () => {
  expect(serveOptions(["--session-idle", "90s"], { LABWRIGHT_SESSION_LIFETIME: "2d" }, "/s")).toMatchObject({
    sessionIdleMs: 90_000,
    sessionAbsoluteMs: 2 * 86_400_000,
  });
});

test.each([
  [["--port", "65536"], /--port takes a number/],
  [["--port", "0x10"], /--port takes a number/],
  [["--host", "kvm"], /--host takes one of embedded, memory/],
  [["--cert", "a.pem"], /together/],
  [["--session-idle", "12"], /--session-idle takes a time such as 90s/],
  [["--session-lifetime", "0d"], /--session-lifetime takes a time/],
  [["--prot", "1"], /Unknown option/],
  [["--state-dir", ""], /--state-dir .* is empty/],
])("%j is refused", (args, message) => {
  expect(() => serveOptions(args, {}, "/s")).toThrow(message);
});

test("one state directory is held by one service at a time", async () => {
  const dir = await mkdtemp(join(tmpdir(), "labwright-state-"));
  try {
    const first = await holdStateDir(dir);
    await expect(holdStateDir(`${dir}/.`)).rejects.toThrow(/another service/);
    await first.release();
    await (await holdStateDir(dir)).release();
  } finally {
    await rm(dir, { recursive: true });
  }
});

test("only its owner can read the service file, and only its own process removes it", async () => {
  const dir = await mkdtemp(join(tmpdir(), "labwright-state-"));
  try {
    const file = { url: "https://127.0.0.1:1", fingerprint: "AA", pid: 7, host: "memory" };
    await writeServiceFile(dir, file);
    expect((await stat(join(dir, "service.json"))).mode & 0o777).toBe(0o600);
    await removeServiceFile(dir, 8);
    expect(JSON.parse(await readFile(join(dir, "service.json"), "utf8"))).toEqual(file);
    await removeServiceFile(dir, 7);
    await expect(stat(join(dir, "service.json"))).rejects.toThrow(/ENOENT/);
    await removeServiceFile(dir, 7);
  } finally {
    await rm(dir, { recursive: true });
  }
});

test("a provider for sign-ins needs an https issuer and a client id; groups, name and scope have defaults", () => {
  const given = ["--oidc-issuer", "https://id.example/realms/staff", "--oidc-client-id", "labwright"];
  expect(serveOptions(given, {}, "/state")).toMatchObject({
    oidc: { issuer: given[1], clientId: "labwright", name: "id.example", scope: "openid profile email", groups: { claim: "groups" } },
  });
  const env = {
    LABWRIGHT_OIDC_ISSUER: "https://id.example",
    LABWRIGHT_OIDC_CLIENT_ID: "env",
    LABWRIGHT_OIDC_ADMIN_GROUP: "ops",
    LABWRIGHT_OIDC_CA: "",
  };
  expect(serveOptions(["--oidc-client-id", "flag"], env, "/state")).toMatchObject({
    oidc: { issuer: "https://id.example", clientId: "flag", groups: { claim: "groups", admin: "ops" } },
  });
  expect(serveOptions([], {}, "/state")).not.toHaveProperty("oidc");
  const refused =
    (...args: string[]) =>
    () =>
      serveOptions(args, {}, "/state");
  expect(refused("--oidc-client-id", "x")).toThrow(/--oidc-client-id needs --oidc-issuer/);
  expect(refused("--oidc-issuer", "https://id.example")).toThrow(/needs --oidc-client-id/);
  for (const issuer of ["http://id.example", "id.example", "https://id.example?a", "https://a:b@id.example"]) {
    expect(refused("--oidc-issuer", issuer, "--oidc-client-id", "x")).toThrow(/takes an https URL/);
  }
  expect(refused(...given, "--oidc-scope", "profile")).toThrow(/must contain openid/);
  expect(refused(...given, "--host", "memory")).toThrow(/is for --host embedded/);
});

test("tunnels to other machines need both ends, on the embedded host", () => {
  const tunnels = { local: "192.0.2.1", remotes: ["192.0.2.0/28"], vnis: { first: 1000, last: 1999 }, port: 4790 };
  const flags = ["--vxlan-local", "192.0.2.1", "--vxlan-remote", "192.0.2.0/28", "--vxlan-vnis", "1000-1999", "--vxlan-port", "4790"];
  expect(serveOptions(flags, {}, "/s")).toMatchObject({ tunnels });
  const env = { LABWRIGHT_VXLAN_LOCAL: "192.0.2.1", LABWRIGHT_VXLAN_REMOTE: "192.0.2.7" };
  expect(serveOptions([], env, "/s")).toMatchObject({
    tunnels: { remotes: ["192.0.2.7/32"], vnis: { first: 1, last: 16_777_215 }, port: 4789 },
  });
  const refused = (...args: readonly string[]) => expect(() => serveOptions(args, {}, "/s"));
  refused("--vxlan-remote", "192.0.2.7").toThrow(/--vxlan-remote needs --vxlan-local/);
  refused("--vxlan-local", "192.0.2.1").toThrow(/--vxlan-local needs --vxlan-remote/);
  refused("--vxlan-local", "eth0", "--vxlan-remote", "192.0.2.7").toThrow(/takes an IPv4 address of this machine, not "eth0"/);
  refused(...flags.slice(0, 4), "--vxlan-vnis", "9-2").toThrow(/--vxlan-vnis takes FIRST-LAST/);
  refused(...flags.slice(0, 4), "--host", "memory").toThrow(/--vxlan-local is for --host embedded/);
});
