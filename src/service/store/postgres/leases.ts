import { Failure } from "../../../contract/errors.ts";
import type { HandedLab } from "../machines.ts";
import type { Database, Statement } from "./database.ts";
import { tooOldCode } from "./migrations.ts";

/** A lab that this service owns: every write about the lab names both numbers. */
export interface Fence {
  readonly holder: number;
  readonly fence: number;
}

export interface LeaseOptions {
  /** Names the state directory of the service: only one service runs on it, so a restart ends the lease of its predecessor. */
  readonly installation: string;
  /** A service that cannot renew for this time loses its labs to the next service that asks for them, ms. */
  readonly leaseMs: number;
  /** The version of the tables that this release knows. */
  readonly schemaVersion: number;
}

export interface LeaseEvents {
  /** The lease cannot be renewed in time: the service must not change labs any more. */
  readonly doubtful: () => void;
  /** The lease is renewed again. `isSame`: no other service has ended it meanwhile. */
  readonly renewed: (isSame: boolean) => void;
  /** A newer release has changed the tables: this service gets no lease any more. */
  readonly outdated: () => void;
  /** A service has begun with the same installation, which is therefore a copy: this service must end. */
  readonly superseded: () => void;
}

/** Whether a service `s` is lost: it has not ended by itself, and its lease is over. */
export const isLost = "(s.lost OR (s.ended_at IS NULL AND s.ends_at <= clock_timestamp()))";

const sql = {
  end: {
    name: "end_services",
    text: "UPDATE services SET ended_at = clock_timestamp() WHERE installation = $1 AND id <> $2 AND ended_at IS NULL",
  },
  register: {
    name: "register_service",
    text: "INSERT INTO services (installation, ends_at, schema_version) VALUES ($1, clock_timestamp() + $2 * interval '1 ms', $3) RETURNING id",
  },
  // The state directory has the labs of the processes before: a lease that stayed with one of them would look like that of a service that was stopped.
  inherit: {
    name: "inherit_leases",
    text: `UPDATE leases SET holder = $2, fence = nextval('fences') FROM services s WHERE s.id = holder AND s.installation = $1 AND s.id <> $2`,
  },
  // A service that nobody has ended may renew late: the service that ends it takes the same row lock first.
  renew: {
    name: "renew_service",
    text: "UPDATE services SET ends_at = clock_timestamp() + $2 * interval '1 ms' WHERE id = $1 AND ended_at IS NULL",
  },
  superseded: { name: "is_service_superseded", text: "SELECT FROM services WHERE installation = $1 AND id > $2 AND ended_at IS NULL" },
  leave: { name: "leave_service", text: "UPDATE services SET ended_at = clock_timestamp() WHERE id = $1 AND ended_at IS NULL" },
  make: {
    name: "make_lease",
    text: "INSERT INTO leases (lab, holder, fence) VALUES ($1, $2, nextval('fences')) ON CONFLICT (lab) DO NOTHING RETURNING fence",
  },
  lock: { name: "lock_lease", text: "SELECT holder, fence FROM leases WHERE lab = $1 FOR UPDATE" },
  endLate: {
    name: "end_late_service",
    text: "UPDATE services SET ended_at = clock_timestamp() WHERE id = $1 AND ended_at IS NULL AND ends_at <= clock_timestamp()",
  },
  current: { name: "current_lease", text: "SELECT holder, fence FROM leases WHERE lab = $1" },
  isEnded: {
    name: "is_service_ended",
    text: `SELECT ended_at IS NOT NULL AS ended, installation,
      EXISTS (SELECT FROM labs WHERE path = $2) OR EXISTS (SELECT FROM jobs WHERE lab = $2 AND status = 'running') AS has_lab, (SELECT name FROM machines m WHERE m.installation = s.installation) AS machine
      FROM services s WHERE id = $1 FOR SHARE OF s`,
  },
  endJobs: {
    name: "end_jobs_of_lost_lab",
    text: `UPDATE jobs SET status = 'failed', outcome = 'interrupted', finished_at = $3, error = $2, request = 'null'
      WHERE lab = $1 AND status = 'running'`,
  },
  lockLost: {
    name: "lock_lost_service",
    text: `SELECT s.installation FROM services s JOIN machines m ON m.installation = s.installation
      WHERE s.id = $1 AND m.seen_at < clock_timestamp() - interval '9 s' AND ${isLost} FOR UPDATE OF s`,
  },
  endLost: {
    name: "end_lost_service",
    text: "UPDATE services SET ended_at = coalesce(ended_at, clock_timestamp()), lost = true WHERE id = $1",
  },
  lockOfMachine: {
    name: "lock_lease_of_machine",
    text: `SELECT l.holder FROM leases l JOIN services s ON s.id = l.holder JOIN machines m ON m.installation = s.installation
      WHERE l.lab = $1 AND m.number = $2 FOR UPDATE OF l`,
  },
  endHanded: {
    name: "end_job_of_handed_lab",
    text: `UPDATE jobs SET status = 'done', outcome = 'finished', finished_at = $3, result = $4, error = NULL, request = 'null'
      WHERE id = $1 AND lab = $2 AND status = 'running'`,
  },
  notify: { name: "notify_taken", text: "SELECT pg_notify('labwright', $1)" },
  take: { name: "take_lease", text: "UPDATE leases SET holder = $2, fence = nextval('fences') WHERE lab = $1 RETURNING fence" },
} as const satisfies Readonly<Record<string, Statement>>;

