import { afterEach, beforeEach, expect, test } from "vitest";
import { postgresAddress } from "../address/address.ts";
import { postgresStore } from "../postgres/postgres-store.ts";
import type { Store } from "../store.ts";
import { postgresPrograms } from "../testing/cluster.fixture.ts";
import { Replicas } from "../testing/replicas.fixture.ts";

let cleanup: AsyncDisposableStack;
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

/** Addresses of the loopback that no other test process has. */
const addresses = [1, 2].map(
  (place) => `127.${32 + ((process.pid >> 15) & 31)}.${(process.pid >> 7) & 255}.${((process.pid & 127) << 1) + place - 1}`,
);

const session = (hash: string) => ({ hash, user: "ann", role: "user" as const, createdAt: 1, usedAt: 1, revoked: false });
const isThere = async (store: Store, hash: string) =>
  store.sessions.insert(session(hash)).then(
    () => true,
    (error: Error) => error.message,
  );

test.skipIf(postgresPrograms === undefined)(
  "a URL with two servers finds the one that accepts writes, also after a failover, in both orders; services hear of each other again",
  { timeout: 120_000 },
  async () => {
    const [first = "", second = ""] = addresses;
    const replicas = cleanup.use(await Replicas.make({ addresses: [first, second] }));
    const log: string[] = [];
    const opened = async (url: string, installation: string) => {
      const store = await postgresStore(postgresAddress(url), { installation, log: (level, text) => void log.push(`${level} ${text}`) });
      cleanup.defer(() => store.close());
      return store;
    };
    // The standby first.
    const one = await opened(`postgres://labwright@${second},${first}/labs`, "one");
    const two = await opened(replicas.url, "two");
    expect(await isThere(one, "before")).toBe(true);
    await expect.poll(() => two.sessions.find("before")?.user).toBe("ann");

    await replicas.kill(replicas.primary);
    await expect(isThere(one, "between")).resolves.toContain("database does not answer");
    await replicas.promote();
    await expect.poll(() => isThere(one, "after"), { timeout: 20_000 }).toBe(true);
    await expect.poll(() => isThere(two, "of two"), { timeout: 20_000 }).toBe(true);
    await expect
      .poll(() => [two.sessions.find("after")?.user, one.sessions.find("of two")?.user], { timeout: 20_000 })
      .toEqual(["ann", "ann"]);

    // Back to the first server.
    await replicas.follow();
    await replicas.kill(replicas.primary);
    await replicas.promote();
    await expect.poll(() => isThere(two, "at last"), { timeout: 20_000 }).toBe(true);
    await expect.poll(() => one.sessions.find("at last")?.user, { timeout: 20_000 }).toBe("ann");
    expect(await replicas.query("SELECT hash FROM sessions WHERE hash IN ('before', 'after', 'of two')")).toHaveLength(3);
    expect(log).toContain("info the database answers again");
  },
);

test("a URL with several servers is checked as one with a single server", () => {
  const servers = (url: string) => {
    const { servers: found, shown } = postgresAddress(url);
    const all = Array.from({ length: found.count }, () => {
      const { current } = found;
      found.failed(current);
      return `${current.host} ${current.port}`;
    });
    return { all, shown };
  };
  expect(servers("postgres://u@db1,db2:5433,[2001:db8::1]:5434/labs?target_session_attrs=read-write")).toEqual({
    all: ["db1 5432", "db2 5433", "2001:db8::1 5434"],
    shown: "postgres://u@db1,db2:5433,[2001:db8::1]:5434/labs?target_session_attrs=read-write",
  });
  expect(servers("postgres://u@%2Fvar%2Frun%2Fpostgresql/labs").all).toEqual(["/var/run/postgresql 5432"]);
  expect(() => postgresAddress("postgres://u:secret@db1,db2/labs")).toThrow("contains a password");
  expect(() => postgresAddress("postgres://u:secret@db1,db2/labs")).not.toThrow("secret");
  expect(() => postgresAddress("postgres://u@db1,db2:x/labs")).toThrow("a PostgreSQL store is a URL");
  expect(() => postgresAddress("postgres://u@db1,db2/labs?target_session_attrs=standby")).toThrow("target_session_attrs is read-write");
  expect(() => postgresAddress("postgres://u@db1/labs?host=db1,db2")).toThrow("write several servers before the name of the database");
});
