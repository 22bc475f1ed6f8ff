import { Pool, type PoolClient, type QueryResultRow, types } from "pg";
import { Failure } from "../../../contract/errors.ts";
import type { PostgresAddress } from "../address/address.ts";
import { clientOf } from "../address/servers.ts";
import { isUnavailable, storeRefused, storeUnavailable } from "./unavailable.ts";

/** A prepared statement: each connection parses and plans it once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export interface Answer<Row> {
  readonly rows: readonly Row[];
  readonly count: number;
}

/** A statement that has no answer after this time has failed, ms. */
const answerMs = 5_000;
const connectMs = 3_000;
/** How often an unreachable database is tried again, ms. */
const againMs = 250;

/** Large numbers of PostgreSQL as numbers: all of ours are times and counters. */
export const parsers = {
  getTypeParser: (oid: number, format?: "text" | "binary") => (oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format)),
};

/** ms between two outages that count as one: machines could not report in between. */
const betweenOutagesMs = 10_000;

/** Joins an outage with the one before, if that has just ended. */
export function joinedOutage(before: Outage | undefined, { endedAt, ms }: Outage): Outage {
  const began = endedAt - ms;
  if (before === undefined || began - before.endedAt > betweenOutagesMs) return { endedAt, ms };
  return { endedAt, ms: endedAt - (before.endedAt - before.ms) };
}

/** A time in which the database did not answer. */
export interface Outage {
  /** By `performance.now()`. */
  readonly endedAt: number;
  readonly ms: number;
}

/** Connections to PostgreSQL, and whether it answers. */
export class Database {
  readonly #pool: Pool;
  /** `performance.now()` of the last answer. */
  #answeredAt = performance.now();
  #isReachable = true;
  #lastOutage: Outage | undefined;
  #closed = false;
  readonly #changed: (isReachable: boolean) => void;

  constructor({ config, servers }: PostgresAddress, changed: (isReachable: boolean) => void) {
    this.#changed = changed;
    this.#pool = new Pool({
      ...config,
      max: 8,
      connectionTimeoutMillis: connectMs,
      query_timeout: answerMs,
      statement_timeout: answerMs,
      idle_in_transaction_session_timeout: 2 * answerMs,
      keepAlive: true,
      application_name: "labwright",
      types: parsers,
      Client: clientOf(servers),
    } as unknown as ConstructorParameters<typeof Pool>[0]);
    // An idle connection that ends: the next statement opens another one.
    this.#pool.on("error", (error) => this.#note(error));
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  get lastOutage(): Outage | undefined {
    return this.#lastOutage;
  }

  /** Time since the last answer, ms. */
  get silentMs(): number {
    return performance.now() - this.#answeredAt;
  }

  /** Runs a statement. Throws `store_unavailable` if PostgreSQL does not answer; the statement may have been committed nevertheless. */
  async query<Row extends QueryResultRow>(statement: Statement, values: readonly unknown[]): Promise<Answer<Row>> {
    try {
      const { rows, rowCount } = await this.#pool.query<Row>({ ...statement, values: [...values] });
      this.#answered();
      return { rows, count: rowCount ?? 0 };
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Runs several statements in one transaction, on one connection. */
  async transaction<Result>(
    work: (
      query: <Row extends QueryResultRow>(statement: Statement, values: readonly unknown[]) => Promise<Answer<Row>>,
    ) => Promise<Result>,
  ): Promise<Result> {
    let client: PoolClient | undefined;
    // The pool handles errors of idle connections only; without this, a cut between two statements would end the process.
    const cut = (error: Error) => this.#note(error);
    try {
      const connected = await this.#pool.connect();
      client = connected;
      connected.on("error", cut);
      await connected.query("BEGIN");
      const result = await work(async <Row extends QueryResultRow>(statement: Statement, values: readonly unknown[]) => {
        const { rows, rowCount } = await connected.query<Row>({ ...statement, values: [...values] });
        return { rows, count: rowCount ?? 0 };
      });
      await connected.query("COMMIT");
      connected.off("error", cut);
      connected.release();
      this.#answered();
      return result;
    } catch (error) {
      // The server rolls back what a closed connection has begun. The listener stays: errors may follow.
      client?.release(true);
      throw this.#failed(error);
    }
  }

  /**
   * Repeats work that may be repeated, until PostgreSQL answers or `until` is over: a write under a fence with the same values, or a read.
   * @param until `performance.now()` of the last try, asked again before each
   */
  async persist<Result>(work: () => Promise<Result>, until: () => number): Promise<Result> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const isPassing = error instanceof Failure && error.code === "store_unavailable";
        if (!isPassing || this.#closed || performance.now() + againMs > until()) throw error;
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool.end();
  }

  #failed(error: unknown): unknown {
    if (error instanceof Failure) return error;
    if (!isUnavailable(error)) return storeRefused(error);
    this.#note(error);
    return storeUnavailable(error);
  }

  #note(error: unknown): void {
    if (this.#closed || !this.#isReachable || !isUnavailable(error)) return;
    this.#isReachable = false;
    this.#changed(false);
  }

  #answered(): void {
    const now = performance.now();
    if (!this.#isReachable) this.#lastOutage = joinedOutage(this.#lastOutage, { endedAt: now, ms: now - this.#answeredAt });
    this.#answeredAt = now;
    if (this.#isReachable) return;
    this.#isReachable = true;
    this.#changed(true);
  }
}
