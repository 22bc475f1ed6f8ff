import type { QuotaData } from "../../contract/schemas/quotas.ts";

export interface QuotaRow {
  readonly key: string;
  /** For whom it is, such as "group blue (ann, bob)". */
  readonly of: string;
  /** "2 of 3"; only the limit where the use differs by user. "–" without a limit. */
  readonly labs: string;
  readonly nodes: string;
  readonly memory: string;
  readonly captures: string;
  /** Whether a limit is reached. */
  readonly isFull: boolean;
}

/** Returns a row for each quota: the default first, then groups, then users. */
export function quotaRows(quotas: readonly QuotaData[]): readonly QuotaRow[] {
  return quotas
    .map((quota) => ({ quota, place: `${["default", "group", "user"].indexOf(quota.kind)}${quota.name ?? ""}` }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ quota }) => rowOf(quota));
}

function rowOf({ kind, name = "", members, labs, nodes, memory_mib: memory, captures, used }: QuotaData): QuotaRow {
  const people = members === undefined ? "" : ` (${members.join(", ") || "no members"})`;
  const pairs = [[labs, used?.labs] as const, [nodes, used?.nodes] as const, [memory, used?.memory_mib] as const];
  return {
    key: `${kind} ${name}`,
    of: kind === "default" ? "each user without a quota" : `${kind} ${name}${people}`,
    labs: useOf(labs, used?.labs),
    nodes: useOf(nodes, used?.nodes),
    memory: useOf(memory, used?.memory_mib, " MiB"),
    captures: useOf(captures, undefined),
    isFull: pairs.some(([limit, use]) => limit !== undefined && use !== undefined && use >= limit),
  };
}

function useOf(limit: number | undefined, used: number | undefined, unit = ""): string {
  if (limit === undefined) return "–";
  return used === undefined ? `${limit}${unit}` : `${used} of ${limit}${unit}`;
}
