import { Failure } from "../../contract/errors.ts";
import { type DatabaseRoom, isFull } from "./database-room.ts";
import type { Store } from "./store.ts";

/** The same store, which tries once more after it found no room; what keeps it from writing – a full disk, above all – is told as what it is, with what to do, and not as a defect. */
export function tellingTroubles(store: Store, file: string, room: DatabaseRoom): Store {
  const again = <Result>(call: () => Result): Result => {
    try {
      return call();
    } catch (error) {
      if (!isFull(error)) throw error;
      room.rewind();
      return call();
    }
  };
  const told = <Group extends object>(group: Group): Group =>
    Object.fromEntries(
      Object.entries(group).map(([name, call]) => [
        name,
        (...given: readonly unknown[]) => {
          try {
            return again(() => (call as (...given: readonly unknown[]) => unknown)(...given));
          } catch (error) {
            throw troubleOf(error, file) ?? error;
          }
        },
      ]),
    ) as Group;
  return { ...store, sessions: told(store.sessions), labs: told(store.labs), jobs: told(store.jobs) };
}

const full = "its file system is full: free space on it and try again";

const damaged =
  "it is damaged: end the service and restore a backup; labs run on meanwhile; labwright serve names the damage when it starts";

/** By SQLite's primary result code. */
const troubles: Readonly<Record<number, string>> = {
  8: "the file or its file system is read-only: make it writable and try again",
  10: "its disk refuses to read or write; where the file system is full, free space on it and try again, else look into the machine's log",
  11: damaged,
  13: full,
  14: "it cannot be opened: look at its directory, its mode and whether the disk is there",
  26: damaged,
};

function troubleOf(error: unknown, file: string): Failure | undefined {
  const { code, errcode, message } = error as { readonly code?: unknown; readonly errcode?: unknown; readonly message?: string };
  if (code !== "ERR_SQLITE_ERROR" || typeof errcode !== "number") return undefined;
  const trouble = troubles[errcode & 0xff];
  if (trouble === undefined) return undefined;
  return failed(file, trouble, error, message);
}

/** What SQLite says of a full disk, for a write that was not begun. */
export function noRoom(file: string): Failure {
  return failed(file, full, undefined, "the rest of the room is for logins and for what makes room");
}

/** The path is for the log: callers have no use for it. */
function failed(file: string, trouble: string, error: unknown, message: string | undefined): Failure {
  const cause = new Error(`${file}: ${message}`, { cause: error });
  return new Failure("internal", `the service's database failed: ${trouble}`, { cause });
}
