import { request } from "node:https";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { before } from "../../../test/release-before/release-before.ts";
import { ownProtocol, protocolProblem, protocolWith } from "../../contract/fleet-protocol.ts";
import type { PostgresAddress } from "../../service/store/address/address.ts";
import { type Migration, migrations } from "../../service/store/postgres/migrations.ts";
import { postgresStore } from "../../service/store/postgres/postgres-store.ts";
import { cluster, postgresPrograms } from "../../service/store/testing/cluster.fixture.ts";
import { forwardedHeader, forwardedText, protocolHeader } from "../forwarding/forwarded.ts";
import { type Member, type MemberOptions, openMember } from "./fleet.fixture.ts";

const pair = (name: string) => `name: ${name}\nnodes:\n  h1: {template: linux}\n  h2: {template: linux}\nlinks: [[h1:eth0, h2:eth0]]\n`;

let cleanup: AsyncDisposableStack;
let address: PostgresAddress & { readonly url: string };
let database: string;
beforeEach(async () => {
  cleanup = new AsyncDisposableStack();
  if (postgresPrograms === undefined) return;
  address = await (await cluster()).database();
  database = address.url.split("/").at(-1)!;
});
afterEach(() => cleanup.disposeAsync());

async function member(name: string, place: number, more: Partial<MemberOptions> = {}): Promise<Member> {
  return cleanup.use(await openMember({ name, place, address, ...more }));
}

const query = async (text: string) => (await cluster()).query(database, text);
const versions = () => query("SELECT to_jsonb(v) AS row FROM labwright_version v");

/** Makes a lab that belongs to `owner`, at `by`. */
async function deploy(by: Member, token: string, owner: string, name: string): Promise<void> {
  const answer = await by.client(token).post("/api/v1/projects/deploy", { yaml: `${pair(name)}place: {machine: ${owner}}\n` });
  expect(answer.json).toMatchObject({ ok: true, data: { placement: { machine: owner } } });
}

const is = { skip: postgresPrograms === undefined, timeout: 60_000 };

/** The next release, with one change of the tables more. */
function nextRelease(change: Pick<Migration, "worksWith">): readonly Migration[] {
  return [...migrations, { ...change, text: "ALTER TABLE quotas ADD COLUMN note text" }];
}

