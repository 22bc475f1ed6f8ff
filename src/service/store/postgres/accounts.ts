import { SerialQueue } from "../../../base/keyed-queue.ts";
import type { AccountEdit, AccountRow, AccountStore } from "../../../hosts/host-accounts.ts";
import type { PostgresAddress } from "../address/address.ts";
import { accountText, readAccount } from "../stored-json.ts";
import { Database, type Statement } from "./database.ts";
import { prepare } from "./migrations.ts";
import type { Notices } from "./notices.ts";

const sql = {
  // Readers go on; a change of another service waits.
  lock: { name: "lock_accounts", text: "LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE" },
  list: { name: "list_accounts", text: 'SELECT account FROM accounts ORDER BY name COLLATE "C"' },
  put: {
    name: "put_account",
    text: "INSERT INTO accounts (name, account) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET account = excluded.account",
  },
  delete: { name: "delete_account", text: "DELETE FROM accounts WHERE name = $1" },
  notify: { name: "notify_accounts", text: "SELECT pg_notify('labwright', $1)" },
} as const satisfies Readonly<Record<string, Statement>>;

/** How long a change waits until its result can be read, ms. */
const patienceMs = 1_500;

/** Accounts, in memory and in PostgreSQL: every request checks one. */
export class Accounts implements AccountStore {
  readonly #database: Pick<Database, "query" | "transaction" | "persist">;
  readonly #notices: Pick<Notices, "text" | "reopen">;
  readonly #changes = new SerialQueue();
  #rows: readonly AccountRow[] = [];
  #version = 0;
  /** Number of reads that have begun. */
  #begun = 0;
  /** Number of the read whose rows are in memory. */
  #current = 0;

  constructor(database: Pick<Database, "query" | "transaction" | "persist">, notices: Pick<Notices, "text" | "reopen">) {
    this.#database = database;
    this.#notices = notices;
  }

  /** Reads all accounts. */
  async catchUp(): Promise<void> {
    this.#begun += 1;
    const number = this.#begun;
    const { rows } = await this.#database.query<{ account: string }>(sql.list, []);
    // Reads have connections of their own: one that began later, and so has newer rows, may have ended before.
    if (number < this.#current) return;
    this.#current = number;
    this.#rows = rows.map(({ account }) => readAccount(account));
    this.#version += 1;
  }

  list(): readonly AccountRow[] {
    return this.#rows;
  }

  mark(): string {
    return String(this.#version);
  }

  change<Result>(edit: AccountEdit<Result>): Promise<Result> {
    return this.#changes.run(async () => {
      try {
        return await this.#write(edit);
      } finally {
        // Also after an error: the commit may be unknown, and a service does not hear its own notices.
        await this.#settle();
      }
    });
  }

  async #write<Result>(edit: AccountEdit<Result>): Promise<Result> {
    return this.#database.transaction(async (query) => {
      await query(sql.lock, []);
      const { rows } = await query<{ account: string }>(sql.list, []);
      const before = new Map(rows.map(({ account }) => [readAccount(account).name, account]));
      const { accounts, result } = await edit(rows.map(({ account }) => readAccount(account)));
      if (accounts === undefined) return result;
      const kept = new Set(accounts.map(({ name }) => name));
      for (const name of before.keys()) if (!kept.has(name)) await query(sql.delete, [name]);
      for (const account of accounts) {
        const text = accountText(account);
        if (before.get(account.name) !== text) await query(sql.put, [account.name, text]);
      }
      await query(sql.notify, [this.#notices.text("account", "all")]);
      return result;
    });
  }

  /** Reads what a change has left. A failure does not undo the change: the next connection of the notices reads all accounts. */
  async #settle(): Promise<void> {
    const end = performance.now() + patienceMs;
    await this.#database
      .persist(
        () => this.catchUp(),
        () => end,
      )
      .catch(() => this.#notices.reopen());
  }
}

/** Opens the accounts alone, for a command beside the services. */
export async function postgresAccounts(address: PostgresAddress): Promise<AccountStore & AsyncDisposable> {
  await prepare(address);
  const database = new Database(address, () => {});
  // No service has this number: all of them hear the notice.
  const accounts = new Accounts(database, { text: (kind, key) => `0 ${kind} ${key}`, reopen: () => {} });
  try {
    await accounts.catchUp();
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    list: () => accounts.list(),
    mark: () => accounts.mark(),
    change: (edit) => accounts.change(edit),
    [Symbol.asyncDispose]: () => database.close(),
  };
}
