import type { BrowserSessionRow, SessionRow, Store } from "../store.ts";
import { readApiToken } from "../stored-json.ts";
import type { Database, Statement } from "./database.ts";
import type { Notices } from "./notices.ts";

const sql = {
  list: { name: "list_sessions", text: "SELECT * FROM sessions" },
  listBrowsers: { name: "list_browsers", text: "SELECT hash, session, created_at FROM browser_sessions ORDER BY created_at, number" },
  get: { name: "get_session", text: "SELECT * FROM sessions WHERE hash = $1" },
  browsersOf: {
    name: "browsers_of",
    text: "SELECT hash, session, created_at FROM browser_sessions WHERE session = $1 ORDER BY created_at, number",
  },
  insert: {
    name: "insert_session",
    text: `WITH made AS (INSERT INTO sessions (hash, username, role, credential, created_at, used_at, revoked, token)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (hash) DO NOTHING) SELECT pg_notify('labwright', $9)`,
  },
  // A later use may have been written by another service.
  touch: { name: "touch_session", text: "UPDATE sessions SET used_at = greatest(used_at, $2) WHERE hash = $1" },
  setRole: {
    name: "set_session_role",
    text: "WITH done AS (UPDATE sessions SET role = $2 WHERE hash = $1) SELECT pg_notify('labwright', $3)",
  },
  revoke: {
    name: "revoke_session",
    text: `WITH done AS (UPDATE sessions SET revoked = true WHERE hash = $1), gone AS (DELETE FROM browser_sessions WHERE session = $1)
      SELECT pg_notify('labwright', $2)`,
  },
  purge: { name: "purge_sessions", text: "DELETE FROM sessions WHERE coalesce((token::json ->> 'expiresAt')::bigint, created_at) < $1" },
  insertBrowser: {
    name: "insert_browser",
    text: "INSERT INTO browser_sessions (hash, session, created_at) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING",
  },
  trimBrowsers: {
    name: "trim_browsers",
    text: `WITH gone AS (DELETE FROM browser_sessions WHERE session = $1 AND hash NOT IN
      (SELECT hash FROM browser_sessions WHERE session = $1 ORDER BY created_at DESC, number DESC LIMIT $2)) SELECT pg_notify('labwright', $3)`,
  },
} as const satisfies Readonly<Record<string, Statement>>;

/** How long a login or a logout waits for PostgreSQL, ms. */
const patienceMs = 1_500;

/** Bearer and browser sessions, in memory and in PostgreSQL: every request looks one up. */
export class Sessions {
  readonly #database: Pick<Database, "query" | "persist">;
  readonly #notices: Pick<Notices, "text">;
  #sessions = new Map<string, SessionRow>();
  #browsers = new Map<string, BrowserSessionRow>();
  /** Sessions whose end is not committed yet. */
  readonly #unrevoked = new Set<string>();
  /** The sessions and browsers that were inserted since a read of all began, for each such read: it may not have them. */
  readonly #reads = new Set<Set<string>>();
  /** Latest time of the purge. */
  #purgedBefore = Number.NEGATIVE_INFINITY;

  constructor(database: Pick<Database, "query" | "persist">, notices: Pick<Notices, "text">) {
    this.#database = database;
    this.#notices = notices;
  }

