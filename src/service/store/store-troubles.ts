import { Failure } from "../../contract/errors.ts";
import { type DatabaseRoom, isFull } from "./database-room.ts";
import type { SqliteTables } from "./rows.ts";
import type { Store } from "./store.ts";

/** Calls that answer at once. All others return promises. */
const atOnce: { readonly [Group in keyof SqliteTables]: readonly (keyof SqliteTables[Group])[] } = {
  sessions: ["find", "findByBrowser", "tokens", "count"],
  labs: ["get", "list"],
  jobs: ["lastEnd"],
  history: [],
  quotas: ["list"],
  reservations: ["list"],
};

/** Returns the store over the tables. A write on a full disk is retried once, and SQLite errors become messages with their cause and a remedy. */
export function storeOf(tables: SqliteTables, file: string, room: DatabaseRoom): Store {
  const again = (call: () => unknown): unknown => {
    try {
      return call();
    } catch (error) {
      if (!isFull(error)) throw error;
      room.rewind();
      return call();
    }
  };
  const clear = (call: () => unknown): unknown => {
    try {
      return again(call);
    } catch (error) {
      throw troubleOf(error, file) ?? error;
    }
  };
  const wrapped = <Group extends keyof SqliteTables>(group: Group): Store[Group] => {
    const calls = Object.entries<(...given: readonly unknown[]) => unknown>(tables[group] as never).map(([name, call]) => {
      const now = (...given: readonly unknown[]) => clear(() => call(...given));
      // An async function runs at once up to its first await: the write is done before the caller goes on.
      return [name, (atOnce[group] as readonly string[]).includes(name) ? now : async (...given: readonly unknown[]) => now(...given)];
    });
    return Object.fromEntries(calls) as Store[Group];
  };
  return {
    sessions: wrapped("sessions"),
    labs: wrapped("labs"),
    jobs: wrapped("jobs"),
    history: wrapped("history"),
    quotas: wrapped("quotas"),
    reservations: wrapped("reservations"),
    close: async () => room.close(),
  };
}

const full = "its file system is full: free space on it and try again";

const damaged =
  "it is damaged: stop the service and restore a backup; labs keep running; labwright serve reports the damage when it starts";

/** Messages by SQLite's primary result code. */
const troubles: Readonly<Record<number, string>> = {
  8: "the file or its file system is read-only: make it writable and try again",
  10: "its disk failed to read or write; if the file system is full, free space on it and try again; otherwise check the machine's log",
  11: damaged,
  13: full,
  14: "it cannot be opened: check its directory, its mode and whether the disk is mounted",
  26: damaged,
};

function troubleOf(error: unknown, file: string): Failure | undefined {
  const { code, errcode, message } = error as { readonly code?: unknown; readonly errcode?: unknown; readonly message?: string };
  if (code !== "ERR_SQLITE_ERROR" || typeof errcode !== "number") return undefined;
  const trouble = troubles[errcode & 0xff];
  if (trouble === undefined) return undefined;
  return failed(file, trouble, error, message);
}

/** Returns SQLite's failure on a full disk, for a write that was not started. */
export function noRoom(file: string): Failure {
  return failed(file, full, undefined, "the remaining space is reserved for logins and for calls that free space");
}

/** The path is only in the cause, which is logged: it is of no use to callers. */
function failed(file: string, trouble: string, error: unknown, message: string | undefined): Failure {
  const cause = new Error(`${file}: ${message}`, { cause: error });
  return new Failure("internal", `the service's database failed: ${trouble}`, { cause });
}