/** The service that has the lease of a lab. */
interface Owner extends Record<string, unknown> {
  readonly ended: boolean;
  readonly installation: string;
  readonly has_lab: boolean;
  /** Its machine in the fleet; null: none. */
  readonly machine: string | null;
}

/** Error of a change whose service lost the lab. */
const takenOver = {
  code: "cancelled",
  error: "the service that ran this change was lost, and another one has taken the lab over. Plan the lab to see what is left to do",
};

/**
 * The lease of this service, and the labs that it owns. A lab's lease ends with the lease of the service that holds it, so one row is renewed for all
 * labs. Only the clock of the database decides whether a lease has ended; the service's own clock only makes it stop changing labs before that.
 */
export class Leases {
  readonly #database: Database;
  readonly #options: LeaseOptions;
  readonly #events: LeaseEvents;
  readonly #fences = new Map<string, Promise<Fence>>();
  #holder = 0;
  /** `performance.now()` until which the lease is certain. */
  #certainUntil = 0;
  #isDoubtful = false;
  #renewTimer: NodeJS.Timeout | undefined;
  #doubtTimer: NodeJS.Timeout | undefined;
  #closed = false;
  #isOutdated = false;

  constructor(database: Database, options: LeaseOptions, events: LeaseEvents) {
    this.#database = database;
    this.#options = options;
    this.#events = events;
  }

  /** Ends the lease of an earlier process on the same state directory, and begins a new one. */
  async open(): Promise<void> {
    await this.#register();
    this.#renewLater();
  }

  /** `performance.now()` until which this service may change labs. */
  get certainUntil(): number {
    return this.#certainUntil;
  }

  get installation(): string {
    return this.#options.installation;
  }

  get holder(): number {
    return this.#holder;
  }

  /** Whether this service has found out that it owns the lab. */
  owns(lab: string): boolean {
    return this.#fences.has(lab);
  }

  /** Another service has been seen to own the lab. */
  forget(lab: string): void {
    this.#fences.delete(lab);
  }

