import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { RawClient } from "../../../test/wire/raw-client.ts";
import { browserSignIn } from "../../cli/sign-in/browser-sign-in.ts";
import { openUsers, type Users } from "../../hosts/local/accounts/users.ts";
import { type MemoryUser, memoryHost } from "../../hosts/memory/memory-host.ts";
import { createService } from "../../service/create-service.ts";
import type { Service } from "../../service/service.ts";
import { sqliteStore } from "../../service/store/sqlite.ts";
import { type RunningServer, startServer } from "../start.ts";
import { fingerprintOf } from "../tls/certificate.ts";
import { selfSigned } from "../tls/self-signed.ts";
import type { OidcOptions } from "./routes.ts";

/** The parts of the package that this file uses; it has no types. */
interface RealProvider {
  callback(): (asked: IncomingMessage, answer: ServerResponse) => Promise<void>;
  interactionFinished(asked: IncomingMessage, answer: ServerResponse, result: object): Promise<void>;
}
interface Grant {
  addOIDCScope(scope: string): void;
  save(): Promise<string>;
}
interface GrantContext {
  readonly oidc: {
    readonly provider: { readonly Grant: new (of: object) => Grant };
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
  };
}
const { Provider } = (await import("oidc-provider" as string)) as { Provider: new (issuer: string, options: object) => RealProvider };

/** The person that the provider signs in, without questions. */
let person: { readonly sub: string; readonly preferred_username?: string; readonly groups?: readonly string[] };
let folder: string;
let users: Users;
let service: Service;
let server: RunningServer;
let provider: Server;
let issuer: string;
const audited: Readonly<Record<string, unknown>>[] = [];
const log: string[] = [];
const store = sqliteStore(":memory:");
const accounts: MemoryUser[] = [];
const servers: RunningServer[] = [];
const made = selfSigned({ names: ["127.0.0.1"], from: new Date(Date.now() - 3_600_000), until: new Date(Date.now() + 86_400_000) });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "labwright-oidc-"));
  users = openUsers(join(folder, "users.json"));
  for (const name of ["admin", "ann"]) await users.put(name, `${name}-password`, name === "admin" ? "admin" : "user");
  const memory = memoryHost({ users: accounts });
  const host = {
    ...memory,
    accounts: users.accounts,
    login: async (name: string, password: string) => {
      const user = await users.check(name, password);
      return memory.login(name, user === null ? "" : "known");
    },
    externalUsers: {
      signIn: async (
        ...[identity, isTaken]: Parameters<NonNullable<Parameters<typeof createService>[0]["host"]["externalUsers"]>["signIn"]>
      ) => {
        const name = await users.signInExternal(identity, async (one) => isTaken(one));
        if (!accounts.some((one) => one.name === name)) accounts.push({ name, password: "never", role: identity.role });
        return name;
      },
    },
  };
  accounts.push({ name: "admin", password: "known", role: "admin" }, { name: "ann", password: "known", role: "user" });
  const webUi = { page: () => `${server.url}/ui/`, capturePage: () => `${server.url}/ui/` };
  service = createService({
    host,
    store,
    version: "1",
    webUi,
    oidc: { name: "Example" },
    log: (level, text, fields) => log.push(JSON.stringify([level, text, fields])),
  });
  provider = createServer({ key: made.key, cert: made.certificate });
  await new Promise<void>((listening) => provider.listen(0, "127.0.0.1", listening));
  issuer = `https://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  server = await serve({});
  startProvider();
});
afterAll(async () => {
  for (const one of servers) await one.close();
  provider.closeAllConnections();
  provider.close();
  await service.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  audited.length = 0;
  person = { sub: "s-1", preferred_username: "grace", groups: ["staff"] };
});

async function serve(more: Partial<OidcOptions>): Promise<RunningServer> {
  const oidc = {
    issuer,
    clientId: "labwright",
    clientSecret: "the-secret",
    scope: "openid profile",
    ca: made.certificate,
    name: "Example",
    groups: { claim: "groups", admin: "ops", user: "staff", viewer: "guests" },
    ...more,
  };
  const started = await startServer({
    service,
    certificate: { ...made, fingerprint: fingerprintOf(made.certificate) },
    version: "1",
    oidc,
    audit: (entry) => audited.push(entry),
  });
  servers.push(started);
  return started;
}

/** A real provider: it asks nothing, and signs in `person`. */
function startProvider(): void {
  const oidc = new Provider(issuer, {
    clients: [
      {
        client_id: "labwright",
        client_secret: "the-secret",
        redirect_uris: [`${server.url}/oidc/callback`],
        post_logout_redirect_uris: [`${server.url}/ui/`],
      },
    ],
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
    cookies: { keys: ["test"] },
    ttl: { Interaction: 60, Grant: 60, Session: 60, AccessToken: 60, IdToken: 60 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/person/${uid}` },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: async () => ({ ...person, sub: accountId }) }),
    loadExistingGrant: async ({ oidc: { provider: own, client, session } }: GrantContext) => {
      const grant = new own.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope("openid profile");
      await grant.save();
      return grant;
    },
  });
  const answer = oidc.callback();
  provider.on("request", (asked, response) => {
    if (!asked.url?.startsWith("/person/")) return void answer(asked, response);
    void oidc.interactionFinished(asked, response, { login: { accountId: person.sub } });
  });
}

