import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Bench, createBench, failureOf } from "../service.fixture.ts";
import { postgresStore } from "../store/postgres/postgres-store.ts";
import { sqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { cluster, postgresPrograms } from "../store/testing/cluster.fixture.ts";

const hour = 3_600_000;
/** A lab of one node with this memory, MiB. */
const labOf = (name: string, memory: number, more = "") => `name: ${name}\n${more}nodes:\n  r1: {template: frr, memory: ${memory}}\n`;

let cleanup: AsyncDisposableStack;
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

async function sqlite(): Promise<() => Promise<Store>> {
  const directory = mkdtempSync(join(tmpdir(), "labwright-reservations-"));
  cleanup.defer(() => rmSync(directory, { recursive: true }));
  return async () => sqliteStore(join(directory, "labwright.db"));
}

async function postgres(): Promise<() => Promise<Store>> {
  const address = await (await cluster()).database();
  return () => postgresStore(address, { installation: "one", log: () => {} });
}

async function benchOn(open: () => Promise<Store>, time?: number): Promise<Bench> {
  // 15/16 of it are for labs: 15,000 MiB.
  const bench = createBench({ store: await open(), machineMemory: 16_000 });
  if (time !== undefined) bench.time.now = time;
  return bench;
}

const at = (bench: Bench, hours: number) => new Date(bench.time.now + hours * hour).toISOString();

const timeout = 120_000;

describe.each([
  ["SQLite", sqlite, false],
  ["PostgreSQL", postgres, postgresPrograms === undefined],
] as const)("reservations in %s", (_name, make, skip) => {
  it("keep labs of others away while they are active, and before if the lab has no end; a plan warns with the time", {
    timeout,
    skip,
  }, async () => {
    const bench = await benchOn(await make());
    cleanup.defer(() => bench.service.close());
    const [admin, ann, bob] = [await bench.login("admin"), await bench.login("ann"), await bench.login("bob")];
    const made = await bob.call("createReservation", { from: at(bench, 2), until: at(bench, 6), memory_mib: 10_000, nodes: 5 });
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      user: "bob",
      from: at(bench, 2),
      until: at(bench, 6),
      memory_mib: 10_000,
      nodes: 5,
      active: false,
    });
    expect((await ann.get("listReservations")).reservations).toEqual([]);
    for (const caller of [admin, bob]) expect((await caller.get("listReservations")).reservations).toEqual([made]);

    // Beside the reservation, 5,000 MiB are left.
    await ann.call("deployProject", { yaml: labOf("small", 4_000) });
    const plan = await ann.call("planProject", { yaml: labOf("large", 2_000) });
    expect(plan.warnings).toMatchObject([{ code: "room_reserved", severity: "warning" }]);
    expect(plan.text).toContain(`The lab fits until ${at(bench, 2)} (lease: 120m), and again from ${at(bench, 6)}`);
    const refused = await failureOf(ann.call("deployProject", { yaml: labOf("large", 2_000) }));
    expect(refused).toMatchObject({ code: "room_reserved", data: { from: at(bench, 2), until: at(bench, 6) } });
    expect(refused.message).not.toContain("bob");
    expect((await failureOf(ann.call("getProjectStatus", { lab: "/large" }))).code).toBe("lab_not_found");
    await ann.call("deployProject", { yaml: labOf("large", 2_000, "lease: 90m\n") });
    await ann.call("destroyProject", { lab: "/large" });
    // A lab may stay as it is, and may not grow.
    await ann.call("reconcileProject", { yaml: labOf("small", 4_000, "description: same\n"), allow_unsupported: true });
    expect(
      (
        await failureOf(
          ann.call("reconcileProject", { yaml: `${labOf("small", 4_000)}  r2: {template: frr, memory: 2000}\n`, allow_unsupported: true }),
        )
      ).code,
    ).toBe("room_reserved");

    bench.time.now += 3 * hour;
    expect((await bob.get("listReservations")).reservations).toMatchObject([{ id: made.id, active: true }]);
    const during = await failureOf(ann.call("deployProject", { yaml: labOf("large", 2_000, "lease: 1h\n") }));
    expect(during.message).toContain(
      `other users have reserved room now: with this lab, this machine would need 16000 MiB of 15000 MiB. The lab fits from ${at(bench, 3)} on`,
    );
    await bob.call("deployProject", { yaml: labOf("own", 10_000) });
    bench.time.now += 4 * hour;
    expect((await bob.get("listReservations")).reservations).toEqual([]);
    await ann.call("deployProject", { yaml: labOf("large", 2_000) });
  });

  it("are refused if they do not fit beside labs, other reservations and quotas, and for others only admins reserve", {
    timeout,
    skip,
  }, async () => {
    const bench = await benchOn(await make());
    cleanup.defer(() => bench.service.close());
    const [admin, ann, bob, eve] = [
      await bench.login("admin"),
      await bench.login("ann"),
      await bench.login("bob"),
      await bench.login("eve"),
    ];
    const reserve = (by: typeof ann, memory: number, from: number, until: number, more = {}) =>
      by.call("createReservation", { from: at(bench, from), until: at(bench, until), memory_mib: memory, ...more });
    await ann.call("deployProject", { yaml: labOf("kept", 4_000) });
    await ann.call("deployProject", { yaml: labOf("leased", 4_000, "lease: 3h\n") });
    const full = await failureOf(reserve(bob, 9_000, 1, 2));
    expect(full).toMatchObject({ code: "room_reserved", data: { from: at(bench, 1), until: at(bench, 3) } });
    expect(full.message).toContain("this machine would need 17000 of 15000 MiB");
    await reserve(bob, 9_000, 3, 5);
    expect((await failureOf(reserve(admin, 3_000, 4, 6))).code).toBe("room_reserved");
    await reserve(admin, 3_000, 5, 6);

    await admin.call("setQuota", { kind: "group", name: "students", members: ["ann", "bob"], nodes: 12 });
    const nodes = await failureOf(reserve(ann, 100, 8, 9, { nodes: 13 }));
    expect(nodes).toMatchObject({
      code: "quota_exceeded",
      data: { quota: { kind: "group", resource: "nodes", used: 2, wanted: 13, limit: 12 } },
    });
    // Members share the quota: what one has reserved, the other cannot use at that time.
    await reserve(bob, 100, 8, 9, { nodes: 10 });
    const late = await failureOf(ann.call("deployProject", { yaml: `${labOf("more", 10)}  r2: {template: frr}\n  r3: {template: frr}\n` }));
    expect(late.code).toBe("room_reserved");
    expect(late.message).toContain("the quota of group students would need 14 nodes of 12 nodes");

    expect((await failureOf(reserve(eve, 1, 1, 2))).code).toBe("operation_not_allowed");
    expect((await failureOf(reserve(ann, 1, 1, 2, { user: "bob" }))).code).toBe("operation_not_allowed");
    expect(await reserve(admin, 1, 20, 21, { user: "bob" })).toMatchObject({ user: "bob" });
    for (const [payload, field] of [
      [{ until: at(bench, 1) }, "/memory_mib"],
      [{ until: at(bench, -1), nodes: 1 }, "/until"],
      [{ from: at(bench, 2), until: at(bench, 1), nodes: 1 }, "/until"],
      [{ until: at(bench, 91 * 24), nodes: 1 }, "/until"],
      [{ from: at(bench, 400 * 24), until: at(bench, 401 * 24), nodes: 1 }, "/from"],
      [{ until: "tomorrow", nodes: 1 }, "/until"],
      [{ until: at(bench, 1), nodes: 1, machine: "beta" }, "/machine"],
    ] as const)
      expect((await failureOf(ann.call("createReservation", payload))).data, JSON.stringify(payload)).toMatchObject({
        problems: [{ path: field }],
      });
  });

  it("outlive a restart, and end with a cancel by their user or an admin", { timeout, skip }, async () => {
    const open = await make();
    const first = await benchOn(open);
    const bob = await first.login("bob");
    const [one, other] = [
      await bob.call("createReservation", { until: at(first, 5), nodes: 4 }),
      await bob.call("createReservation", { from: at(first, 1), until: at(first, 5), nodes: 4 }),
    ];
    expect(one).toMatchObject({ memory_mib: 128, nodes: 4, active: true });
    const { now } = first.time;
    await first.service.close();
    const again = await benchOn(open, now);
    cleanup.defer(() => again.service.close());
    const [ann, admin, back] = [await again.login("ann"), await again.login("admin"), await again.login("bob")];
    expect((await back.get("listReservations")).reservations).toEqual([one, other]);
    expect((await failureOf(ann.call("removeReservation", { id: one.id }))).code).toBe("reservation_not_found");
    expect((await back.call("removeReservation", { id: one.id })).reservations).toEqual([other]);
    expect((await admin.call("removeReservation", { id: other.id })).reservations).toEqual([]);
    expect((await failureOf(admin.call("removeReservation", { id: other.id }))).code).toBe("reservation_not_found");
  });

  it("made at the same time do not reserve more than there is", { timeout, skip }, async () => {
    const bench = await benchOn(await make());
    cleanup.defer(() => bench.service.close());
    const bob = await bench.login("bob");
    const all = await Promise.allSettled(
      Array.from({ length: 6 }, () => bob.call("createReservation", { until: at(bench, 1), memory_mib: 4_000 })),
    );
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  });
});