describe("two releases on one database", () => {
  test("machines of the release before and of this one work together: labs, calls, sessions, quotas, restarts", {
    ...is,
    timeout: 180_000,
  }, async () => {
    const old = await member("old", 1, { isBefore: true });
    expect(await versions()).toEqual([{ row: { version: before.version } }]);
    const ann = await old.login("ann");
    await deploy(old, ann, "old", "first");
    const { token } = await old.fleet.calls.createToken(60_000);
    const young = await member("young", 2, { token });
    expect(await versions()).toEqual([{ row: { version: before.version, applied: migrations.length } }]);
    await old.hasFree(900);
    await young.hasFree(900);
    // Each answers calls about the other's labs, and deploys on it.
    await expect.poll(async () => (await young.client(ann).get("/api/v1/session")).status).toBe(200);
    await deploy(old, ann, "young", "second");
    await deploy(young, ann, "old", "third");
    await deploy(old, ann, "old", "fourth");
    for (const by of [old, young]) {
      const { labs } = (await by.client(ann).get("/api/v1/labs")).json.data as { labs: { lab: string; machine: string }[] };
      expect(labs.map(({ lab, machine }) => `${lab} ${machine}`)).toEqual(["/first old", "/fourth old", "/second young", "/third old"]);
      for (const { lab } of labs) {
        const stopped = await by.client(ann).post("/api/v1/projects/exec", { lab, action: "stop" });
        expect(stopped.json, lab).toMatchObject({ ok: true });
        const missing = await by.client(ann).post("/api/v1/console/attach", { lab, node: "none" });
        expect(missing.json).toMatchObject({ code: "node_not_found" });
      }
    }
    await young.store.quotas.put({ kind: "user", name: "ann", labs: 4 });
    await expect.poll(() => old.store.quotas.list()).toHaveLength(1);
    const refused = await old.client(ann).post("/api/v1/projects/deploy", { yaml: `${pair("fifth")}place: {machine: old}\n` });
    expect(refused.json).toMatchObject({ code: "quota_exceeded" });
    const admin = await young.login("admin");
    const machines = (await young.client(admin).get("/api/v1/machines")).json.data.machines as object[];
    expect(machines).toMatchObject([
      { name: "old", version: "0.1.0" },
      { name: "young", version: `0.${ownProtocol}.0` },
    ]);
    expect(machines.filter((machine) => "problem" in machine)).toEqual([]);
    // The release before starts again on the changed tables, and has its labs.
    await old.crash();
    await old.service.close();
    const again = await member("old", 1, { isBefore: true, stateDir: old.stateDir });
    await expect
      .poll(async () => (await young.client(ann).post("/api/v1/projects/destroy", { lab: "/first" })).json, { timeout: 20_000 })
      .toMatchObject({ ok: true });
    expect(again.store.labs.get("/third")).toBeDefined();
    expect((await again.client(ann).post("/api/v1/projects/destroy", { lab: "/second" })).json).toMatchObject({ ok: true });
  });

  test(
    "a change of the tables that the release before could not use is refused while it runs, with its machines and the next step",
    is,
    async () => {
      const old = await member("old", 1, { isBefore: true });
      const { token } = await old.fleet.calls.createToken(60_000);
      const young = await member("young", 2, { token });
      const known = nextRelease({ worksWith: migrations.length });
      const open = () => postgresStore(address, { installation: "next", log: () => {}, known });
      await expect(open()).rejects.toThrow(
        /while services of an older one run that could not use them any more: old \(release 0\.1\.0\)\. Stop the service there \(labs run on\), install this release there, and start again\. Services that were killed, or whose machines are lost, count for \d\d more seconds/,
      );
      expect(await versions()).toEqual([{ row: { version: before.version, applied: migrations.length } }]);
      await old.crash();
      await old.service.close();
      const next = await open();
      await next.close();
      expect(await versions()).toEqual([{ row: { version: migrations.length, applied: known.length } }]);
      // This release can use the tables, the one before cannot any more.
      await young.store.quotas.put({ kind: "user", name: "ann", labs: 1 });
      await expect(openMember({ name: "old", place: 1, address, isBefore: true, stateDir: old.stateDir })).rejects.toThrow(
        `has version ${migrations.length}, written by a newer release`,
      );
    },
  );

  test("a lost service of a release that is too old keeps no change back, and gets no lease any more when it is back", is, async () => {
    const log: string[] = [];
    const lost = await postgresStore(address, {
      installation: "lost",
      log: (level, text) => void log.push(`${level} ${text}`),
      leaseMs: 6_000,
    });
    cleanup.defer(() => lost.close());
    const known = nextRelease({ worksWith: migrations.length + 1 });
    const open = () => postgresStore(address, { installation: "next", log: () => {}, known });
    await expect(open()).rejects.toThrow("a service that is no machine of a fleet (installation lost)");
    // As if it had renewed nothing for a minute. It renews every second, so it may be back before the change.
    const opened = async () => {
      await query("UPDATE services SET ends_at = clock_timestamp() - interval '1 min'");
      return open().catch(() => undefined);
    };
    let next: Awaited<ReturnType<typeof opened>>;
    await expect.poll(async () => (next ??= await opened()), { timeout: 20_000 }).toBeDefined();
    cleanup.defer(() => next?.close());
    await expect
      .poll(() => log, { timeout: 20_000 })
      .toContainEqual(expect.stringMatching(/^error a newer release has changed the tables/));
    const refused = lost.labs.put({ ...record, path: "/late" });
    await expect(refused).rejects.toThrow("a newer release has changed the service's database");
  });
});

const record = {
  path: "/late",
  identity: "1",
  mode: "create",
  owner: "ann",
  yaml: pair("late"),
  files: {},
  serial: 1,
  ids: { nodes: {}, networks: {}, links: {} },
  plans: {},
  power: {},
  updatedAt: 1,
} as const;