interface Page {
  readonly url: string;
  readonly status: number;
  readonly text: string;
  readonly location?: string;
}

/** A browser: it has cookies for each origin, and follows redirects. */
class Browser {
  readonly cookies = new Map<string, Map<string, string>>();

  get(url: string): Promise<Page> {
    const jar = this.cookies.get(new URL(url).origin) ?? new Map<string, string>();
    this.cookies.set(new URL(url).origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    return new Promise((resolve, reject) => {
      const sent = request(
        url,
        { ca: made.certificate, checkServerIdentity: () => undefined, headers: cookie === "" ? {} : { cookie } },
        (response) => {
          for (const line of response.headers["set-cookie"] ?? []) {
            const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
            if (value === "" || /max-age=0|1970/i.test(line)) jar.delete(name);
            else jar.set(name, value);
          }
          const parts: Buffer[] = [];
          response.on("data", (part: Buffer) => parts.push(part));
          response.on("end", () => {
            const { location } = response.headers;
            const next = location === undefined ? {} : { location: new URL(location, url).href };
            resolve({ url, status: response.statusCode!, text: Buffer.concat(parts).toString(), ...next });
          });
        },
      );
      sent.once("error", reject);
      sent.end();
    });
  }

  /** Follows redirects up to an address of which `stop` is true, which is not called. */
  async follow(url: string, stop = (to: string) => to.includes("/ui/")): Promise<Page> {
    let page = await this.get(url);
    for (let hops = 0; page.location !== undefined && !stop(page.location) && hops < 10; hops += 1) page = await this.get(page.location);
    return page;
  }
}

const login = (query = "") => `${server.url}/oidc/login${query}`;

/** Signs a new browser in, and returns the user of its session. */
async function signedIn(query = ""): Promise<{ readonly username: string; readonly role: string; readonly location: string }> {
  const page = await new Browser().follow(login(query));
  expect(page.location, page.text).toBeDefined();
  const ticket = new URLSearchParams(new URL(page.location!).hash.slice(1)).get("ticket");
  using client = new RawClient(server.url, null);
  const { headers } = await client.post("/api/v1/browser/session", { ticket }, { headers: { Origin: server.url } });
  const cookie = String(headers["set-cookie"]).split(";")[0]!;
  const { json } = await client.call("GET", "/api/v1/session", { headers: { Cookie: cookie } });
  return { ...json.data, location: page.location! };
}

test("a person signs in at the provider: the account is made once, and its role follows the groups at each sign-in", async () => {
  expect(await signedIn("?return=/ui/labs/ring%3Fa=b")).toMatchObject({
    username: "grace",
    role: "user",
    location: expect.stringContaining("/ui/labs/ring?a=b#ticket="),
  });
  person = { ...person, preferred_username: "another-name", groups: ["ops", "staff"] };
  expect(await signedIn()).toMatchObject({ username: "grace", role: "admin" });
  person = { ...person, groups: ["guests"] };
  expect(await signedIn()).toMatchObject({ username: "grace", role: "viewer" });
  expect(audited.filter(({ operation }) => operation === "login")).toMatchObject(
    Array.from({ length: 3 }, () => ({ user: "grace", status: 200, on: { issuer, subject: "s-1" } })),
  );
  person = { sub: "s-none", groups: ["others"] };
  const refused = await new Browser().follow(login());
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("in none of the groups")]);
  expect((await users.list()).map(({ name }) => name)).toEqual(["admin", "ann", "grace"]);
  // Nobody signs in with a password to that account, and no secret is in a log.
  expect(await users.check("grace", "")).toBeNull();
  expect(JSON.stringify([audited, log])).not.toMatch(/the-secret|ticket=|code_verifier/);
});

