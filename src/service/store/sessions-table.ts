import type { DatabaseSync } from "node:sqlite";
import type { Row, SqliteTables } from "./rows.ts";
import type { SessionRow } from "./store.ts";
import { readApiToken } from "./stored-json.ts";

function prepare(db: DatabaseSync) {
  return {
    insertSession: db.prepare(
      "INSERT INTO sessions (hash, user, role, credential, created_at, used_at, revoked, token) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    findSession: db.prepare("SELECT * FROM sessions WHERE hash = ?"),
    touchSession: db.prepare("UPDATE sessions SET used_at = ? WHERE hash = ?"),
    setRole: db.prepare("UPDATE sessions SET role = ? WHERE hash = ?"),
    revokeSession: db.prepare("UPDATE sessions SET revoked = 1 WHERE hash = ?"),
    purgeSessions: db.prepare("DELETE FROM sessions WHERE coalesce(json_extract(token, '$.expiresAt'), created_at) < ?"),
    countSessions: db.prepare(
      "SELECT count(*) AS count FROM sessions WHERE revoked = 0 AND used_at > ? AND created_at > ? AND token IS NULL",
    ),
    listTokens: db.prepare("SELECT * FROM sessions WHERE token IS NOT NULL AND revoked = 0 ORDER BY created_at, hash"),
    insertBrowser: db.prepare("INSERT INTO browser_sessions (hash, session, created_at) VALUES (?, ?, ?)"),
    trimBrowsers: db.prepare(
      `DELETE FROM browser_sessions WHERE session = ?1 AND rowid NOT IN
       (SELECT rowid FROM browser_sessions WHERE session = ?1 ORDER BY created_at DESC, rowid DESC LIMIT ?2)`,
    ),
    findByBrowser: db.prepare(
      "SELECT sessions.* FROM browser_sessions JOIN sessions ON sessions.hash = browser_sessions.session WHERE browser_sessions.hash = ?",
    ),
    endBrowsers: db.prepare("DELETE FROM browser_sessions WHERE session = ?"),
  };
}

/** Sessions, and the browsers that use them. */
export function sessionsTable(db: DatabaseSync): SqliteTables["sessions"] {
  const sql = prepare(db);
  return {
    insert: (row) => {
      sql.insertSession.run(
        row.hash,
        row.user,
        row.role,
        row.credential ?? null,
        row.createdAt,
        row.usedAt,
        row.revoked ? 1 : 0,
        row.token === undefined ? null : JSON.stringify(row.token),
      );
    },
    find: (hash) => sessionOf(sql.findSession.get(hash)),
    touch: (hash, usedAt) => {
      sql.touchSession.run(usedAt, hash);
    },
    setRole: (hash, role) => {
      sql.setRole.run(role, hash);
    },
    revoke: (hash) => {
      sql.revokeSession.run(hash);
      sql.endBrowsers.run(hash);
    },
    purge: (createdBefore) => {
      sql.purgeSessions.run(createdBefore);
    },
    tokens: () => sql.listTokens.all().map((row) => sessionOf(row)!),
    count: (usedAfter, createdAfter) => (sql.countSessions.get(usedAfter, createdAfter) as { count: number }).count,
    insertBrowser: ({ hash, session, createdAt }, limit) => {
      sql.insertBrowser.run(hash, session, createdAt);
      sql.trimBrowsers.run(session, limit);
    },
    findByBrowser: (hash) => sessionOf(sql.findByBrowser.get(hash)),
  };
}

function sessionOf(row: Row | undefined): SessionRow | undefined {
  if (row === undefined) return undefined;
  return {
    hash: row["hash"] as string,
    user: row["user"] as string,
    role: row["role"] as SessionRow["role"],
    ...(row["credential"] !== null && { credential: row["credential"] as string }),
    createdAt: row["created_at"] as number,
    usedAt: row["used_at"] as number,
    revoked: row["revoked"] === 1,
    ...(row["token"] !== null && { token: readApiToken(row["token"] as string) }),
  };
}
