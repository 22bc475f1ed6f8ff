import { EventEmitter, once } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AccountRow, AccountStore } from "../../../hosts/host-accounts.ts";
import { type PostgresAddress, postgresAddress } from "../address/address.ts";
import { Accounts, postgresAccounts } from "../postgres/accounts.ts";
import { Database } from "../postgres/database.ts";
import { Quotas } from "../postgres/limits.ts";
import { prepare } from "../postgres/migrations.ts";
import { postgresStore } from "../postgres/postgres-store.ts";
import { Sessions } from "../postgres/sessions.ts";
import { cluster, postgresPrograms } from "../testing/cluster.fixture.ts";
import { FaultyProxy } from "../testing/faulty-proxy.fixture.ts";

let cleanup: AsyncDisposableStack;
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

const account = (name: string): AccountRow => ({ name, role: "user", hash: "oidc$x" });
const namesOf = (accounts: AccountStore) => accounts.list().map(({ name }) => name);
const set = (accounts: AccountStore, ...names: string[]) =>
  accounts.change(async () => ({ accounts: names.map(account), result: undefined }));

/** The database directly, and through a proxy. */
async function proxied(): Promise<{ readonly direct: AccountStore; readonly address: PostgresAddress; readonly proxy: FaultyProxy }> {
  const { socket, database } = await cluster();
  const address = await database();
  const direct = await postgresAccounts(address);
  cleanup.use(direct);
  const proxy = new FaultyProxy(`${socket}/.s.PGSQL.5432`);
  const port = await proxy.listen();
  cleanup.defer(() => proxy.close());
  return { direct, proxy, address: postgresAddress(`postgres://labwright@127.0.0.1:${port}/${address.config.database}`, {}) };
}

test.skipIf(postgresPrograms === undefined)(
  "a read of accounts that ends after a later one does not bring a removed account back",
  async () => {
    const address = await (await cluster()).database();
    const other = await postgresAccounts(address);
    cleanup.use(other);
    await set(other, "ann", "bob");
    const late = lateDatabase(address);
    const accounts = new Accounts(late.database, { text: () => "", reopen: () => {} });
    const { isRead, release } = late.holdNext();
    const first = accounts.catchUp();
    await isRead;
    await set(other, "ann");
    await accounts.catchUp();
    expect(namesOf(accounts)).toEqual(["ann"]);
    release();
    await first;
    expect(namesOf(accounts)).toEqual(["ann"]);
  },
);

test.skipIf(postgresPrograms === undefined)(
  "a read of quotas that ends after a later one does not bring a removed quota back",
  async () => {
    const address = await (await cluster()).database();
    await prepare(address);
    const database = new Database(address, () => {});
    cleanup.defer(() => database.close());
    const other = new Quotas(database, { text: () => "0 quota all" });
    await other.calls.put({ kind: "user", name: "ann", labs: 1 });
    const late = lateDatabase(address);
    const quotas = new Quotas(late.database, { text: () => "" });
    const { isRead, release } = late.holdNext();
    const first = quotas.catchUp();
    await isRead;
    await other.calls.delete("user", "ann");
    await quotas.catchUp();
    expect(quotas.calls.list()).toEqual([]);
    release();
    await first;
    expect(quotas.calls.list()).toEqual([]);
  },
);

test.skipIf(postgresPrograms === undefined)("a service knows the accounts after a change that is cut off at any statement", async () => {
  const { direct, address, proxy } = await proxied();
  const store = await postgresStore(address, { installation: "one", log: () => {} });
  cleanup.defer(() => store.close());
  const { accounts } = store.shared!;
  // BEGIN, lock, list, delete, notify, COMMIT, and the read after it.
  const outcomes = new Set<string>();
  for (const when of ["before", "after"] as const) {
    for (let at = 1; at <= 7; at += 1) {
      await set(accounts, "ann", "bob");
      proxy.cut = { left: at, when };
      const isDone = await set(accounts, "ann").then(
        () => true,
        () => false,
      );
      proxy.cut = undefined;
      await expect.poll(() => namesOf(accounts), { timeout: 5_000, interval: 5 }).toEqual(await truth(direct));
      const isRemoved = !namesOf(accounts).includes("bob");
      if (isDone) expect(isRemoved).toBe(true);
      outcomes.add(`${isDone ? "done" : "failed"}, ${isRemoved ? "removed" : "kept"}`);
    }
  }
  // The second: PostgreSQL has committed, and its answer was lost.
  expect([...outcomes].sort()).toEqual(["done, removed", "failed, kept", "failed, removed"]);
});

test.skipIf(postgresPrograms === undefined)(
  "an account that another service removes is gone, also if its notice could not be followed",
  async () => {
    const { direct, address, proxy } = await proxied();
    const warnings: string[] = [];
    const store = await postgresStore(address, { installation: "one", log: (_level, text) => warnings.push(text) });
    cleanup.defer(() => store.close());
    await set(store.shared!.accounts, "ann", "bob");
    proxy.cut = { left: 1, when: "before" };
    await set(direct, "ann");
    await expect.poll(() => namesOf(store.shared!.accounts), { timeout: 5_000, interval: 5 }).toEqual(["ann"]);
    expect(warnings).toContain("a change of another service could not be read");
  },
);

test.skipIf(postgresPrograms === undefined)("a session that ends while it is read again stays ended", async () => {
  const late = lateDatabase(await (await cluster()).database());
  await prepare(late.address);
  const sessions = new Sessions(late.database, { text: () => "" });
  const row = { user: "ann", role: "user", createdAt: 1, usedAt: 1, revoked: false } as const;
  for (const [hash, read] of [
    ["one", () => sessions.refresh("one")],
    ["two", () => sessions.catchUp()],
  ] as const) {
    await sessions.calls.insert({ ...row, hash });
    const { isRead, release } = late.holdNext();
    const reading = read();
    await isRead;
    await sessions.calls.revoke(hash);
    release();
    await reading;
    expect(sessions.calls.find(hash)).toMatchObject({ revoked: true });
  }
});

test.skipIf(postgresPrograms === undefined)("a session that begins while all are read stays", async () => {
  const late = lateDatabase(await (await cluster()).database());
  await prepare(late.address);
  const sessions = new Sessions(late.database, { text: () => "" });
  const { isRead, release } = late.holdNext();
  const reading = sessions.catchUp();
  await isRead;
  await sessions.calls.insert({ user: "ann", role: "user", createdAt: 1, usedAt: 1, revoked: false, hash: "new" });
  release();
  await reading;
  expect(sessions.calls.find("new")).toMatchObject({ user: "ann" });
});

/** A database of which one answer can be held back. */
function lateDatabase(address: PostgresAddress) {
  const database = new Database(address, () => {});
  cleanup.defer(() => database.close());
  const gate = new EventEmitter();
  let isNext = false;
  const calls: Pick<Database, "query" | "transaction" | "persist"> = {
    query: async (statement, values) => {
      const isHeld = isNext;
      isNext = false;
      const answer = await database.query<never>(statement, values);
      if (!isHeld) return answer;
      const released = once(gate, "release");
      gate.emit("read");
      await released;
      return answer;
    },
    transaction: (work) => database.transaction(work),
    persist: (work, until) => database.persist(work, until),
  };
  const holdNext = () => {
    isNext = true;
    return { isRead: once(gate, "read"), release: () => gate.emit("release") };
  };
  return { address, database: calls, holdNext };
}

/** Returns the names in the database. */
async function truth(direct: AccountStore): Promise<readonly string[]> {
  return direct.change(async (accounts) => ({ result: accounts.map(({ name }) => name) }));
}