test("no claim takes over an account: not its name, not in other letters, not that of a removed account whose labs are there", async () => {
  await users.put("carol", "carol-password", "user");
  accounts.push({ name: "carol", password: "known", role: "user" });
  using carol = new RawClient(server.url, null);
  carol.token = (await carol.post("/api/v1/login", { username: "carol", password: "carol-password" })).json.data.token;
  expect((await carol.post("/api/v1/projects/deploy", { yaml: "name: left\nnodes: {r1: {template: linux}}\n" })).status).toBe(200);
  await users.remove("carol");
  const named = async (sub: string, name: string) => {
    person = { sub, preferred_username: name, groups: ["staff"] };
    return (await signedIn()).username;
  };
  expect(await named("s-2", "ann")).toBe("ann-2");
  expect(await named("s-3", "ANN")).toBe("ann-3");
  expect(await named("s-4", "admin")).toBe("admin-2");
  expect(await named("s-5", "carol")).toBe("carol-2");
  expect(await named("s-6", "../é<b>\n")).toBe("e-b");
  expect(await named("s-2", "admin")).toBe("ann-2");
  await expect(users.put("ann-2", "a-password", "admin")).rejects.toThrow(/signs in at/);
});

test("a program signs in by a browser of its machine, after a question; its code is good once, and only with its secret", async () => {
  const browser = new Browser();
  let page: Promise<Page> | undefined;
  let shown = "";
  const { code, verifier } = await browserSignIn(server.url, (address, check) => {
    shown = check;
    page = browser.follow(address);
    // The person's click.
    void page.then(({ text }) => fetch(/href="(http:\/\/127\.0\.0\.1[^"]+)"/.exec(text)![1]!.replaceAll("&amp;", "&")));
  });
  expect((await page!).text).toContain(`the code is ${shown}`);
  using client = new RawClient(server.url, null);
  const finish = async (body: object) => (await client.post("/api/v1/login/finish", body)).json;
  expect(await finish({ code, verifier })).toMatchObject({ ok: true, data: { username: "grace", token: expect.any(String) } });
  expect(await finish({ code, verifier })).toMatchObject({ code: "invalid_credentials" });
  // Another program that got the code, and then the right one: the code is used.
  const challenge = "A".repeat(43);
  const other = await new Browser().follow(login(`?port=40000&challenge=${challenge}&state=${"s".repeat(20)}`));
  const stolen = /code=([\w-]+)/.exec(other.text)![1]!;
  expect(await finish({ code: stolen, verifier: "x".repeat(43) })).toMatchObject({ code: "invalid_credentials" });
  for (const query of [
    "?port=80",
    `?port=40000@evil&challenge=${challenge}&state=${"s".repeat(20)}`,
    `?port=40000&challenge=x&state=${"s".repeat(20)}`,
  ]) {
    expect((await new Browser().get(login(query))).status).toBe(400);
  }
});

