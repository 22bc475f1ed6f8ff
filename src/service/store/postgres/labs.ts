import { randomUUID } from "node:crypto";
import { KeyedQueue } from "../../../base/keyed-queue.ts";
import { contentParts } from "../labs-table.ts";
import type { Admission, LabRecord, LabsUse, Store } from "../store.ts";
import { readLabRecord } from "../stored-json.ts";
import type { Database, Statement } from "./database.ts";
import type { Leases } from "./leases.ts";
import type { Notices } from "./notices.ts";

interface LabRow {
  readonly path: string;
  readonly revision: string;
  readonly record: string;
  readonly contents: string;
  readonly plans: string;
}

/** The lease row stays locked until the end of the write: nobody takes the lab over in between. */
const held = "WITH held AS (SELECT lab FROM leases WHERE lab = $1 AND holder = $2 AND fence = $3 FOR SHARE)";

/** Exported for the bench of large fleets, in which most machines only read. */
export const sql = {
  list: { name: "list_labs", text: "SELECT * FROM labs" },
  // Also the paths without a record: their labs were deleted.
  some: {
    name: "some_labs",
    text: `SELECT asked.path AS asked, labs.*, CASE WHEN labs.path IS NOT NULL THEN m.number END AS owner FROM unnest($1::text[]) AS asked (path)
      LEFT JOIN labs ON labs.path = asked.path LEFT JOIN leases l ON l.lab = asked.path LEFT JOIN services s ON s.id = l.holder
      LEFT JOIN machines m ON m.installation = s.installation`,
  },
  revisions: { name: "lab_revisions", text: "SELECT path, revision FROM labs" },
  put: {
    name: "put_lab",
    text: `${held}, written AS (INSERT INTO labs (path, revision, record, contents, plans) SELECT lab, $5, $6, $7, $8 FROM held
      ON CONFLICT (path) DO UPDATE SET revision = excluded.revision, record = excluded.record, contents = excluded.contents, plans = excluded.plans
      RETURNING path) SELECT pg_notify('labwright', $4) FROM written`,
  },
  // PostgreSQL does not rewrite a large column that an update leaves out.
  putSmall: {
    name: "put_lab_record",
    text: `${held}, written AS (UPDATE labs SET revision = $5, record = $6, plans = $7 FROM held WHERE path = lab RETURNING path)
      SELECT pg_notify('labwright', $4) FROM written`,
  },
  lockLimits: {
    name: "lock_limits",
    text: "SELECT pg_advisory_xact_lock(hashtextextended('limit of labs ' || name, 0)) FROM unnest($1::text[]) AS name",
  },
  use: {
    name: "use_of_labs",
    text: `SELECT count(*) AS labs, coalesce(sum(nodes), 0) AS nodes, coalesce(sum(memory), 0) AS memory FROM labs
      WHERE owner = ANY($1) AND path <> $2`,
  },
  delete: {
    name: "delete_lab",
    text: `${held}, gone AS (DELETE FROM labs USING held WHERE path = lab),
      forgotten AS (DELETE FROM history USING held WHERE identity = $5) SELECT pg_notify('labwright', $4) FROM held`,
  },
} as const satisfies Readonly<Record<string, Statement>>;

/** One lab in memory: its committed row, and the newest record, which may still be on its way. */
interface Entry {
  readonly record: LabRecord;
  /** Revision of the committed row; undefined while a write is on its way. */
  readonly revision: string | undefined;
}

/** A lab as another service has left it. null: it has no record, and no machine of a fleet owns it. */
interface ReadRow extends Record<string, unknown> {
  readonly asked: string;
  readonly path: string | null;
  readonly owner: number | null;
}

/** Number of records that one statement reads. */
const maxRead = 200;

/** The records of all labs, in memory and in PostgreSQL. */
export class Labs {
  readonly #database: Database;
  readonly #leases: Leases;
  readonly #notices: Notices;
  readonly #entries = new Map<string, Entry>();
  /** The committed record of a lab with writes on their way; null: none. */
  readonly #committed = new Map<string, Entry | null>();
  readonly #writes = new KeyedQueue();
  readonly #failed: (lab: string, error: unknown) => void;

