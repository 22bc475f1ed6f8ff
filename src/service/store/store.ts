import type { TokenScope } from "../../contract/token-scopes.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostSession, NativeIds } from "../../hosts/host.ts";
import type { AccountStore } from "../../hosts/host-accounts.ts";
import type { LabLease } from "../../intent/lab/lab.ts";
import type { MachineStore } from "./machines.ts";

/** A bearer session. The token itself is not stored. Times are ms since the epoch. */
export interface SessionRow {
  /** SHA-256 of the token, hex. */
  readonly hash: string;
  readonly user: string;
  readonly role: HostSession["role"];
  /** Credential version of the account at login; absent if the host does not report it. */
  readonly credential?: string;
  readonly createdAt: number;
  readonly usedAt: number;
  readonly revoked: boolean;
  /** Present for an API token, which is a session with a scope and an expiry of its own. */
  readonly token?: ApiToken;
}

/** Limits of an API token. */
export interface ApiToken {
  /** For lists and for its revocation. No secret. */
  readonly id: string;
  readonly name: string;
  readonly scope: TokenScope;
  /** Patterns of the paths of labs to which it is limited. Absent: it is for all labs of its user. */
  readonly labs?: readonly string[];
  /** ms since the epoch. */
  readonly expiresAt: number;
}

/** A browser's cookie for a bearer session. The cookie itself is not stored. */
export interface BrowserSessionRow {
  /** SHA-256 of the cookie's value, hex. */
  readonly hash: string;
  /** Hash of the bearer session. */
  readonly session: string;
  readonly createdAt: number;
}

export type ProjectMode = "create" | "import" | "load";
export type Direction = "to_host" | "from_host";

/** Rights that an owner may grant. Each includes the previous ones. */
export const grantable = ["view", "operate", "edit"] as const;
export type GrantedRight = (typeof grantable)[number];

/** Whether nodes that ended with the host are restarted when the service starts. */
export type ResumePolicy = "always" | "never";

/** The lease of a lab: that of its intent, and its state. Times are ms since the epoch. */
export interface StoredLease extends LabLease {
  readonly begunAt: number;
  /** An extension: the lease does not end before this time. */
  readonly heldUntil?: number;
  /** The newest warning, of two, and the end that it announced. */
  readonly warning?: { readonly step: 1 | 2; readonly at: number; readonly endsAt: number };
  /** It has ended: the nodes were stopped. */
  readonly endedAt?: number;
  /** The last attempt to end it, if that failed. */
  readonly failed?: { readonly at: number; readonly code: string; readonly error: string };
}

/** The size of a lab, as quotas count it. */
export interface LabSize {
  readonly nodes: number;
  /** MiB. */
  readonly memory: number;
}

/** Limits of a quota. Absent: none. */
export interface QuotaLimits {
  readonly labs?: number;
  readonly nodes?: number;
  /** MiB. */
  readonly memory?: number;
  readonly captures?: number;
}

/** A quota of a user, of a group, or of each user without one (default, with an empty name). */
export interface QuotaRow extends QuotaLimits {
  readonly kind: "user" | "group" | "default";
  readonly name: string;
  /** For a group: the users whose labs count together. */
  readonly members?: readonly string[];
}