  /** Reads all sessions again, and writes the ends of sessions that could not be written. */
  async catchUp(): Promise<void> {
    for (const hash of this.#unrevoked) await this.calls.revoke(hash);
    const inserted = new Set<string>();
    this.#reads.add(inserted);
    try {
      const sessions = await this.#database.query<Record<string, unknown>>(sql.list, []);
      const browsers = await this.#database.query<Record<string, unknown>>(sql.listBrowsers, []);
      const isNew = ([hash]: readonly [string, unknown]) => inserted.has(hash);
      const [newSessions, newBrowsers] = [[...this.#sessions].filter(isNew), [...this.#browsers].filter(isNew)];
      this.#sessions = new Map(sessions.rows.map((row) => [row["hash"] as string, this.#endedOr(sessionOf(row))]));
      this.#browsers = new Map(browsers.rows.map((row) => [row["hash"] as string, browserOf(row)]));
      for (const [hash, row] of newSessions) this.#sessions.set(hash, row);
      for (const [hash, row] of newBrowsers) this.#browsers.set(hash, row);
    } finally {
      this.#reads.delete(inserted);
    }
  }

  /** Reads a session that another service has changed. */
  async refresh(hash: string): Promise<void> {
    const { rows } = await this.#database.query<Record<string, unknown>>(sql.get, [hash]);
    const browsers = await this.#database.query<Record<string, unknown>>(sql.browsersOf, [hash]);
    if (rows[0] === undefined) this.#sessions.delete(hash);
    else this.#sessions.set(hash, this.#endedOr(sessionOf(rows[0])));
    for (const [key, { session }] of this.#browsers) if (session === hash) this.#browsers.delete(key);
    for (const row of browsers.rows) this.#browsers.set(row["hash"] as string, browserOf(row));
  }

  readonly calls: Store["sessions"] = {
    find: (hash) => this.#sessions.get(hash),
    findByBrowser: (hash) => {
      const browser = this.#browsers.get(hash);
      return browser === undefined ? undefined : this.#sessions.get(browser.session);
    },
    count: (usedAfter, createdAfter) =>
      [...this.#sessions.values()].filter(
        ({ revoked, usedAt, createdAt, token }) => !revoked && usedAt > usedAfter && createdAt > createdAfter && token === undefined,
      ).length,
    tokens: () => [...this.#sessions.values()].filter(({ token, revoked }) => token !== undefined && !revoked),
    insert: async (row) => {
      const { hash, user, role, credential = null, createdAt, usedAt, revoked, token } = row;
      const limits = token === undefined ? null : JSON.stringify(token);
      await this.#write(sql.insert, [
        hash,
        user,
        role,
        credential,
        createdAt,
        usedAt,
        revoked,
        limits,
        this.#notices.text("session", hash),
      ]);
      this.#sessions.set(hash, row);
      this.#noteInsert(hash);
    },
    touch: async (hash, usedAt) => {
      this.#change(hash, { usedAt });
      await this.#database.query(sql.touch, [hash, usedAt]);
    },
    setRole: async (hash, role) => {
      this.#change(hash, { role });
      await this.#write(sql.setRole, [hash, role, this.#notices.text("session", hash)]);
    },
    revoke: async (hash) => {
      // Ends here in any case: a session that seems ended to its user must not be usable on.
      this.#change(hash, { revoked: true });
      for (const [key, { session }] of this.#browsers) if (session === hash) this.#browsers.delete(key);
      this.#unrevoked.add(hash);
      await this.#write(sql.revoke, [hash, this.#notices.text("session", hash)]);
      this.#unrevoked.delete(hash);
    },
    purge: async (createdBefore) => {
      // Once a minute is enough for rows that nobody can use.
      if (createdBefore < this.#purgedBefore + 60_000) return;
      await this.#database.query(sql.purge, [createdBefore]);
      this.#purgedBefore = createdBefore;
      for (const [hash, { createdAt, token }] of this.#sessions) {
        if ((token?.expiresAt ?? createdAt) < createdBefore) this.#sessions.delete(hash);
      }
      for (const [hash, { session }] of this.#browsers) if (!this.#sessions.has(session)) this.#browsers.delete(hash);
    },
    insertBrowser: async (row, limit) => {
      const { hash, session, createdAt } = row;
      await this.#write(sql.insertBrowser, [hash, session, createdAt]);
      await this.#write(sql.trimBrowsers, [session, limit, this.#notices.text("session", session)]);
      this.#browsers.set(hash, row);
      this.#noteInsert(hash);
      const own = [...this.#browsers].filter(([, one]) => one.session === session);
      for (const [key] of own.slice(0, Math.max(0, own.length - limit))) this.#browsers.delete(key);
    },
  };

  /** A session that has ended stays so: a row may have been read before its end, and arrive after it. */
  #endedOr(row: SessionRow): SessionRow {
    return this.#sessions.get(row.hash)?.revoked === true ? { ...row, revoked: true } : row;
  }

  #noteInsert(hash: string): void {
    for (const inserted of this.#reads) inserted.add(hash);
  }

  #change(hash: string, change: Partial<SessionRow>): void {
    const row = this.#sessions.get(hash);
    if (row !== undefined) this.#sessions.set(hash, { ...row, ...change });
  }

  /** These statements give the same result if they run twice. */
  async #write(statement: Statement, values: readonly unknown[]): Promise<void> {
    const end = performance.now() + patienceMs;
    await this.#database.persist(
      () => this.#database.query(statement, values),
      () => end,
    );
  }
}

function sessionOf(row: Readonly<Record<string, unknown>>): SessionRow {
  return {
    hash: row["hash"] as string,
    user: row["username"] as string,
    role: row["role"] as SessionRow["role"],
    ...(row["credential"] !== null && { credential: row["credential"] as string }),
    createdAt: row["created_at"] as number,
    usedAt: row["used_at"] as number,
    revoked: row["revoked"] as boolean,
    ...(row["token"] !== null && { token: readApiToken(row["token"] as string) }),
  };
}

function browserOf(row: Readonly<Record<string, unknown>>): BrowserSessionRow {
  return { hash: row["hash"] as string, session: row["session"] as string, createdAt: row["created_at"] as number };
}
