import { deflateSync, inflateSync } from "node:zlib";
import { historyOfRow, maxBytes, maxStates, maxText } from "../history-table.ts";
import type { Store } from "../store.ts";
import type { Database, Statement } from "./database.ts";
import type { Labs } from "./labs.ts";
import type { Fence, Leases } from "./leases.ts";

const sql = {
  // An interrupted change that recovery continues records its intent again.
  add: {
    name: "add_state",
    text: `WITH held AS (SELECT lab FROM leases WHERE lab = $11 AND holder = $12 AND fence = $13 FOR SHARE),
      cleared AS (DELETE FROM history USING held WHERE identity = $1 AND (serial > $2 OR (job = $6 AND serial <> $2)))
      INSERT INTO history (identity, serial, at, username, operation, job, nodes, links, digest, contents)
      SELECT $1::text, $2::integer, $3::bigint, $4::text, $5::text, $6::text, $7::integer, $8::integer, $9::text, $10::bytea FROM held
      ON CONFLICT (identity, serial) DO UPDATE SET at = excluded.at, username = excluded.username, operation = excluded.operation, job = excluded.job,
        outcome = NULL, nodes = excluded.nodes, links = excluded.links, steps = NULL, step_count = NULL, digest = excluded.digest, contents = excluded.contents`,
  },
  deleteOld: {
    name: "delete_old_states",
    text: `DELETE FROM history WHERE identity = $1 AND serial NOT IN (
      SELECT serial FROM (
        SELECT serial, row_number() OVER newest AS number, sum(coalesce(length(contents), 0)) OVER newest AS bytes
        FROM history WHERE identity = $1 WINDOW newest AS (ORDER BY serial DESC)
      ) AS states WHERE number <= ${maxStates} AND bytes <= ${maxBytes})`,
  },
  list: {
    name: "list_states",
    text: `SELECT serial, at, username, operation, job, outcome, nodes, links, steps, step_count, contents IS NOT NULL AS has_text
      FROM history WHERE identity = $1 ORDER BY serial DESC`,
  },
  text: { name: "state_text", text: "SELECT contents FROM history WHERE identity = $1 AND serial = $2" },
  forget: {
    name: "forget_states",
    text: `WITH held AS (SELECT lab FROM leases WHERE lab = $3 AND holder = $4 AND fence = $5 FOR SHARE)
      DELETE FROM history USING held WHERE identity = $1 AND serial > $2`,
  },
  // A change that had nothing to do is not a new state. A change that only asked whether nodes may stop, and the one that did it, are one state.
  dropRepeated: {
    name: "drop_repeated_states",
    text: `WITH same AS (DELETE FROM history WHERE job = $1 AND step_count = 0 AND digest = (
        SELECT digest FROM history AS earlier WHERE earlier.identity = history.identity AND earlier.serial < history.serial
        ORDER BY serial DESC LIMIT 1) RETURNING serial)
      DELETE FROM history WHERE step_count = 0 AND job IS NOT NULL AND NOT EXISTS (SELECT FROM same) AND (identity, serial, digest) IN (
        SELECT earlier.identity, max(earlier.serial), done.digest FROM history AS done
        JOIN history AS earlier ON earlier.identity = done.identity AND earlier.serial < done.serial
        WHERE done.job = $1 GROUP BY earlier.identity, done.digest)`,
  },
} as const satisfies Readonly<Record<string, Statement>>;

/** How long a read of the history waits for PostgreSQL, ms. */
const patienceMs = 1_500;

/** The earlier intents of labs in PostgreSQL. A lab's history is deleted with its record. */
export class History {
  readonly #database: Database;
  readonly #leases: Leases;
  readonly #labs: Labs;

  constructor(database: Database, leases: Leases, labs: Labs) {
    this.#database = database;
    this.#leases = leases;
    this.#labs = labs;
  }

  readonly calls: Store["history"] = {
    add: async ({ identity, serial, at, user = null, operation = null, job = null, nodes, links, digest }, text) => {
      const json = JSON.stringify(text);
      const contents = json.length > maxText ? null : deflateSync(json, { level: 1 });
      const fenced = await this.#fenceOf(identity);
      // A lab without a record has no history.
      if (fenced === undefined) return;
      const [lab, fence] = fenced;
      const values = [identity, serial, at, user, operation, job, nodes, links, digest, contents, lab, fence.holder, fence.fence];
      if ((await this.#run(sql.add, values)).count === 0) throw this.#leases.lost(lab, fence);
      await this.#run(sql.deleteOld, [identity]);
    },
    list: async (identity) => {
      const { rows } = await this.#run(sql.list, [identity]);
      return rows.map((row) => historyOfRow({ ...row, user: row["username"], has_text: row["has_text"] === true ? 1 : 0 }));
    },
    text: async (identity, serial) => {
      const contents = (await this.#run(sql.text, [identity, serial])).rows[0]?.["contents"];
      return contents === undefined || contents === null ? undefined : JSON.parse(inflateSync(contents as Uint8Array).toString());
    },
    forgetAfter: async (identity, serial) => {
      const fenced = await this.#fenceOf(identity);
      if (fenced !== undefined) await this.#run(sql.forget, [identity, serial, fenced[0], fenced[1].holder, fenced[1].fence]);
    },
  };

  /** Called when a job that recorded a state has ended. Deletes the state if it repeats the one before. */
  async dropRepeated(job: string): Promise<void> {
    await this.#run(sql.dropRepeated, [job]);
  }

  /** Returns the path of the lab with this identity, and its fence. */
  async #fenceOf(identity: string): Promise<readonly [string, Fence] | undefined> {
    const path = this.#labs.calls.list().find((record) => record.identity === identity)?.path;
    return path === undefined ? undefined : [path, await this.#leases.fenceOf(path)];
  }

  /** These statements give the same result if they run twice. */
  #run(statement: Statement, values: readonly unknown[]) {
    const end = performance.now() + patienceMs;
    return this.#database.persist(
      () => this.#database.query<Record<string, unknown>>(statement, values),
      () => end,
    );
  }
}
