import type { PostgresAddress } from "../address/address.ts";
import type { MachineStore } from "../machines.ts";
import { type Pace, PacedBatch } from "../pacing/paced-batch.ts";
import type { OthersListener, Store } from "../store.ts";
import { Accounts } from "./accounts.ts";
import { Database } from "./database.ts";
import { History } from "./history.ts";
import { Jobs } from "./jobs.ts";
import { Labs } from "./labs.ts";
import { Leases } from "./leases.ts";
import { Quotas, Reservations } from "./limits.ts";
import { Machines } from "./machines.ts";
import { type Migration, migrations, prepare } from "./migrations.ts";
import { type Notice, Notices } from "./notices.ts";
import { Sessions } from "./sessions.ts";

export interface PostgresOptions {
  /** Names the state directory of the service. A restart ends the lease of its predecessor on the same directory. */
  readonly installation: string;
  readonly log: (level: "info" | "warn" | "error", text: string, fields?: Readonly<Record<string, unknown>>) => void;
  /** A service that cannot renew its lease for this time may lose its labs, ms. Default 30,000. */
  readonly leaseMs?: number;
  /** The changes of the tables that this release knows. Absent: all of them. */
  readonly known?: readonly Migration[];
  /** Rejects if the service must not begin: the lease of its predecessor on the same directory goes on. */
  readonly beforeLease?: (machines: MachineStore) => Promise<void> | undefined;
}

/**
 * Each change of a lab is a notice for each service of the database. In a busy time, a service reads the changed labs together: a large fleet as seldom as once a
 * second, so that the reads of all machines together do not grow with the fleet. Calls about a lab do not wait for this: its own machine answers them.
 */
function noticePace(services: number): Pace {
  return { batches: Math.min(10, Math.max(1, Math.round(100 / services))), withinMs: 1_000 };
}

/** Opens the store in a PostgreSQL database, and brings its tables to this release. Throws an Error with a readable message if it cannot be used. */
export async function postgresStore(
  address: PostgresAddress,
  { installation, log, leaseMs = 30_000, known = migrations, beforeLease }: PostgresOptions,
): Promise<Store> {
  await prepare(address, { installation, known });
  const others = new Set<OthersListener>();
  const doubtful = new Set<() => void>();
  const renewed = new Set<() => void>();
  const superseded = new Set<() => void>();
  const database = new Database(address, (isReachable) => {
    if (isReachable) log("info", "the database answers again");
    else log("warn", "the database does not answer: reads come from memory, and changes wait or are refused; running labs go on");
  });
  const leases = new Leases(
    database,
    { installation, leaseMs, schemaVersion: known.length },
    {
      doubtful: () => {
        log("error", "the lease of this service cannot be renewed: changes end; running labs go on");
        for (const listener of doubtful) listener();
      },
      renewed: (isSame) => {
        log(isSame ? "info" : "warn", isSame ? "the lease is renewed" : "another service ended the lease of this one: a new lease begins");
        for (const listener of renewed) listener();
      },
      outdated: () =>
        log(
          "error",
          "a newer release has changed the tables while this service was cut off: it changes nothing any more; install that release and restart it. Running labs go on",
        ),
      superseded: () => {
        log("error", "another service has begun with a copy of the state directory of this one");
        for (const listener of superseded) listener();
      },
    },
  );
  const unread = (what: string, error: unknown) =>
    log("warn", "a change of another service could not be read", { what, error: String(error) });
  const lost = (what: string, error: unknown) => {
    unread(what, error);
    // There is no second notice: without this, a user who was removed would stay.
    notices.reopen();
  };
  const paced = (what: string, work: (keys: readonly string[]) => Promise<void>) =>
    new PacedBatch<string>(work, {
      pace: () => noticePace(machines.list().length),
      failed: (keys, error) => lost(`${what} ${keys.slice(0, 3).join(", ")}`, error),
    });
  const changedLabs = paced("lab", (paths) => labs.refresh(paths));
  const endedJobs = paced("job", async (ids) => {
    for (const row of await jobs.refresh(ids)) for (const listener of others) listener.job(row);
  });
  const heard = ({ kind, key }: Notice) => {
    if (kind === "lab") return changedLabs.add(key);
    if (kind === "job") return endedJobs.add(key);
    const refresh = {
      session: () => sessions.refresh(key),
      quota: async () => {
        await quotas.catchUp();
        await reservations.catchUp();
      },
      account: () => accounts.catchUp(),
      machine: () => machines.catchUp(),
    };
    return void refresh[kind]().catch((error: unknown) => lost(`${kind} ${key}`, error));
  };
  const notices = new Notices(
    address,
    () => leases.holder,
    heard,
    async () => {
      await sessions.catchUp();
      await labs.catchUp();
      await jobs.catchUp();
      await quotas.catchUp();
      await reservations.catchUp();
      await accounts.catchUp();
      await machines.catchUpWhole();
    },
  );
  const labs = new Labs(database, leases, notices, unread);
  labs.onOwn = (lab, isThere) => machines.noteOwner(lab, isThere ? machines.own : undefined);
  labs.onOwner = (lab, machine) => machines.noteOwner(lab, machine);
  labs.onOther = (before, after) => {
    for (const listener of others) listener.lab(before, after);
  };
  const history = new History(database, leases, labs);
  const jobs = new Jobs(database, leases, notices, history);
  const sessions = new Sessions(database, notices);
  const quotas = new Quotas(database, notices);
  const reservations = new Reservations(database, notices);
  const accounts = new Accounts(database, notices);
  const machines = new Machines(database, leases, notices);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => database.close());
  await beforeLease?.(machines);
  await leases.open();
  opened.defer(() => leases.close());
  await labs.open();
  await notices.open();
  opened.defer(() => notices.close());
  opened.defer(async () => {
    await Promise.all([changedLabs.close(), endedJobs.close()]);
  });
  const open = opened.move();
  return {
    sessions: sessions.calls,
    labs: labs.calls,
    jobs: jobs.calls,
    history: history.calls,
    quotas: quotas.calls,
    reservations: reservations.calls,
    shared: {
      shown: address.shown,
      accounts,
      machines,
      silentMs: () => (database.isReachable ? undefined : database.silentMs),
      onOthers: (listener) => void others.add(listener),
      onDoubtful: (listener) => void doubtful.add(listener),
      onRenewed: (listener) => void renewed.add(listener),
      onSuperseded: (listener) => void superseded.add(listener),
    },
    close: () => open.disposeAsync(),
  };
}
