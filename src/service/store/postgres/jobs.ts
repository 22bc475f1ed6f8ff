import { Failure } from "../../../contract/errors.ts";
import { maxStepsText } from "../history-table.ts";
import { jobKeyOfRow, jobOfRow } from "../job-rows.ts";
import type { JobEnd, JobFinish, JobKeyRow, JobOutcome, JobRow, LabOfJobs, Store } from "../store.ts";
import type { Database, Statement } from "./database.ts";
import type { History } from "./history.ts";
import type { Fence, Leases } from "./leases.ts";
import type { Notices } from "./notices.ts";

type Row = Readonly<Record<string, unknown>>;

const held = "WITH held AS (SELECT lab FROM leases WHERE lab = $1 AND holder = $2 AND fence = $3 FOR SHARE)";
/** Without results and requests, which may be megabytes. */
const shortColumns =
  "id, lab, identity, owner, operation, username, 'null' AS request, status, outcome, started_at, finished_at, steps, done, NULL AS result, error";
/** A create that was refused because the lab exists is not a change of that lab. */
const changedIt = "finished_at IS NOT NULL AND coalesce(error::json ->> 'code', '') <> 'lab_exists'";
const newestEndOf = `WHERE lab = $1 AND ${changedIt} AND ($2::text IS NULL OR identity = $2 OR (identity IS NULL AND username = $3))
  ORDER BY finished_at DESC, number DESC LIMIT 1`;

/** Exported for the bench of large fleets, in which most machines only read. */
export const sql = {
  insert: {
    name: "insert_job",
    text: `${held} INSERT INTO jobs (id, lab, identity, owner, operation, username, request, status, started_at, steps, done)
      SELECT $4, lab, $5, $6, $7, $8, $9, $10, $11, $12, $13 FROM held ON CONFLICT (id) DO UPDATE SET done = excluded.done`,
  },
  begin: { name: "begin_job", text: `${held} UPDATE jobs SET steps = $5, done = 0 FROM held WHERE id = $4 AND status = 'running'` },
  progress: { name: "progress_job", text: `${held} UPDATE jobs SET done = $5 FROM held WHERE id = $4 AND status = 'running'` },
  // The request is cleared: only recovery needs it, it is large, and it may contain secrets. The history keeps the steps, because jobs are deleted
  // after some time.
  finish: {
    name: "finish_job",
    text: `${held}, ended AS (
        UPDATE jobs SET status = $5, outcome = $6, finished_at = $7, result = $8, error = $9, request = 'null' FROM held WHERE id = $4),
      answered AS (UPDATE job_keys SET answer = $10 FROM held WHERE job = $4 AND $10::text IS NOT NULL),
      kept AS (UPDATE history SET outcome = $6, step_count = json_array_length(jobs.steps::json),
          steps = CASE WHEN length(jobs.steps) <= ${maxStepsText} THEN jobs.steps END
        FROM jobs, held WHERE jobs.id = $4 AND history.job = $4 RETURNING serial)
      SELECT pg_notify('labwright', $11), EXISTS (SELECT FROM kept) AS has_state FROM held`,
  },
  get: { name: "get_job", text: "SELECT * FROM jobs WHERE id = $1" },
  newest: { name: "newest_jobs", text: `SELECT ${shortColumns} FROM jobs ORDER BY started_at DESC, number DESC LIMIT $1` },
  // A job that another service left is finished by the service that runs the lab, never here.
  unfinished: {
    name: "unfinished_jobs",
    text: `SELECT jobs.* FROM jobs LEFT JOIN leases USING (lab) LEFT JOIN services ON services.id = holder
      WHERE status = 'running' AND (holder IS NULL OR installation = $1) ORDER BY started_at, number`,
  },
  last: { name: "last_job", text: `SELECT * FROM jobs ${newestEndOf}` },
  ends: {
    name: "last_ends",
    text: `SELECT DISTINCT ON (lab, identity, CASE WHEN identity IS NULL THEN username END)
        id, lab, identity, username, operation, outcome, finished_at, outcome = 'failed' AND steps = '[]' AS stepless
      FROM jobs WHERE ${changedIt}
      ORDER BY lab, identity, CASE WHEN identity IS NULL THEN username END, finished_at DESC, number DESC`,
  },
  some: {
    name: "some_jobs",
    text: `SELECT ${shortColumns}, outcome = 'failed' AND steps = '[]' AS stepless, ${changedIt} AS counts FROM jobs WHERE id = ANY($1)`,
  },
  purge: { name: "purge_jobs", text: "DELETE FROM jobs WHERE finished_at < $1" },
  insertKey: {
    name: "insert_key",
    text: `INSERT INTO job_keys (username, key, request, job, created_at) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (username, key) DO UPDATE SET job = excluded.job WHERE job_keys.job = excluded.job`,
  },
  findKey: { name: "find_key", text: "SELECT * FROM job_keys WHERE username = $1 AND key = $2" },
  purgeKeys: { name: "purge_keys", text: "DELETE FROM job_keys WHERE created_at < $1" },
} as const satisfies Readonly<Record<string, Statement>>;

