import type { CopySource, CopyTarget } from "./ends.ts";
import { type CopiedRow, type CopiedTable, copiedTables, type Sum, Summing } from "./tables.ts";

export interface CopiedSum extends Sum {
  readonly table: CopiedTable["name"];
}

/**
 * Copies all data of a service into an empty database, and keeps it only if the target returns the same rows. Throws an Error for the user otherwise:
 * then the target is as it was.
 */
export async function copyStore(source: CopySource, target: CopyTarget): Promise<readonly CopiedSum[]> {
  const sums: CopiedSum[] = [];
  for (const table of copiedTables) {
    const passing = new Summing();
    await target.write(table, summed(source.rows(table), passing));
    const read = passing.sum();
    const written = await sumOf(target.rows(table));
    if (read.rows !== written.rows || read.digest !== written.digest) {
      throw new Error(
        `${target.shown} returns other ${table.name} than ${source.shown} has (${written.rows} rows instead of ${read.rows}, or other values): nothing was copied`,
      );
    }
    sums.push({ table: table.name, ...read });
  }
  await target.commit(source.installations);
  return sums;
}

async function* summed(rows: AsyncIterable<CopiedRow>, summing: Summing): AsyncIterable<CopiedRow> {
  for await (const row of rows) {
    summing.add(row);
    yield row;
  }
}

async function sumOf(rows: AsyncIterable<CopiedRow>): Promise<Sum> {
  const summing = new Summing();
  for await (const row of rows) summing.add(row);
  return summing.sum();
}