/** The service's record of a managed lab. */
export interface LabRecord {
  /** As on the host: /courses/bgp-1. */
  readonly path: string;
  /** Unique id of this lab. A later lab at the same path has a different one. */
  readonly identity: string;
  readonly mode: ProjectMode;
  readonly owner: string;
  /** Rights of other users, by user name. */
  readonly grants?: Readonly<Record<string, GrantedRight>>;
  /** The intent of the last apply; absent: none yet. */
  readonly yaml?: string;
  readonly files: Readonly<Record<string, string>>;
  /** The host's definition after the last change: any difference was made on the host itself. */
  readonly applied?: ObservedLab;
  /** Number of applies. */
  readonly serial: number;
  /** The host's id of the lab. */
  readonly labId?: string;
  readonly ids: NativeIds;
  /** Newest plan identity per direction. */
  readonly plans: Readonly<Partial<Record<Direction, string>>>;
  /** Last requested power by node key. */
  readonly power: Readonly<Record<string, boolean>>;
  /** Keys of nodes that an interrupted change did not start: the next plan starts them. Absent: none. */
  readonly owedStarts?: readonly string[];
  /** Host folders that were created for this lab and are deleted with it. Absent: none. */
  readonly folders?: readonly string[];
  /** Whether nodes that ended with the host are restarted; absent: the service's default. */
  readonly resume?: ResumePolicy;
  /** Size of the lab after its last change, or during the change. Absent: written by an older release. */
  readonly size?: LabSize;
  /** Result of the newest run of all its tests. Absent: none since this is recorded. */
  readonly tests?: { readonly passed: number; readonly failed: number; readonly errors: number; readonly at: number };
  /** Absent: the lab has none. */
  readonly lease?: StoredLease;
  /** Last use by a user, ms, at most a minute old. Absent: none since this is recorded. */
  readonly usedAt?: number;
  /** Source of an imported lab. */
  readonly source?: unknown;
  /** Free text of the last change's caller about where the intent is kept. */
  readonly origin?: string;
  readonly updatedAt: number;
}

/** Room on a machine for the labs of a user in a time of the future. Times: ms since the epoch. */
export interface ReservationRow {
  readonly id: string;
  readonly user: string;
  readonly from: number;
  readonly until: number;
  /** MiB, for all labs of the user on the machine together. */
  readonly memory: number;
  readonly nodes: number;
  /** Name of the machine of the fleet. Absent: there was none. */
  readonly machine?: string;
}

export type JobStatus = "running" | "done" | "failed" | "cancelled";
export type JobOutcome = "finished" | "failed" | "cancelled" | "finished_after_restart" | "rolled_back" | "interrupted";

/** One step of a change in the journal: enough to show and to finish it, without contents. */
export interface JobStep {
  readonly id: string;
  readonly op: string;
  readonly kind: string;
  readonly key: string;
  readonly do: string;
}

/** A change in the journal. */
export interface JobRow {
  readonly id: string;
  readonly lab: string;
  /** Identity of the lab's record, or of the record that the change creates. Absent in rows of older versions. */
  readonly identity?: string;
  /** Owner of the lab at the start of the change, or its creator. Absent in rows of older versions. */
  readonly owner?: string;
  /** True if its steps or request cannot be read. */
  readonly unreadable?: true;
  /** Operation id: deployProject … */
  readonly operation: string;
  readonly user: string;
  /** Options and intent for recovery. null after the end of the change. */
  readonly request: unknown;
  readonly status: JobStatus;
  readonly outcome?: JobOutcome;
  readonly startedAt: number;
  readonly finishedAt?: number;
  readonly steps: readonly JobStep[];
  /** Number of finished steps: they run in order. */
  readonly done: number;
  /** Redacted by job-answer.ts. */
  readonly result?: unknown;
  readonly error?: JobError;
}

export interface JobError {
  readonly code: string;
  readonly error: string;
  readonly data?: unknown;
}

/** The complete answer that the caller of a change got. */
export type JobAnswer = { readonly result: unknown } | { readonly error: JobError };

export interface JobFinish extends Pick<JobRow, "status" | "outcome" | "finishedAt" | "result" | "error"> {
  /** Stored with the change's Idempotency-Key, if it has one, until the key expires. */
  readonly answer?: JobAnswer;
}

/** An Idempotency-Key of a user, and its job. */
export interface JobKeyRow {
  readonly user: string;
  readonly key: string;
  /** SHA-256 of operation and body, hex. */
  readonly request: string;
  readonly job: string;
  readonly createdAt: number;
  /** Once the job has ended. */
  readonly answer?: JobAnswer;
}

