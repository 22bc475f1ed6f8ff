import { randomUUID } from "node:crypto";
import { KeyedQueue } from "../../../base/keyed-queue.ts";
import { contentParts } from "../labs-table.ts";
import type { LabRecord, Store } from "../store.ts";
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

const sql = {
  list: { name: "list_labs", text: "SELECT * FROM labs" },
  get: { name: "get_lab", text: "SELECT * FROM labs WHERE path = $1" },
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
    for (const row of rows) this.#entries.set(row.path, entryOf(row));
  }

  /** Reads the records that other services have changed. */
  async catchUp(): Promise<void> {
    const { rows } = await this.#database.query<{ path: string; revision: string }>(sql.revisions, []);
    const there = new Map(rows.map(({ path, revision }) => [path, revision]));
    const stale = [...new Set([...there.keys(), ...this.#entries.keys()])].filter(
      (path) => !this.#writes.isBusy(path) && this.#entries.get(path)?.revision !== there.get(path),
    );
    for (const path of stale) await this.refresh(path);
  }

  /** Reads the record of a lab that another service has changed. */
  refresh(path: string): Promise<void> {
    return this.#writes.run(path, async () => {
      try {
        const entry = await this.#read(path);
        if (this.#committed.has(path)) this.#committed.set(path, entry ?? null);
        else {
          const before = this.#entries.get(path)?.record;
          this.#show(path, entry);
          if (before !== undefined || entry !== undefined) this.onOther(before, entry?.record);
        }
      } catch (error) {
        this.#failed(path, error);
      }
    });
  }

  readonly calls: Store["labs"] = {
    get: (path) => this.#entries.get(path)?.record,
    list: () => [...this.#entries.values()].map(({ record }) => record).sort((a, b) => (a.path < b.path ? -1 : 1)),
    put: (record) => this.#write(record.path, record),
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
  #write(path: string, record: LabRecord | undefined): Promise<void> {
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
        await this.#persist(path, record, revision, before);
        settle(record === undefined ? null : { record, revision });
      } catch (error) {
        // The outcome may be unknown. Without a revision, the next catch-up reads the row.
        settle(before === null ? null : { record: before.record, revision: undefined });
        throw error;
      }
    });
  }

  async #persist(path: string, record: LabRecord | undefined, revision: string, before: Entry | null): Promise<void> {
    const fence = await this.#leases.fenceOf(path);
    const keys = [path, fence.holder, fence.fence, this.#notices.text("lab", path)];
    const until = () => this.#leases.certainUntil;
    const write = async (): Promise<number> => {
      if (record === undefined) return (await this.#database.query(sql.delete, [...keys, before?.record.identity ?? ""])).count;
      const { plans, yaml, files, applied, source, ...rest } = record;
      const [small, planned] = [JSON.stringify(rest), JSON.stringify(plans)];
      const isSame = before?.revision !== undefined && contentParts.every((part) => before.record[part] === record[part]);
      if (isSame) return (await this.#database.query(sql.putSmall, [...keys, revision, small, planned])).count;
      const contents = JSON.stringify({ yaml, files, applied, source });
      return (await this.#database.query(sql.put, [...keys, revision, small, contents, planned])).count;
    };
    // The same values under the same fence: a repeated write changes nothing else.
    if ((await this.#database.persist(write, until)) === 0) throw this.#leases.lost(path, fence);
  }

  async #read(path: string): Promise<Entry | undefined> {
    const { rows } = await this.#database.query<LabRow & Record<string, unknown>>(sql.get, [path]);
    return rows[0] === undefined ? undefined : entryOf(rows[0]);
  }

  #show(path: string, entry: Entry | undefined): void {
    if (entry === undefined) this.#entries.delete(path);
    else this.#entries.set(path, entry);
  }
}

function entryOf({ path, revision, record, contents, plans }: LabRow): Entry {
  return { revision, record: { ...readLabRecord(path, record, contents), plans: JSON.parse(plans) as LabRecord["plans"] } };
}
