import type { CopiedRow, CopiedTable } from "./tables.ts";

/** The state directories whose services own labs of the data, by their ids. */
export type Installations = readonly string[];

/** The data that a copy reads. Nothing else changes it meanwhile. */
export interface CopySource extends AsyncDisposable {
  /** For messages, without a password. */
  readonly shown: string;
  readonly installations: Installations;
  rows(table: CopiedTable): AsyncIterable<CopiedRow>;
}

/** The database that a copy fills. Without `commit`, nothing of it stays. */
export interface CopyTarget extends AsyncDisposable {
  readonly shown: string;
  write(table: CopiedTable, rows: AsyncIterable<CopiedRow>): Promise<void>;
  /** Reads back what was written. */
  rows(table: CopiedTable): AsyncIterable<CopiedRow>;
  /** Keeps the data. A service on one of these state directories owns all of its labs. */
  commit(installations: Installations): Promise<void>;
}

/** Throws the refusal of a target that has data. `found`: the numbers of rows by table. */
export function refuseFilled(shown: string, found: Readonly<Record<string, number>>, remedy: string): void {
  const filled = Object.entries(found).filter(([, count]) => count > 0);
  if (filled.length === 0) return;
  const what = filled.map(([table, count]) => `${table.replace("_", " ")}: ${count}`).join(", ");
  throw new Error(`${shown} has data already (${what}), and a copy never overwrites: ${remedy}`);
}