/** A state of a lab in its history: an intent that was recorded, and the change that recorded it. */
export interface HistoryRow {
  /** Serial of the lab's record with this intent. */
  readonly serial: number;
  readonly at: number;
  /** Absent for a state that an older version recorded, as are the next two. */
  readonly user?: string;
  /** Operation id: deployProject, editProject … */
  readonly operation?: string;
  /** The change that applied it; absent for an edit that only records the text. */
  readonly job?: string;
  /** Outcome of the job, after its end. */
  readonly outcome?: JobOutcome;
  readonly nodes: number;
  readonly links: number;
  /** Steps of the change, after its end; absent if they are too many to keep. */
  readonly steps?: readonly JobStep[];
  readonly stepCount?: number;
  /** False if the text is too large to keep. */
  readonly hasText: boolean;
}

export interface HistoryText {
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
}

export interface NewHistoryRow extends Pick<HistoryRow, "serial" | "at" | "user" | "operation" | "job" | "nodes" | "links"> {
  /** Identity of the lab's record. */
  readonly identity: string;
  /** Changes only with the text. */
  readonly digest: string;
}

/** Jobs of older versions have no identity: they belong to the lab if its owner made them. */
export type LabOfJobs = Pick<LabRecord, "identity" | "owner">;

export interface JobEnd {
  readonly id: string;
  readonly operation: string;
  readonly outcome: JobOutcome;
  readonly finishedAt: number;
  /** It failed before it had any steps, so it changed nothing. */
  readonly failedEarly: boolean;
}

/** Sums of labs. Memory: MiB. */
export interface LabsUse extends LabSize {
  readonly labs: number;
}

/** Limits of labs that count when a record is written, because another service may write the record of another lab at the same time. */
export interface Admission {
  /** Unique names of the limits, and the owners whose labs they count. Writes under one limit come one after the other. */
  readonly limits: readonly { readonly name: string; readonly owners: readonly string[] }[];
  /**
   * Called with the use of each limit by all other labs. Throws to refuse the write. A store with one service does not call it: the service has looked at all
   * records before.
   */
  readonly check: (others: readonly LabsUse[]) => void;
}

/**
 * Data that must survive a restart. Writes return promises, which resolve when the data is committed. Reads that return no promise answer from memory:
 * requests make many of them. A write is visible to them at once, also before it is committed; if it fails, they return the previous data again.
 */
