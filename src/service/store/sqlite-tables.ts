import type { Store } from "./store.ts";

/** The calls of a group as SQLite answers them: at once. */
type AtOnce<Group> = {
  readonly [Name in keyof Group]: Group[Name] extends (...given: infer Given) => Promise<infer Result>
    ? (...given: Given) => Result
    : Group[Name];
};

/** The tables of the embedded database. */
export interface SqliteTables {
  readonly sessions: AtOnce<Store["sessions"]>;
  readonly labs: AtOnce<Store["labs"]>;
  readonly jobs: AtOnce<Store["jobs"]>;
  readonly history: AtOnce<Store["history"]>;
}
