import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openUsers } from "../../hosts/local/accounts/users.ts";
import { freePort } from "../../hosts/local/testing/free-port.fixture.ts";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import type { Call, Caller } from "../common/call.ts";
import { createService } from "../create-service.ts";
import { failureOf, until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";

/** Nothing of one user's lab reaches another user, on the embedded host: its disks, its jobs, and labs whose record is lost. */

let local: TestLocalHost;
let store: Store;
let service: Service;

const users = { alice: "user", bob: "user", vic: "viewer" } as const;
const call: Call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

beforeAll(async () => {
  local = await testLocalHost();
  const accounts = openUsers(join(local.paths.state, "users.json"));
  for (const [name, role] of Object.entries(users)) await accounts.put(name, "test-password", role);
  store = sqliteStore(":memory:");
  service = createService({ host: local.host, store, log: () => {}, version: "test" });
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

type Post = <Id extends keyof Handlers>(id: Id, body?: object, more?: Partial<Call>) => ReturnType<Handlers[Id]>;

async function signIn(user: keyof typeof users | "admin"): Promise<Post> {
  const body = { username: user, password: user === "admin" ? "test" : "test-password" };
  const { token } = await service.handlers.login({ body, query: undefined, params: undefined }, null, call);
  return (id, sent = {}, more = {}) => {
    const handle = service.handlers[id] as unknown as (request: unknown, caller: Caller, with_: Call) => ReturnType<Handlers[typeof id]>;
    return handle({ body: sent, query: sent, params: sent }, service.authenticate(token), { ...call, ...more });
  };
}

const yaml = (name: string, more = "") => `name: ${name}\nnodes:\n  a: {template: linux, ethernet: 1${more}}\n`;

async function run(post: Post, lab: string, command: string): Promise<string> {
  return (await post("execConsole", { lab, node: "a", command })).output ?? "";
}

describe("kept disks", () => {
  const lab = "/kept";
  const secret = "alice-private-key";

  test("are given back only to their owner, even if another user destroyed the lab", async () => {
    const [alice, bob, admin] = [await signIn("alice"), await signIn("bob"), await signIn("admin")];
    await alice("deployProject", { yaml: yaml("kept") });
    await run(alice, lab, `echo ${secret} > /root/secret`);
    await admin("destroyProject", { lab, wipe: false });

    await bob("deployProject", { yaml: yaml("kept") });
    expect(await run(bob, lab, "cat /root/secret")).not.toContain(secret);
    await run(bob, lab, "echo bob-was-here > /root/secret");
    await bob("destroyProject", { lab, wipe: false });

    await admin("deployProject", { yaml: yaml("kept") });
    expect(await run(admin, lab, "cat /root/secret")).toContain("No such file");
    await admin("destroyProject", { lab });

    await alice("deployProject", { yaml: yaml("kept") });
    expect(await run(alice, lab, "cat /root/secret")).toBe(secret);
    await alice("destroyProject", { lab, wipe: false });
  });

  test("are listed and removed by their owner and admins, and hidden from other users", async () => {
    const [alice, bob, admin, vic] = [await signIn("alice"), await signIn("bob"), await signIn("admin"), await signIn("vic")];
    const owners = async (post: Post) => (await post("listDisks")).disks.map(({ owner }) => owner).sort();
    expect([await owners(alice), await owners(bob), await owners(vic)]).toEqual([["alice"], ["bob"], []]);
    const all = (await admin("listDisks")).disks;
    expect(all).toMatchObject([
      { lab, owner: "alice", nodes: [{ node: "a" }] },
      { lab, owner: "bob", nodes: [{ node: "a" }] },
    ]);
    for (const { size_bytes } of all) expect(size_bytes).toBeGreaterThan(0);

    const [alices, bobs] = all.map(({ disks }) => disks) as [string, string];
    for (const post of [bob, vic]) expect((await failureOf(post("removeDisks", { id: alices }))).code).toBe("disks_not_found");
    await bob("removeDisks", { id: bobs });
    expect((await failureOf(bob("removeDisks", { id: bobs }))).code).toBe("disks_not_found");
    await admin("removeDisks", { id: alices });
    expect(await owners(admin)).toEqual([]);
    await alice("deployProject", { yaml: yaml("kept") });
    expect(await run(alice, lab, "cat /root/secret")).toContain("No such file");
    await alice("destroyProject", { lab });
  });

  test("are not left by a lab that an admin replaced: it keeps its owner", async () => {
    const [alice, admin] = [await signIn("alice"), await signIn("admin")];
    await alice("deployProject", { yaml: yaml("kept") });
    await admin("deployProject", { yaml: yaml("kept"), replace: true });
    expect(await alice("getProjectStatus", { lab })).toMatchObject({ exists: true, right: "own", live: { available: true } });
    await alice("destroyProject", { lab });
  });
});

describe("a lab whose record is lost", () => {
  const lab = "/lost";

  test("is visible to admins only, until an admin adopts it for its owner", async () => {
    const [alice, bob, vic, admin] = [await signIn("alice"), await signIn("bob"), await signIn("vic"), await signIn("admin")];
    await alice("deployProject", { yaml: yaml("lost", ", env: {TOKEN: alice-env-secret}") });
    const { state } = (await alice("reconcileProject", { yaml: yaml("lost", ", env: {TOKEN: alice-env-secret}") })) as { state: unknown };
    const { stream: early } = await alice("attachConsole", { lab, node: "a" });
    store.labs.delete(lab);

    // Data and streams of an admin's session are for admins only.
    const { stream } = await admin("attachConsole", { lab, node: "a" });
    await admin("streamConsole", { ticket: stream });
    const heard: string[] = [];
    const leaving = new AbortController();
    const events = (await bob("events", { types: "capture,lab,node,job" }, { signal: leaving.signal })) as AsyncIterable<object>;
    const listening = (async () => {
      for await (const event of events) heard.push(JSON.stringify(event));
    })();
    const selected = { lab, node: "a", command: "id", steps: [{ send: "id" }], interface: "eth0" };
    const refused: readonly (readonly [keyof Handlers, object])[] = [
      ["getProjectStatus", selected],
      ["inspectProject", selected],
      ["listProjectConsoles", selected],
      ["attachConsole", selected],
      ["execConsole", selected],
      ["execConsoleMany", selected],
      ["runConsole", selected],
      ["readConsoleLog", selected],
      ["getPublicProject", selected],
      ["planProject", { lab, direction: "from_host" }],
      ["planProject", { yaml: yaml("lost"), state }],
      ["reconcileProject", { lab, direction: "from_host" }],
      ["reconcileProject", { yaml: yaml("lost"), state }],
      ["deployProject", { yaml: yaml("lost"), replace: true }],
      ["importProject", { lab }],
      ["execProject", { lab, action: "stop" }],
      ["destroyProject", { lab }],
      ["editProject", { lab, section: "description", value: "x" }],
      ["startCapture", selected],
      ["listCaptures", { lab }],
      ["attachTraffic", { lab }],
      ["events", { lab }],
      ["getLabGrants", { lab }],
      ["getProjectStatus", { lab, manifest: `version: 1\nmode: load\nlab: ${lab}\n` }],
    ];
    for (const post of [alice, bob, vic]) {
      for (const [id, body] of refused) {
        await admin("getProjectStatus", { lab });
        expect([id, (await failureOf(async () => post(id, body))).code]).toEqual([id, "lab_not_found"]);
      }
      expect(JSON.stringify(await post("listLabs"))).not.toContain("lost");
    }
    expect((await failureOf(alice("streamConsole", { ticket: early }))).code).toBe("lab_not_found");

    const { capture } = await admin("startCapture", { lab, node: "a", interface: "eth0" });
    for (const post of [alice, bob, vic]) expect((await failureOf(post("getCapture", { id: capture! }))).code).toBe("capture_not_found");
    await admin("removeCapture", { id: capture });
    await bob("deployProject", { yaml: yaml("bobs") });
    await until(() => heard.some((text) => text.includes("/bobs")));
    leaving.abort();
    await listening;
    expect(heard.filter((text) => text.includes(lab))).toEqual([]);
    await bob("destroyProject", { lab: "/bobs" });

    expect((await failureOf(alice("adoptLab", { lab }))).code).toBe("operation_not_allowed");
    expect((await failureOf(admin("adoptLab", { lab, owner: "nobody" }))).code).toBe("bad_request");
    expect((await failureOf(admin("adoptLab", { lab, owner: "vic" }))).code).toBe("bad_request");
    expect(await admin("adoptLab", { lab, owner: "alice" })).toEqual({ lab, owner: "alice", nodes: 1, links: 0 });
    expect((await failureOf(admin("adoptLab", { lab, owner: "bob" }))).code).toBe("lab_exists");
    expect(await run(alice, lab, "echo $TOKEN")).toBe("alice-env-secret");
    expect((await alice("planProject", { lab })).actions).toEqual([]);
    expect((await failureOf(bob("getProjectStatus", { lab }))).code).toBe("lab_not_found");
    await alice("destroyProject", { lab });
  });

  test("is destroyed only by an admin who names it", async () => {
    const [alice, admin] = [await signIn("alice"), await signIn("admin")];
    await alice("deployProject", { yaml: yaml("lost") });
    store.labs.delete(lab);
    expect((await failureOf(alice("destroyProject", { lab }))).code).toBe("lab_not_found");
    await admin("destroyProject", { lab });
    expect((await failureOf(admin("getProjectStatus", { lab }))).code).toBe("lab_not_found");
  });
});

describe("the lab of an admin that a user may edit", () => {
  const lab = "/lent";

  test("gets no port and no network that only an admin may choose, and keeps those that the admin chose", async () => {
    const [bob, admin] = [await signIn("bob"), await signIn("admin")];
    const [kept, other] = [await freePort(), await freePort()];
    const intent = (more: string) => yaml("lent", `, ports: ["0.0.0.0:${kept}:80"${more}]`);
    await admin("deployProject", { yaml: intent("") });
    await admin("setLabGrants", { lab, grants: [{ user: "bob", right: "edit" }] });
    const apply = (text: string) => bob("reconcileProject", { lab, direction: "to_host", yaml: text, confirm_disruptive: true });

    const changes = [intent(', "983:81"'), intent(`, "0.0.0.0:${other}:82"`), `${intent("")}management: {ipv4-subnet: 172.31.250.0/24}\n`];
    for (const text of changes) {
      expect((await failureOf(apply(text))).code).toBe("operation_not_allowed");
      expect((await failureOf(bob("deployProject", { yaml: text, replace: true, confirm_disruptive: true }))).code).toBe(
        "operation_not_allowed",
      );
    }
    await apply(intent(`, "${other}:83"`));
    const { nodes } = await bob("inspectProject", { lab });
    expect(nodes[0]?.ports).toEqual([`0.0.0.0:${kept}:80`, `${other}:83`]);
    await admin("destroyProject", { lab });
  });
});

describe("jobs", () => {
  const lab = "/jobs";
  const secret = "alice-env-secret";

  test("are visible to their user and to the lab's owner at that time, not to a later owner of the path", async () => {
    const [alice, bob, admin] = [await signIn("alice"), await signIn("bob"), await signIn("admin")];
    const intent = yaml("jobs", `, env: {TOKEN: ${secret}}`);
    await alice("deployProject", { yaml: intent });
    const pulled = (await alice("reconcileProject", { lab, direction: "from_host" })) as { readonly yaml?: string };
    const copied = (await alice("importProject", { lab })) as { readonly yaml?: string; readonly managed_lab?: string };
    expect([pulled.yaml, copied.yaml]).toEqual([expect.stringContaining(secret), expect.stringContaining(secret)]);
    const wrong = intent.replace("template: linux", "template: linux, image: none-such");
    expect((await failureOf(alice("deployProject", { yaml: wrong, replace: true }))).code).toBe("invalid_intent");
    await admin("destroyProject", { lab });

    const mine = (await alice("listJobs")).jobs.filter((job) => job.lab.startsWith(lab)).map(({ job }) => job);
    expect(mine.length).toBe(5);
    for (const post of [alice, admin]) {
      for (const id of mine) expect(JSON.stringify(await post("getJob", { id }))).not.toContain(secret);
    }
    expect(JSON.stringify(await alice("listJobs"))).not.toContain(secret);

    await bob("deployProject", { yaml: yaml("jobs") });
    const his = (await bob("listJobs")).jobs.filter((job) => job.lab === lab);
    expect(his.map(({ user, operation }) => [user, operation])).toEqual([["bob", "deployProject"]]);
    for (const id of mine) expect((await failureOf(async () => bob("getJob", { id }))).code).toBe("job_not_found");
    expect(await bob("getProjectStatus", { lab })).toMatchObject({ last_job: { job: his[0]!.job } });
    await bob("destroyProject", { lab });
    await alice("destroyProject", { lab: copied.managed_lab! });
  });
});