/** The newest end of a lab's jobs, with what decides to which lab it belongs. */
interface KnownEnd {
  readonly end: JobEnd;
  readonly identity: string | undefined;
  readonly user: string;
}

/** A running job of this service: its row as memory has it, and the fence under which it writes. */
interface Mine {
  row: JobRow;
  readonly fence: Fence;
}

/** How long the start of a change, and reads, wait for PostgreSQL, ms. */
const patienceMs = 1_500;

/** The journal of jobs in PostgreSQL. The newest end of each lab is in memory, for status polls. */
export class Jobs {
  readonly #database: Database;
  readonly #leases: Leases;
  readonly #notices: Notices;
  readonly #history: History;
  /** By lab; newest first. */
  readonly #ends = new Map<string, readonly KnownEnd[]>();
  readonly #mine = new Map<string, Mine>();
  #purgedBefore = Number.NEGATIVE_INFINITY;
  #keysPurgedBefore = Number.NEGATIVE_INFINITY;

  constructor(database: Database, leases: Leases, notices: Notices, history: History) {
    this.#history = history;
    this.#database = database;
    this.#leases = leases;
    this.#notices = notices;
  }

  /** Reads the newest ends of all labs. */
  async catchUp(): Promise<void> {
    const { rows } = await this.#database.query<Row & Record<string, unknown>>(sql.ends, []);
    this.#ends.clear();
    for (const row of rows) this.#remember(row);
  }

  /**
   * Reads the ends of jobs of other services with one statement. Returns the jobs without their requests and results, and without those whose ends are known: a
   * write that is repeated, because its commit was unknown, is a second notice.
   */
  async refresh(ids: readonly string[]): Promise<readonly JobRow[]> {
    const { rows } = await this.#database.query<Row & Record<string, unknown>>(sql.some, [ids]);
    const fresh = rows.filter((row) => !this.#isKnown(row));
    for (const row of fresh) if (row["counts"] === true) this.#remember(row);
    return fresh.map((row) => jobOf(row)!);
  }

  #isKnown({ id, lab, finished_at: finishedAt }: Row): boolean {
    return this.#ends.get(lab as string)?.some(({ end }) => end.id === id && end.finishedAt === finishedAt) === true;
  }