  /** Returns the fence of a lab, which this service takes if no other service owns it. Throws `lab_elsewhere`. */
  fenceOf(lab: string): Promise<Fence> {
    if (this.#isOutdated) return Promise.reject(outdated());
    const known = this.#fences.get(lab);
    if (known !== undefined) return known;
    const taking = this.#take(lab);
    this.#fences.set(lab, taking);
    taking.catch(() => this.#fences.get(lab) === taking && this.#fences.delete(lab));
    return taking;
  }

  /**
   * Takes a lab over from a machine of the fleet that is lost. Returns false if it is not, or another machine has taken the lab.
   * @param notice for the other services
   */
  async takeLost(lab: string, notice: string): Promise<boolean> {
    const holder = this.#holder;
    const fence = await this.#database.transaction(async (query) => {
      const [before] = (await query<Fence>(sql.lock, [lab])).rows;
      if (before === undefined) return undefined;
      const [lost] = (await query<{ installation: string }>(sql.lockLost, [before.holder])).rows;
      if (lost === undefined || lost.installation === this.#options.installation) return undefined;
      // Its renewals fail from here on.
      await query(sql.endLost, [before.holder]);
      await query(sql.endJobs, [lab, JSON.stringify(takenOver), Date.now()]);
      const [taken] = (await query<{ fence: number }>(sql.take, [lab, holder])).rows;
      await query(sql.notify, [notice]);
      return taken?.fence;
    });
    if (fence === undefined) return false;
    this.#fences.set(lab, Promise.resolve({ holder, fence }));
    return true;
  }

  /**
   * Takes a lab that a running job of another machine hands over, and ends the job. The row of the job decides: the machine that ends it first, its own or this
   * one, has the lab. Returns false if the lab stays where it is.
   */
  async takeHanded(lab: string, { from, job, result }: HandedLab, notices: readonly string[]): Promise<boolean> {
    const holder = this.#holder;
    const fence = await this.#database.transaction(async (query) => {
      if ((await query(sql.lockOfMachine, [lab, from])).count === 0) return undefined;
      if ((await query(sql.endHanded, [job, lab, Date.now(), JSON.stringify(result)])).count === 0) return undefined;
      const [taken] = (await query<{ fence: number }>(sql.take, [lab, holder])).rows;
      for (const notice of notices) await query(sql.notify, [notice]);
      return taken?.fence;
    });
    if (fence === undefined) return false;
    this.#fences.set(lab, Promise.resolve({ holder, fence }));
    return true;
  }

  /** Returns the owner of a lab, this service or another one. */
  async current(lab: string): Promise<Fence | undefined> {
    const { rows } = await this.#database.query<Fence & Record<string, unknown>>(sql.current, [lab]);
    return rows[0];
  }

  /** A write named an old fence: another service owns the lab now. Returns the failure of the write. */
  lost(lab: string, fence: Fence): Failure {
    this.#fences.delete(lab);
    const text = `another service has taken over ${lab}: nothing was written. Send the call to that service`;
    return new Failure<"lab_elsewhere">("lab_elsewhere", text, {
      data: { lab },
      cause: new Error(`fence ${fence.fence} of holder ${fence.holder} is old`),
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#renewTimer);
    clearTimeout(this.#doubtTimer);
    // Without an answer the lease ends by itself.
    await this.#database.query(sql.leave, [this.#holder]).catch(() => undefined);
  }

  async #register(): Promise<void> {
    const { installation, leaseMs, schemaVersion } = this.#options;
    const sentAt = performance.now();
    this.#holder = await this.#database.transaction(async (query) => {
      // As a service that takes a lab, it locks the leases before the services.
      const { rows } = await query<{ id: number }>(sql.register, [installation, leaseMs, schemaVersion]);
      const { id } = rows[0]!;
      await query(sql.inherit, [installation, id]);
      await query(sql.end, [installation, id]);
      return id;
    });
    this.#fences.clear();
    this.#renewed(sentAt);
  }

  #renewed(sentAt: number): void {
    const { leaseMs } = this.#options;
    // A step that has begun needs some time to end.
    this.#certainUntil = sentAt + leaseMs * 0.8;
    clearTimeout(this.#doubtTimer);
    this.#doubtTimer = setTimeout(() => this.#doubt(), this.#certainUntil - performance.now());
    this.#doubtTimer.unref();
  }

  #doubt(): void {
    if (this.#isDoubtful || this.#closed) return;
    this.#isDoubtful = true;
    this.#events.doubtful();
  }

  #renewLater(): void {
    if (this.#closed) return;
    this.#renewTimer = setTimeout(() => void this.#renew(), this.#options.leaseMs / 6);
    this.#renewTimer.unref();
  }

  async #renew(): Promise<void> {
    const sentAt = performance.now();
    // After a pause of the process, the timers of the doubt and of the renewal end at the same time.
    if (sentAt > this.#certainUntil) this.#doubt();
    try {
      const { count } = await this.#database.query(sql.renew, [this.#holder, this.#options.leaseMs]);
      const isSame = count === 1;
      if (isSame) this.#renewed(sentAt);
      else {
        // Another service has ended this lease, and may own some of the labs.
        this.#doubt();
        const { installation } = this.#options;
        if ((await this.#database.query(sql.superseded, [installation, this.#holder])).count > 0) {
          // Two services that register again and again would each end the lease of the other.
          this.#closed = true;
          this.#events.superseded();
          return;
        }
        await this.#register();
      }
      if (this.#isDoubtful && !this.#closed) {
        this.#isDoubtful = false;
        this.#events.renewed(isSame);
      }
    } catch (error) {
      // Otherwise the database has logged that it is unreachable. The doubt comes by its own timer.
      if (!this.#isOutdated && isTooOld(error)) {
        this.#isOutdated = true;
        this.#events.outdated();
      }
    } finally {
      this.#renewLater();
    }
  }

  async #take(lab: string): Promise<Fence> {
    const holder = this.#holder;
    return this.#database.transaction(async (query) => {
      const made = await query<{ fence: number }>(sql.make, [lab, holder]);
      if (made.rows[0] !== undefined) return { holder, fence: made.rows[0].fence };
      const { rows } = await query<Fence>(sql.lock, [lab]);
      const [before] = rows;
      // The row was there a moment ago, and rows of leases are deleted only with their service.
      if (before === undefined) throw new Failure("store_unavailable", `the lease of ${lab} changes; try again`, { retryAfter: 1 });
      if (before.holder === holder) return before;
      await query(sql.endLate, [before.holder]);
      const [owner] = (await query<Owner>(sql.isEnded, [before.holder, lab])).rows;
      const isOwn = owner?.installation === this.#options.installation;
      // A lease outlives its lab.
      const hasLab = owner?.has_lab === true;
      if (hasLab && owner.machine !== null && !isOwn) throw ofMachine(lab, owner.machine);
      if (hasLab && !owner.ended) {
        throw new Failure<"lab_elsewhere">(
          "lab_elsewhere",
          `${lab} belongs to another service on the same database: send the call to that service`,
          {
            data: { lab },
          },
        );
      }
      // The jobs of an earlier process on this state directory are finished by recovery.
      if (!isOwn) await query(sql.endJobs, [lab, JSON.stringify(takenOver), Date.now()]);
      const taken = await query<{ fence: number }>(sql.take, [lab, holder]);
      return { holder, fence: taken.rows[0]!.fence };
    });
  }
}

/** The nodes of a lab are on the machine that owns it: no other takes it over while that one is in the fleet. */
function ofMachine(lab: string, machine: string): Failure {
  const text = `${lab} is on the machine ${machine}, which does not answer: nothing was changed. If it is lost for good: labwright machines remove ${machine}`;
  return new Failure<"lab_elsewhere">("lab_elsewhere", text, { data: { lab } });
}

function outdated(): Failure {
  const text =
    "a newer release has changed the service's database, and this one cannot write to it any more: install that release and restart the service";
  return new Failure("store_unavailable", text);
}

function isTooOld(error: unknown): boolean {
  return error instanceof Failure && (error.cause as { readonly code?: unknown } | undefined)?.code === tooOldCode;
}