test("a callback needs the browser that began the sign-in, its state, nonce and verifier, and the issuer", async () => {
  const atCallback = (to: string) => to.includes("/oidc/callback");
  const begun = async () => {
    const browser = new Browser();
    const { location } = await browser.follow(login(), atCallback);
    return { browser, callback: location! };
  };
  const tampered = async (change: (flow: object) => void) => {
    const { browser, callback } = await begun();
    const jar = browser.cookies.get(new URL(server.url).origin)!;
    const flow = JSON.parse(Buffer.from(jar.get("__Host-labwright-oidc")!, "base64url").toString());
    change(flow);
    jar.set("__Host-labwright-oidc", Buffer.from(JSON.stringify(flow)).toString("base64url"));
    return (await browser.get(callback)).status;
  };
  const other = "x".repeat(43);
  const { browser, callback } = await begun();
  expect((await new Browser().get(callback)).status).toBe(401);
  expect((await (await begun()).browser.get(callback)).status).toBe(401);
  expect((await browser.get(`${callback}&iss=https://evil.example`)).status).toBe(401);
  // The attempt has ended the sign-in.
  expect((await browser.get(callback)).status).toBe(401);
  for (const part of ["state", "nonce", "verifier"]) expect(await tampered((flow) => Object.assign(flow, { [part]: other }))).toBe(401);
  const { browser: second, callback: again } = await begun();
  expect((await second.get(again.replace(/iss=[^&]+/, "iss=https%3A%2F%2Fevil.example"))).status).toBe(401);
  const { browser: third, callback: denied } = await begun();
  const state = new URL(denied).searchParams.get("state");
  const page = await third.get(
    `${server.url}/oidc/callback?error=access_denied&error_description=<script>call-555</script>&state=${state}&iss=${encodeURIComponent(issuer)}`,
  );
  expect([page.status, page.text]).toEqual([401, expect.stringContaining("access_denied")]);
  expect(page.text).not.toContain("call-555");
  // Nothing of that signs anybody in.
  expect(audited).toEqual([]);
});

test.each([
  "//evil.example/ui/",
  "https://evil.example/ui/",
  "/ui/..//evil.example",
  "/ui/\\evil.example",
  "/ui/%0d%0aSet-Cookie:a=b",
  "/api/v1/labs",
])("a sign-in never sends a browser to another site: %s", async (page) => {
  const { location } = await signedIn(`?return=${encodeURIComponent(page)}`);
  const { origin, pathname } = new URL(location);
  expect([origin, pathname.startsWith("/ui/")]).toEqual([server.url, true]);
});

test("without its provider, or with one of another name, sign-ins fail with a page that says so, and passwords work", async () => {
  const away = await serve({ issuer: "https://127.0.0.1:1" });
  const page = await new Browser().get(`${away.url}/oidc/login`);
  expect([page.status, page.text]).toEqual([
    503,
    expect.stringMatching(/https:\/\/127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED[\s\S]*local account/),
  ]);
  using client = new RawClient(away.url, null);
  expect((await client.post("/api/v1/login", { username: "ann", password: "ann-password" })).status).toBe(200);
  expect((await client.get("/api/v1/health")).json.data.oidc).toEqual({ name: "Example" });
  // The metadata names another issuer, as in a mix-up.
  const mixed = await serve({ issuer: `${issuer.replace("127.0.0.1", "localhost")}` });
  expect((await new Browser().get(`${mixed.url}/oidc/login`)).status).toBe(503);
  const unknown = await serve({ ca: undefined } as never);
  expect((await new Browser().get(`${unknown.url}/oidc/login`)).text).toMatch(/self-signed|SELF_SIGNED|unable to verify/);
});

test("sign out of the provider: its own page ends its session, and returns to the pages", async () => {
  const { location } = await new Browser().get(`${server.url}/oidc/logout`);
  const url = new URL(location!);
  expect([url.origin, url.searchParams.get("post_logout_redirect_uri")]).toEqual([issuer, `${server.url}/ui/`]);
});
