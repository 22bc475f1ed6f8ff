import { expect, test } from "vitest";
import { failureOf, until } from "../../service.fixture.ts";
import { postgresStore } from "../postgres/postgres-store.ts";
import { isUnavailable, storeRefused } from "../postgres/unavailable.ts";
import { cluster, postgresPrograms } from "../testing/cluster.fixture.ts";

test("a database without memory, without connections or with another password does not answer; a full disk is named", () => {
  for (const code of ["53200", "53300", "28P01", "57014", "25P03", "57P01"]) expect([code, isUnavailable({ code })]).toEqual([code, true]);
  for (const code of ["42P01", "23505"]) expect([code, isUnavailable({ code })]).toEqual([code, false]);
  expect(storeRefused({ code: "53100" })).toMatchObject({
    code: "store_unavailable",
    status: 503,
    message: expect.stringContaining("Free space"),
  });
});

test("a statement that waits too long for a lock of the database fails with store_unavailable", {
  skip: postgresPrograms === undefined,
  timeout: 60_000,
}, async () => {
  const { database, query } = await cluster();
  const address = await database();
  await using opened = new AsyncDisposableStack();
  const store = await postgresStore(address, { installation: "one", log: () => {} });
  opened.defer(() => store.close());
  const name = String(address.config.database);
  const locked = query(name, "BEGIN; LOCK TABLE quotas; SELECT pg_sleep(8); COMMIT");
  const isLocked = async () =>
    (await query(name, "SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'quotas'::regclass")).length > 0;
  await until(isLocked);
  expect((await failureOf(store.quotas.put({ kind: "default", name: "", labs: 1 }))).code).toBe("store_unavailable");
  await locked;
});