  /** The records sorted by path; undefined until somebody asks for them again. */
  #listed: readonly LabRecord[] | undefined;
  /** The paths with a record, sorted. */
  #paths: string[] | undefined;

  /** Called with the number of the machine that owns a lab, for each record that is read again. */
  onOwner: (lab: string, machine: number | undefined) => void = () => {};

  /** Called when this service has written the record of a lab, which it therefore owns; `isThere`: it was not deleted. */
  onOwn: (lab: string, isThere: boolean) => void = () => {};

  /** Called with the record that another service has changed, before and after. */
  onOther: (before: LabRecord | undefined, after: LabRecord | undefined) => void = () => {};

  constructor(database: Database, leases: Leases, notices: Notices, failed: (lab: string, error: unknown) => void) {
    this.#database = database;
    this.#leases = leases;
    this.#notices = notices;
    this.#failed = failed;
  }

  /** Reads all records. Throws for a damaged one. */
  async open(): Promise<void> {
    const { rows } = await this.#database.query<LabRow & Record<string, unknown>>(sql.list, []);
    for (const row of rows) this.#show(row.path, entryOf(row));
  }

  /** Reads the records that other services have changed. */
  async catchUp(): Promise<void> {
    const { rows } = await this.#database.query<{ path: string; revision: string }>(sql.revisions, []);
    const there = new Map(rows.map(({ path, revision }) => [path, revision]));
    const stale = [...new Set([...there.keys(), ...this.#entries.keys()])].filter(
      (path) => !this.#writes.isBusy(path) && this.#entries.get(path)?.revision !== there.get(path),
    );
    await this.refresh(stale);
  }

  /** Reads the records of labs that another service has changed, with few statements. */
  async refresh(paths: readonly string[]): Promise<void> {
    for (let first = 0; first < paths.length; first += maxRead) await this.#refresh(paths.slice(first, first + maxRead));
  }

  /** Own writes of these labs wait until the rows are shown; a lab with writes on their way is read after them. */
  async #refresh(paths: readonly string[]): Promise<void> {
    const free = paths.filter((path) => !this.#writes.isBusy(path));
    const busy = paths.filter((path) => this.#writes.isBusy(path));
    let reading: Promise<ReadonlyMap<string, ReadRow>> | undefined;
    const refreshed = (path: string, read: () => Promise<ReadonlyMap<string, ReadRow>>) =>
      this.#writes.run(path, async () => this.#showRead(path, (await read()).get(path)));
    await Promise.all([
      ...free.map((path) => refreshed(path, () => (reading ??= this.#read(free)))),
      ...busy.map((path) => refreshed(path, () => this.#read([path]))),
    ]);
  }

  #showRead(path: string, row: ReadRow | undefined): void {
    this.onOwner(path, row?.owner ?? undefined);
    try {
      const entry = row === undefined || row.path === null ? undefined : entryOf(row as ReadRow & LabRow);
      if (this.#committed.has(path)) this.#committed.set(path, entry ?? null);
      else {
        const before = this.#entries.get(path)?.record;
        this.#show(path, entry);
        if (before !== undefined || entry !== undefined) this.onOther(before, entry?.record);
      }
    } catch (error) {
      this.#failed(path, error);
    }
  }

  readonly calls: Store["labs"] = {
    get: (path) => this.#entries.get(path)?.record,
    list: () => this.#list(),
    put: (record, admission) => this.#write(record.path, record, admission),
    putPlan: (path, direction, identity) => {
      const known = this.#entries.get(path)?.record;
      return known === undefined ? Promise.resolve() : this.#write(path, { ...known, plans: { ...known.plans, [direction]: identity } });
    },
    delete: (path) => this.#write(path, undefined),
  };

  /**
   * Writes the record of a lab; undefined deletes it. Reads see it at once. If the write fails, they see the committed record again, unless a later
   * write waits: it contains the data of this one.
   */
  #write(path: string, record: LabRecord | undefined, admission?: Admission): Promise<void> {
    if (!this.#committed.has(path)) this.#committed.set(path, this.#entries.get(path) ?? null);
    const shown = record === undefined ? undefined : { record, revision: undefined };
    this.#show(path, shown);
    return this.#writes.run(path, async () => {
      const before = this.#committed.get(path) ?? null;
      const settle = (entry: Entry | null) => {
        this.#committed.set(path, entry);
        if (this.#entries.get(path) !== shown) return;
        this.#show(path, entry ?? undefined);
        this.#committed.delete(path);
      };
      const revision = randomUUID();
      try {
        await this.#persist(path, record, { revision, before, admission });
        this.onOwn(path, record !== undefined);
        settle(record === undefined ? null : { record, revision });
      } catch (error) {
        // The outcome may be unknown. Without a revision, the next catch-up reads the row.
        settle(before === null ? null : { record: before.record, revision: undefined });
        throw error;
      }
    });
  }

  async #persist(
    path: string,
    record: LabRecord | undefined,
    {
      revision,
      before,
      admission,
    }: { readonly revision: string; readonly before: Entry | null; readonly admission: Admission | undefined },
  ): Promise<void> {
    const fence = await this.#leases.fenceOf(path);
    const keys = [path, fence.holder, fence.fence, this.#notices.text("lab", path)];
    const until = () => this.#leases.certainUntil;
    const write = async (database: Pick<Database, "query"> = this.#database): Promise<number> => {
      if (record === undefined) return (await database.query(sql.delete, [...keys, before?.record.identity ?? ""])).count;
      const { plans, yaml, files, applied, source, ...rest } = record;
      const [small, planned] = [JSON.stringify(rest), JSON.stringify(plans)];
      const isSame = before?.revision !== undefined && contentParts.every((part) => before.record[part] === record[part]);
      if (isSame) return (await database.query(sql.putSmall, [...keys, revision, small, planned])).count;
      const contents = JSON.stringify({ yaml, files, applied, source });
      return (await database.query(sql.put, [...keys, revision, small, contents, planned])).count;
    };
    // The same values under the same fence: a repeated write changes nothing else.
    const written = () => (admission === undefined ? write() : this.#admitted(path, admission, write));
    if ((await this.#database.persist(written, until)) === 0) throw this.#leases.lost(path, fence);
  }

  /** Writes under limits that other services count at the same time: each waits for the end of the write before. */
  #admitted(path: string, { limits, check }: Admission, write: (database: Pick<Database, "query">) => Promise<number>): Promise<number> {
    return this.#database.transaction(async (query) => {
      await query(sql.lockLimits, [limits.map(({ name }) => name).sort()]);
      const others: LabsUse[] = [];
      for (const { owners } of limits) {
        const { rows } = await query<LabsUse & Record<string, unknown>>(sql.use, [owners, path]);
        others.push({ labs: Number(rows[0]!.labs), nodes: Number(rows[0]!.nodes), memory: Number(rows[0]!.memory) });
      }
      check(others);
      return write({ query });
    });
  }

  async #read(paths: readonly string[]): Promise<ReadonlyMap<string, ReadRow>> {
    const { rows } = await this.#database.query<ReadRow>(sql.some, [paths]);
    return new Map(rows.map((row) => [row.asked, row]));
  }

  #show(path: string, entry: Entry | undefined): void {
    if (this.#entries.has(path) !== (entry !== undefined)) this.#paths = undefined;
    this.#listed = undefined;
    if (entry === undefined) this.#entries.delete(path);
    else this.#entries.set(path, entry);
  }

  /** Each change of a lab asks for the list, more than once: sorting thousands of paths each time would take longer than the change. */
  #list(): readonly LabRecord[] {
    this.#paths ??= [...this.#entries.keys()].sort();
    this.#listed ??= this.#paths.map((path) => this.#entries.get(path)!.record);
    return this.#listed;
  }
}

function entryOf({ path, revision, record, contents, plans }: LabRow): Entry {
  return { revision, record: { ...readLabRecord(path, record, contents), plans: JSON.parse(plans) as LabRecord["plans"] } };
}