describe("the protocol between machines", () => {
  const speaker = (protocol?: number) => ({
    name: "beta",
    facts: { version: "0.1.0", processors: 1, load: 0, memory: 1, availableMemory: 1, ...(protocol !== undefined && { protocol }) },
  });

  test("machines use the lower number of both, and do not speak if they are more than one release apart", () => {
    expect([undefined, 1, 2, 3].map((protocol) => protocolWith(speaker(protocol), 2))).toEqual([1, 1, 2, 2]);
    expect(protocolWith(speaker(), 3)).toBeUndefined();
    expect(protocolProblem(speaker(), 3)).toMatch(/beta has release 0\.1\.0 with protocol 1 .* Upgrade beta, one release at a time$/);
    expect(protocolProblem(speaker(4), 2)).toMatch(/Upgrade this machine, one release at a time$/);
    expect(protocolProblem(speaker(3), 2)).toBeUndefined();
  });

  test("a machine that is too far apart is named in the list, gets no new labs, and no calls pass", is, async () => {
    const one = await member("one", 1);
    const { token } = await one.fleet.calls.createToken(60_000);
    const far = await member("far", 2, { token, protocol: ownProtocol + 2 });
    const [admin, ann] = [await one.login("admin"), await one.login("ann")];
    await far.store.labs.put({ ...record, path: "/away" });
    await expect.poll(() => one.store.labs.get("/away")).toBeDefined();
    await one.hasFree(100);
    const [shown] = (await one.client(admin).get("/api/v1/machines")).json.data.machines as { name: string; problem?: string }[];
    expect(shown).toMatchObject({ name: "far", problem: expect.stringContaining("Upgrade this machine") });
    const asked = await one.client(ann).post("/api/v1/projects/status", { lab: "/away" });
    expect(asked).toMatchObject({
      status: 503,
      json: { code: "machine_unreachable", error: expect.stringContaining("Upgrade this machine") },
    });
    const placed = await one.client(ann).post("/api/v1/projects/deploy", { yaml: pair("new") });
    expect(placed.json.data.placement).toMatchObject({
      machine: "one",
      reasons: [expect.anything(), expect.stringContaining("far cannot be used")],
    });
    const nowhere = await one.client(ann).post("/api/v1/projects/deploy", { yaml: `${pair("nowhere")}place: {machine: far}\n` });
    expect(nowhere.json).toMatchObject({ code: "host_error", error: expect.stringContaining("Upgrade this machine") });
  });

  test("a call in a protocol that a machine does not have is refused; unknown fields of the channel are ignored", is, async () => {
    const one = await member("one", 1);
    const own = one.fleet.credentials();
    const ask = (protocol: string | undefined) =>
      new Promise<{ readonly status: number; readonly json: unknown; readonly protocol: unknown }>((resolve, reject) => {
        const forwarded = { caller: { user: "ann", role: "user", session: "s" }, requestId: "1", address: "", ofLaterReleases: { a: 1 } };
        const headers = {
          [forwardedHeader]: forwardedText(forwarded as never),
          ...(protocol !== undefined && { [protocolHeader]: protocol }),
        };
        const tls = { cert: own.certificate, key: own.key, rejectUnauthorized: false, agent: false } as const;
        request(`${one.url}/api/v1/labs`, { headers, ...tls }, async (response) => {
          const parts: Buffer[] = [];
          for await (const part of response) parts.push(part as Buffer);
          resolve({
            status: response.statusCode ?? 0,
            json: JSON.parse(Buffer.concat(parts).toString()),
            protocol: response.headers[protocolHeader],
          });
        })
          .on("error", reject)
          .end();
      });
    for (const protocol of [undefined, "1", "2"])
      expect(await ask(protocol), protocol).toMatchObject({ status: 200, protocol: String(ownProtocol) });
    for (const protocol of ["0", "3", "02", "x"])
      expect(await ask(protocol), protocol).toMatchObject({
        status: 503,
        json: { ok: false, code: "machine_unreachable", error: expect.stringContaining(`this machine has protocol ${ownProtocol}`) },
      });
  });

  test(
    "an operation that the other machine's release does not have fails with the machine, its release and the next step",
    is,
    async () => {
      const old = await member("old", 1, { isBefore: true });
      const { token } = await old.fleet.calls.createToken(60_000);
      const young = await member("young", 2, { token });
      await expect.poll(() => old.store.shared!.machines.list()).toHaveLength(2);
      const [row] = young.store.shared!.machines.list();
      const forwarder = young.fleet.routes.forwarder as unknown as { ask(...args: readonly unknown[]): Promise<unknown> };
      const forwarded = { caller: { user: "ann", role: "user", session: "s" }, requestId: "1", address: "" };
      for (const call of [
        { method: "GET", url: "/api/v1/later" },
        { method: "DELETE", url: "/api/v1/labs" },
      ])
        await expect(forwarder.ask(row, call, forwarded, 5_000)).rejects.toThrow(
          "the machine old has release 0.1.0, which does not have this operation: nothing was changed. Upgrade old",
        );
      await expect(forwarder.ask(row, { method: "GET", url: "/api/v1/jobs/none" }, forwarded, 5_000)).rejects.toMatchObject({
        code: "job_not_found",
      });
    },
  );
});
