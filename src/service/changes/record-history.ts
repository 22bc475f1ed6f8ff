import { createHash } from "node:crypto";
import type { Lab } from "../../intent/lab/lab.ts";
import type { StorePart } from "../context/parts.ts";
import type { LabRecord, NewHistoryRow } from "../store/store.ts";

/** The change that recorded an intent. Without `job`: it did not change the host. */
export type RecordedBy = Required<Pick<NewHistoryRow, "user" | "operation">> & Pick<NewHistoryRow, "job">;

/**
 * Adds the intent of a record to the lab's history.
 * @param before the record before the change: added first if an older version of the service recorded it, which kept no history
 */
export async function recordHistory(
  { store }: StorePart,
  record: LabRecord,
  lab: Lab,
  by: RecordedBy,
  before: LabRecord | undefined,
): Promise<void> {
  const counts = { nodes: lab.nodes.length, links: lab.links.length };
  const isFirst = (await store.history.list(record.identity)).length === 0;
  if (isFirst && before?.yaml !== undefined && before.serial < record.serial) {
    const applied = { nodes: before.applied?.nodes.length ?? 0, links: before.applied?.links.length ?? 0 };
    await add({ store }, before, before.yaml, applied, {});
  }
  if (record.yaml !== undefined) await add({ store }, record, record.yaml, counts, by);
}

type Counts = Pick<NewHistoryRow, "nodes" | "links">;

async function add(
  { store }: StorePart,
  record: LabRecord,
  yaml: string,
  counts: Counts,
  by: RecordedBy | Record<string, never>,
): Promise<void> {
  const { identity, serial, updatedAt: at, files } = record;
  const digest = createHash("sha256")
    .update(JSON.stringify([yaml, files]))
    .digest("hex");
  await store.history.add({ identity, serial, at, ...counts, ...by, digest }, { yaml, files });
}