export interface Store {
  readonly sessions: {
    insert(row: SessionRow): Promise<void>;
    find(hash: string): SessionRow | undefined;
    touch(hash: string, usedAt: number): Promise<void>;
    setRole(hash: string, role: SessionRow["role"]): Promise<void>;
    /** Revokes the session and its browser sessions. */
    revoke(hash: string): Promise<void>;
    /** Deletes sessions created before this time, and API tokens that expired before it. */
    purge(createdBefore: number): Promise<void>;
    /** The API tokens that are not revoked, including expired ones. */
    tokens(): readonly SessionRow[];
    /** Number of sessions, without API tokens, that are not revoked and were used and created after these times. */
    count(usedAfter: number, createdAfter: number): number;
    /** Keeps the newest `limit` of a session. */
    insertBrowser(row: BrowserSessionRow, limit: number): Promise<void>;
    /** The bearer session of a browser session. */
    findByBrowser(hash: string): SessionRow | undefined;
  };
  readonly labs: {
    get(path: string): LabRecord | undefined;
    /** @param admission of a lab that grows, if a limit is for labs of several owners or services */
    put(record: LabRecord, admission?: Admission): Promise<void>;
    /** Only the newest plan identity of one direction. */
    putPlan(path: string, direction: Direction, identity: string): Promise<void>;
    delete(path: string): Promise<void>;
    list(): readonly LabRecord[];
  };
  readonly jobs: {
    insert(row: JobRow): Promise<void>;
    /** The steps that are about to run, none done. */
    begin(id: string, steps: readonly JobStep[]): Promise<void>;
    progress(id: string, done: number): Promise<void>;
    finish(id: string, end: JobFinish): Promise<void>;
    get(id: string): Promise<JobRow | undefined>;
    /** The newest jobs, newest first. */
    newest(limit: number): Promise<readonly JobRow[]>;
    /** Unfinished jobs, oldest first. */
    unfinished(): Promise<readonly JobRow[]>;
    /** The newest ended job of the lab with this record; without a record, of any lab that was at the path. */
    lastOf(lab: string, record?: LabOfJobs): Promise<JobRow | undefined>;
    /** Like lastOf, without steps and result: for polls. */
    lastEnd(lab: string, record?: LabOfJobs): JobEnd | undefined;
    /** Deletes jobs that ended before this time. */
    purge(finishedBefore: number): Promise<void>;
    insertKey(row: JobKeyRow): Promise<void>;
    findKey(user: string, key: string): Promise<JobKeyRow | undefined>;
    /** Deletes keys created before this time. */
    purgeKeys(createdBefore: number): Promise<void>;
  };
  readonly history: {
    /** Adds a state with its text; replaces states of this or a later serial. Deletes the oldest states beyond the limits. */
    add(row: NewHistoryRow, text: HistoryText): Promise<void>;
    /** The newest first, without texts. */
    list(identity: string): Promise<readonly HistoryRow[]>;
    text(identity: string, serial: number): Promise<HistoryText | undefined>;
    /** Deletes states after this serial: their change was taken back. */
    forgetAfter(identity: string, serial: number): Promise<void>;
  };
  readonly quotas: {
    /** Sorted by kind and name. */
    list(): readonly QuotaRow[];
    put(row: QuotaRow): Promise<void>;
    delete(kind: QuotaRow["kind"], name: string): Promise<void>;
  };
  readonly reservations: {
    /** Sorted by their beginnings. */
    list(): readonly ReservationRow[];
    /**
     * Adds a reservation. No other one is added between `make` and the write, also by other services.
     * @param make returns the new row for the rows that there are, or throws
     */
    add(make: (rows: readonly ReservationRow[]) => ReservationRow): Promise<ReservationRow>;
    delete(id: string): Promise<void>;
    /** Deletes those that ended before this time. */
    purge(endedBefore: number): Promise<void>;
  };
  /** Absent for the embedded database, which always answers and has one service. */
  readonly shared?: SharedStore;
  close(): Promise<void>;
}

/** Changes that other services have made. */
export interface OthersListener {
  /** undefined: there was none, or is none now. */
  readonly lab: (before: LabRecord | undefined, after: LabRecord | undefined) => void;
  readonly job: (row: JobRow) => void;
}

/** A database that other services use too, and that may not answer. */
export interface SharedStore {
  /** The database, without a password, for messages. */
  readonly shown: string;
  /** The accounts of the embedded host, for all services. */
  readonly accounts: AccountStore;
  readonly machines: MachineStore;
  /** Time since the last answer, ms; undefined while the database answers. Reads from memory may be as old. */
  silentMs(): number | undefined;
  /** Called when another service has changed the record of a lab, or has ended a job. */
  onOthers(listener: OthersListener): void;
  /** Called when this service must not change labs any more, because it cannot prove that it still owns them. */
  onDoubtful(listener: () => void): void;
  /** Called when it may change labs again. */
  onRenewed(listener: () => void): void;
  /** Called when another service has begun with the same installation: this one must end. */
  onSuperseded(listener: () => void): void;
}

/** The records of the labs of this machine; without a fleet, of all labs. */
export function labsHere({ labs, shared }: Pick<Store, "labs" | "shared">): readonly LabRecord[] {
  const machines = shared?.machines;
  return machines?.own === undefined ? labs.list() : labs.list().filter(({ path }) => machines.elsewhere(path) === undefined);
}
