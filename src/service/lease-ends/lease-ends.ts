import { Failure } from "../../contract/errors.ts";
import { storedRequest } from "../changes/change-kind.ts";
import { guarded } from "../changes/managed.ts";
import { timeText } from "../common/clock.ts";
import { addressRecorded } from "../context/address.ts";
import type { ChangeParts, EventsPart } from "../context/parts.ts";
import { type LeaseStep, nextStep } from "../leases/lease.ts";
import type { LabRecord, StoredLease } from "../store/store.ts";
import { endLeaseKind, leaseUser } from "./end-lease.ts";

/** Interval of looking at the leases, ms. */
const everyMs = 15_000;
/** A longer time between two looks is a pause of the service or of the machine, ms. Warnings from before it are void. */
const maxPauseMs = 5 * 60_000;
/** Maximum difference of the clock and the uptime between two looks, ms: more means that the machine slept, or that its clock was set. */
const maxDriftMs = 60_000;
/** Minimum interval between two writes of a lab's last use, ms. */
const writeUseMs = 60_000;
/** Time until a failed end is tried again, ms. */
const retryMs = 15 * 60_000;
/** The same if a machine or the host did not answer. */
const awayRetryMs = 60_000;
/** Number of labs that are ended at the same time. */
const parallel = 3;

type LeaseParts = ChangeParts & EventsPart;

/** Warns of the ends of leases, ends them, and writes the last uses of labs. */
export class LeaseEnds {
  readonly #context: LeaseParts;
  readonly #ending = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #before: { readonly now: number; readonly uptime: number } | undefined;
  #awakeSince = 0;

  constructor(context: LeaseParts) {
    this.#context = context;
  }

  /** Looks at the leases from now on. */
  begin(): void {
    const failed = (error: unknown) => this.#context.log("error", "the leases of labs could not be checked", { error: String(error) });
    this.#timer ??= setInterval(() => void this.look().catch(failed), everyMs).unref();
  }

  /** Looks at all leases once. Resolves when the warnings are stored; labs may still be stopping. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Resolves when no lab is being ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#ending.values());
  }

  /** Writes the last uses. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    try {
      await this.#looking;
      for (const record of this.#context.store.labs.list()) await this.#writeUse(record, 0);
    } catch (error) {
      // The service must end all the same; the last use is then up to a minute older.
      this.#context.log("warn", "the last uses of labs could not be written", { error: String(error) });
    }
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#context;
    this.#noticePause(clock.now());
    for (const { path } of store.labs.list()) {
      try {
        const record = store.labs.get(path);
        if (record === undefined) continue;
        await this.#writeUse(record, writeUseMs);
        await this.#lookAt(path);
      } catch (error) {
        // Another service on the same database owns the lab, and ends its lease.
        if (error instanceof Failure && error.code === "lab_elsewhere") continue;
        this.#context.log("warn", "a lease could not be checked", { lab: path, error: String(error) });
      }
    }
  }

  #noticePause(now: number): void {
    const uptime = this.#context.clock.uptime?.() ?? performance.now();
    const before = this.#before;
    this.#before = { now, uptime };
    const awake = uptime - (before?.uptime ?? 0);
    if (before === undefined || awake > maxPauseMs || Math.abs(now - before.now - awake) > maxDriftMs) this.#awakeSince = now;
  }

  async #writeUse(record: LabRecord, minMs: number): Promise<void> {
    const usedAt = this.#context.uses.of(record);
    if (usedAt === undefined || usedAt - (record.usedAt ?? 0) <= minMs) return;
    try {
      await this.#context.store.labs.put({ ...record, usedAt });
    } catch (error) {
      if (error instanceof Failure && error.code === "lab_elsewhere") return;
      this.#context.log("warn", "the last use of a lab could not be written", { lab: record.path, error: String(error) });
    }
  }

  async #lookAt(path: string): Promise<void> {
    const { store, uses, jobs, clock } = this.#context;
    const record = store.labs.get(path);
    const lease = record?.lease;
    if (record === undefined || lease === undefined || lease.endedAt !== undefined) return;
    const now = clock.now();
    const step = nextStep(lease, { now, usedAt: uses.of(record), awakeSince: this.#awakeSince });
    if (step.do === "warn") return this.#warn(record, lease, step, now);
    if (step.do === "wait" || this.#ending.has(path) || this.#ending.size >= parallel) return;
    if (lease.failed !== undefined && now >= lease.failed.at && now < lease.failed.at + waitOf(lease.failed.code)) return;
    // A change that runs is not interrupted: the lease ends after it.
    if (jobs.running(path) !== undefined) return;
    this.#ending.set(
      path,
      this.#end(record).finally(() => this.#ending.delete(path)),
    );
  }

  async #warn(record: LabRecord, lease: StoredLease, step: LeaseStep & { readonly do: "warn" }, now: number): Promise<void> {
    const { failed: _failed, ...rest } = lease;
    await this.#context.store.labs.put({ ...record, lease: { ...rest, warning: { step: step.step, at: now, endsAt: step.at } } });
    this.#publish(record, { lease: "warning", at_end: lease.atEnd, reason: step.reason, ends_at: timeText(step.at) });
    this.#context.log("info", "the lease of a lab ends soon", { lab: record.path, at_end: lease.atEnd, at: timeText(step.at) });
  }

  /** Ends the lease by a change of the lab. A failure is stored with the lease, and the end is tried again later. */
  async #end(record: LabRecord): Promise<void> {
    const { path, owner, lease } = record;
    const atEnd = lease?.atEnd ?? "stop";
    try {
      const host = await this.#context.sessions.resume(owner);
      try {
        const target = await addressRecorded(this.#context, path, owner, host, `lease of ${path}`);
        const request = { atEnd };
        const { result } = await this.#context.jobs.start({
          operation: endLeaseKind.operation,
          lab: path,
          user: leaseUser,
          request: storedRequest(endLeaseKind, request),
          work: (job) => guarded(this.#context, target, job, () => endLeaseKind.run({ context: this.#context, job, target }, request)),
        });
        const { ended } = await result;
        if (ended) this.#publish(record, { lease: "ended", at_end: atEnd });
      } finally {
        await host.close();
      }
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "lab_busy") await this.#failed(record, error);
    }
  }

  async #failed(record: LabRecord, error: unknown): Promise<void> {
    const { code, message } =
      error instanceof Failure ? error : { code: "internal", message: "the service could not end the lease; see its log" };
    this.#context.log("warn", "a lease could not be ended", { lab: record.path, error: String(error) });
    const now = this.#context.store.labs.get(record.path);
    if (now?.lease === undefined || now.identity !== record.identity) return;
    const failed = { at: this.#context.clock.now(), code, error: message };
    try {
      await this.#context.store.labs.put({ ...now, lease: { ...now.lease, failed } });
    } catch (unwritten) {
      this.#context.log("warn", "the failure of a lease could not be written", { lab: record.path, error: String(unwritten) });
    }
    this.#publish(record, { lease: "failed", at_end: now.lease.atEnd, code });
  }

  /** Also for the users of a lab that the end of its lease has removed. */
  #publish(record: LabRecord, data: Readonly<Record<string, unknown>>): void {
    this.#context.events.publishFor({ type: "lab", lab: record.path, data }, record);
  }
}

/** Returns the time until the end of a lease that failed with this code is tried again, ms. */
function waitOf(code: string): number {
  return ["machine_unreachable", "host_unreachable", "host_timeout"].includes(code) ? awayRetryMs : retryMs;
}
