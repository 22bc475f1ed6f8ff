import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostSession, NativeIds } from "../../hosts/host.ts";

/** A bearer session. The token itself is nowhere. Times are ms since the epoch. */
export interface SessionRow {
  /** SHA-256 of the token, hex. */
  readonly hash: string;
  readonly user: string;
  readonly role: HostSession["role"];
  /** Of the account when the session began; absent where the host does not tell. */
  readonly credential?: string;
  readonly createdAt: number;
  readonly usedAt: number;
  readonly revoked: boolean;
}

/** A browser's cookie: it stands for a bearer session. The cookie itself is nowhere. */
export interface BrowserSessionRow {
  /** SHA-256 of the cookie's value, hex. */
  readonly hash: string;
  /** Hash of the bearer session. */
  readonly session: string;
  readonly createdAt: number;
}

export type ProjectMode = "create" | "import" | "load";
export type Direction = "to_host" | "from_host";

/** What an owner may give to others. Each includes the ones before it. */
export const grantable = ["view", "operate", "edit"] as const;
export type GrantedRight = (typeof grantable)[number];

/** Whether nodes that ended with the host come back by themselves when the service starts. */
export type ResumePolicy = "always" | "never";

/** What the service knows of a lab that it manages. */
export interface LabRecord {
  /** As on the host: /courses/bgp-1. */
  readonly path: string;
  /** Which lab this is: one that is made at the same path later has another. */
  readonly identity: string;
  readonly mode: ProjectMode;
  readonly owner: string;
  /** What others may do with it, by user name. */
  readonly grants?: Readonly<Record<string, GrantedRight>>;
  /** The intent of the last apply; absent: none yet. */
  readonly yaml?: string;
  readonly files: Readonly<Record<string, string>>;
  /** The host's definition after the last change: what differs from it was changed there by others. */
  readonly applied?: ObservedLab;
  /** Counts the applies. */
  readonly serial: number;
  /** The host's id of the lab. */
  readonly labId?: string;
  readonly ids: NativeIds;
  /** Newest plan identity per direction. */
  readonly plans: Readonly<Partial<Record<Direction, string>>>;
  /** Wanted power by node key, as last asked for. */
  readonly power: Readonly<Record<string, boolean>>;
  /** Keys of nodes that a change was to start and did not, because it broke off: the next plan starts them. Absent: none. */
  readonly owedStarts?: readonly string[];
  /** Folders of the host that were made for this lab and go with it. Absent: none. */
  readonly folders?: readonly string[];
  /** Whether what ended with the host comes back by itself; absent: as the service's default says. */
  readonly resume?: ResumePolicy;
  /** Where an imported lab came from. */
  readonly source?: unknown;
  /** Where the caller of the last change keeps its intent, in words of its own. */
  readonly origin?: string;
  readonly updatedAt: number;
}

export type JobStatus = "running" | "done" | "failed" | "cancelled";
export type JobOutcome = "finished" | "failed" | "cancelled" | "finished_after_restart" | "rolled_back" | "interrupted";

/** One step of a change, as the journal keeps it: enough to tell and to finish, no contents. */
export interface JobStep {
  readonly id: string;
  readonly op: string;
  readonly kind: string;
  readonly key: string;
  readonly do: string;
}

/** A change, from its beginning on. */
export interface JobRow {
  readonly id: string;
  readonly lab: string;
  /** Of the lab's record, or of the record that the change makes. Absent in rows of older versions. */
  readonly identity?: string;
  /** Who owned the lab when the change began, or who makes it. Absent in rows of older versions. */
  readonly owner?: string;
  /** Its steps or request cannot be read any more. */
  readonly unreadable?: true;
  /** Operation id: deployProject … */
  readonly operation: string;
  readonly user: string;
  /** What recovery needs: options, and the intent where one was sent. null once it has ended. */
  readonly request: unknown;
  readonly status: JobStatus;
  readonly outcome?: JobOutcome;
  readonly startedAt: number;
  readonly finishedAt?: number;
  readonly steps: readonly JobStep[];
  /** How many of the steps are done: they run in order. */
  readonly done: number;
  /** Without what job-answer.ts leaves out. */
  readonly result?: unknown;
  readonly error?: JobError;
}

export interface JobError {
  readonly code: string;
  readonly error: string;
  readonly data?: unknown;
}

/** What the caller of a change was answered, whole. */
export type JobAnswer = { readonly result: unknown } | { readonly error: JobError };

export interface JobFinish extends Pick<JobRow, "status" | "outcome" | "finishedAt" | "result" | "error"> {
  /** Kept with the change's Idempotency-Key, if it has one, and for as long. */
  readonly answer?: JobAnswer;
}

/** An Idempotency-Key of a user, and the job that it stands for. */
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

/** Jobs of older versions have no identity: they count as the lab's where its owner made them. */
export type LabOfJobs = Pick<LabRecord, "identity" | "owner">;

export interface JobEnd {
  readonly id: string;
  readonly operation: string;
  readonly outcome: JobOutcome;
  readonly finishedAt: number;
}

/** What must survive a restart. Calls are synchronous and small. */
export interface Store {
  readonly sessions: {
    insert(row: SessionRow): void;
    find(hash: string): SessionRow | undefined;
    touch(hash: string, usedAt: number): void;
    setRole(hash: string, role: SessionRow["role"]): void;
    /** Also ends its browser sessions. */
    revoke(hash: string): void;
    /** Forgets sessions created before. */
    purge(createdBefore: number): void;
    /** How many are neither revoked, nor unused or made before these times. */
    count(usedAfter: number, createdAfter: number): number;
    /** Keeps the newest `limit` of a session. */
    insertBrowser(row: BrowserSessionRow, limit: number): void;
    /** The bearer session that a browser session stands for. */
    findByBrowser(hash: string): SessionRow | undefined;
  };
  readonly labs: {
    get(path: string): LabRecord | undefined;
    put(record: LabRecord): void;
    /** Only the newest plan identity of one direction. */
    putPlan(path: string, direction: Direction, identity: string): void;
    delete(path: string): void;
    list(): readonly LabRecord[];
  };
  readonly jobs: {
    insert(row: JobRow): void;
    /** The steps that are about to run, none done. */
    begin(id: string, steps: readonly JobStep[]): void;
    progress(id: string, done: number): void;
    finish(id: string, end: JobFinish): void;
    get(id: string): JobRow | undefined;
    /** The newest, newest first. */
    newest(limit: number): readonly JobRow[];
    /** Those that never ended, oldest first. */
    unfinished(): readonly JobRow[];
    /** The newest that ended, of the lab with this record; of any lab that was at the path where no record is given. */
    lastOf(lab: string, record?: LabOfJobs): JobRow | undefined;
    /** The same, without its steps and result: for polls. */
    lastEnd(lab: string, record?: LabOfJobs): JobEnd | undefined;
    /** Forgets those that ended before. */
    purge(finishedBefore: number): void;
    insertKey(row: JobKeyRow): void;
    findKey(user: string, key: string): JobKeyRow | undefined;
    /** Forgets keys that were used before. */
    purgeKeys(createdBefore: number): void;
  };
  close(): void;
}