  readonly calls: Store["jobs"] = {
    insert: async (row) => {
      const { id, lab, identity = null, owner = null, operation, user, request, status, startedAt, steps, done } = row;
      const fence = await this.#patient(() => this.#leases.fenceOf(lab));
      const values = [identity, owner, operation, user, JSON.stringify(request), status, startedAt, JSON.stringify(steps), done];
      this.#mine.set(id, { row, fence });
      try {
        await this.#write(id, sql.insert, values, this.#soon());
      } catch (error) {
        // The row may be there nevertheless. finish() ends it as soon as the database answers.
        if (!isStoreUnavailable(error)) this.#mine.delete(id);
        throw error;
      }
    },
    begin: async (id, steps) => {
      this.#change(id, { steps, done: 0 });
      await this.#write(id, sql.begin, [JSON.stringify(steps)], () => this.#leases.certainUntil);
    },
    progress: async (id, done) => {
      this.#change(id, { done });
      await this.#write(id, sql.progress, [done], () => this.#leases.certainUntil);
    },
    finish: async (id, end) => {
      const { status, outcome = null, finishedAt = null, result, error, answer } = end;
      const values = [
        status,
        outcome,
        finishedAt,
        jsonOrNull(result),
        jsonOrNull(error),
        jsonOrNull(answer),
        this.#notices.text("job", id),
      ];
      const [ended] = await this.#write(id, sql.finish, values, () => this.#leases.certainUntil).catch(async (error: unknown) => {
        if (!(error instanceof Failure) || error.code !== "lab_elsewhere") throw error;
        // A machine that takes a lab which is handed over ends the job.
        if ((await this.calls.get(id))?.status !== "done") throw error;
        return [];
      });
      if (ended?.["has_state"] === true) await this.#history.dropRepeated(id);
      const row = this.#mine.get(id)?.row;
      this.#mine.delete(id);
      if (row !== undefined) this.#rememberEnd(row, end);
    },
    get: (id) =>
      this.#read(
        async () => jobOf((await this.#database.query<Record<string, unknown>>(sql.get, [id])).rows[0]),
        () => this.#mine.get(id)?.row,
      ),
    newest: (limit) =>
      this.#read(
        async () => (await this.#database.query<Record<string, unknown>>(sql.newest, [limit])).rows.map((row) => jobOf(row)!),
        () => [...this.#mine.values()].map(({ row }) => row).sort((a, b) => b.startedAt - a.startedAt),
      ),
    unfinished: async () => {
      const { rows } = await this.#patient(() =>
        this.#database.query<Record<string, unknown>>(sql.unfinished, [this.#leases.installation]),
      );
      const found: JobRow[] = [];
      for (const row of rows.map((one) => jobOf(one)!)) {
        const fence = await this.#patient(() => this.#leases.fenceOf(row.lab)).catch(ifElsewhere);
        // Another service runs it.
        if (fence === undefined) continue;
        this.#mine.set(row.id, { row, fence });
        found.push(row);
      }
      return found;
    },
    lastOf: async (lab, record) => {
      const values = [lab, record?.identity ?? null, record?.owner ?? null];
      return this.#patient(async () => jobOf((await this.#database.query<Record<string, unknown>>(sql.last, values)).rows[0]));
    },
    lastEnd: (lab, record) => this.#ends.get(lab)?.find((known) => belongs(known, record))?.end,
    purge: async (finishedBefore) => {
      if (finishedBefore < this.#purgedBefore + 60_000) return;
      await this.#database.query(sql.purge, [finishedBefore]);
      this.#purgedBefore = finishedBefore;
      for (const [lab, ends] of this.#ends) {
        const left = ends.filter(({ end }) => end.finishedAt >= finishedBefore);
        if (left.length === 0) this.#ends.delete(lab);
        else this.#ends.set(lab, left);
      }
    },
    insertKey: async ({ user, key, request, job, createdAt }) => {
      await this.#patient(() => this.#database.query(sql.insertKey, [user, key, request, job, createdAt]));
    },
    findKey: async (user, key) =>
      this.#patient(async () => keyOf((await this.#database.query<Record<string, unknown>>(sql.findKey, [user, key])).rows[0])),
    purgeKeys: async (createdBefore) => {
      if (createdBefore < this.#keysPurgedBefore + 60_000) return;
      await this.#database.query(sql.purgeKeys, [createdBefore]);
      this.#keysPurgedBefore = createdBefore;
    },
  };

  /** Writes about a job under the fence with which it began: a new fence of the same service is another owner. */
  async #write(id: string, statement: Statement, values: readonly unknown[], until: () => number): Promise<readonly Row[]> {
    const mine = this.#mine.get(id);
    // Its start was refused before anything was written.
    if (mine === undefined) return [];
    const { fence, row } = mine;
    const all = [row.lab, fence.holder, fence.fence, id, ...values];
    const { rows, count } = await this.#database.persist(() => this.#database.query(statement, all), until);
    if (count > 0) return rows;
    if (await this.#isHeld(row.lab, fence)) return [];
    this.#mine.delete(id);
    throw this.#leases.lost(row.lab, fence);
  }

  /** A write that changed no row: the fence is old, or the job's row is not there. */
  async #isHeld(lab: string, { holder, fence }: Fence): Promise<boolean> {
    const now = await this.#patient(() => this.#leases.current(lab));
    return now?.holder === holder && now.fence === fence;
  }

  /** Reads from PostgreSQL; without an answer, from memory if it has something. */
  async #read<Result>(read: () => Promise<Result>, known: () => Result | undefined): Promise<Result> {
    try {
      return await (this.#database.isReachable ? this.#patient(read) : read());
    } catch (error) {
      const found = isStoreUnavailable(error) ? known() : undefined;
      if (found === undefined) throw error;
      return found;
    }
  }

  #patient<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#database.persist(work, this.#soon());
  }

  #soon(): () => number {
    const end = performance.now() + patienceMs;
    return () => end;
  }

  #change(id: string, change: Partial<JobRow>): void {
    const mine = this.#mine.get(id);
    if (mine !== undefined) mine.row = { ...mine.row, ...change };
  }

  #rememberEnd({ id, lab, identity, user, operation, steps }: JobRow, { outcome, finishedAt, error }: JobFinish): void {
    if (outcome === undefined || finishedAt === undefined || error?.code === "lab_exists") return;
    const end = { id, operation, outcome, finishedAt, failedEarly: outcome === "failed" && steps.length === 0 };
    this.#add(lab, { end, identity, user });
  }

  #remember(row: Row): void {
    const end = {
      id: row["id"] as string,
      operation: row["operation"] as string,
      outcome: row["outcome"] as JobOutcome,
      finishedAt: row["finished_at"] as number,
      failedEarly: row["stepless"] as boolean,
    };
    this.#add(row["lab"] as string, { end, identity: (row["identity"] as string | null) ?? undefined, user: row["username"] as string });
  }

  /** Keeps the newest end of each lab that was at the path. */
  #add(lab: string, added: KnownEnd): void {
    const known = this.#ends.get(lab) ?? [];
    const isOther = (one: KnownEnd) => one.identity !== added.identity || (one.identity === undefined && one.user !== added.user);
    const same = known.find((one) => !isOther(one));
    const newest = same !== undefined && same.end.finishedAt > added.end.finishedAt ? same : added;
    this.#ends.set(
      lab,
      [newest, ...known.filter(isOther)].sort((a, b) => b.end.finishedAt - a.end.finishedAt),
    );
  }
}

function belongs({ identity, user }: KnownEnd, record: LabOfJobs | undefined): boolean {
  return record === undefined || identity === record.identity || (identity === undefined && user === record.owner);
}

function isStoreUnavailable(error: unknown): boolean {
  return error instanceof Failure && error.code === "store_unavailable";
}

function ifElsewhere(error: unknown): undefined {
  if (error instanceof Failure && error.code === "lab_elsewhere") return undefined;
  throw error;
}

function keyOf(row: Row | undefined): JobKeyRow | undefined {
  return row === undefined ? undefined : jobKeyOfRow({ ...row, user: row["username"] });
}

function jobOf(row: Row | undefined): JobRow | undefined {
  return row === undefined ? undefined : jobOfRow({ ...row, user: row["username"] });
}

function jsonOrNull(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
