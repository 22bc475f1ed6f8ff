import type { LabRecord, LabSize, LabsUse, QuotaLimits, QuotaRow } from "../store/store.ts";

/*
 * Decisions about quotas. Pure.
 */

/** Resources of labs that quotas limit. Captures are counted when one starts. */
export const labResources = ["labs", "nodes", "memory"] as const;
export type LabResource = (typeof labResources)[number];
export type QuotaResource = keyof QuotaLimits;

export type Usage = LabsUse;

/** A limit that a change would exceed. */
export interface Excess {
  readonly quota: QuotaRow;
  readonly resource: QuotaResource;
  /** Now, by all labs of the quota. Memory: MiB. */
  readonly used: number;
  /** With the change. */
  readonly wanted: number;
  readonly limit: number;
}

type SizedRecord = Pick<LabRecord, "path" | "owner" | "size" | "applied">;

/** Returns the size of a recorded lab. Records of older releases have none: their lab counts as its host had it. */
export function sizeOf({ size, applied }: Pick<LabRecord, "size" | "applied">): LabSize {
  if (size !== undefined) return size;
  return { nodes: applied?.nodes.length ?? 0, memory: applied?.nodes.reduce((sum, { ram = 0 }) => sum + ram, 0) ?? 0 };
}

/** Returns what the labs of these owners use. */
export function usageOf(records: readonly SizedRecord[], isOwner: (user: string) => boolean): Usage {
  const own = records.filter(({ owner }) => isOwner(owner)).map(sizeOf);
  return {
    labs: own.length,
    nodes: own.reduce((sum, { nodes }) => sum + nodes, 0),
    memory: own.reduce((sum, { memory }) => sum + memory, 0),
  };
}

/**
 * Returns the quotas of a user: the user's own, or else the default, which is not for admins; and those of the groups with the user, which all members use
 * together.
 */
export function quotasOf(quotas: readonly QuotaRow[], user: string, isAdmin: boolean): readonly QuotaRow[] {
  const own = quotas.find(({ kind, name }) => kind === "user" && name === user);
  const byDefault = own === undefined && !isAdmin ? quotas.find(({ kind }) => kind === "default") : undefined;
  const groups = quotas.filter(({ kind, members = [] }) => kind === "group" && members.includes(user));
  return [own, byDefault, ...groups].filter((quota) => quota !== undefined);
}

/** Returns whether a user's labs count for a quota that applies to `user`. */
export function countsFor({ kind, members = [] }: QuotaRow, user: string): (owner: string) => boolean {
  if (kind !== "group") return (owner) => owner === user;
  const all = new Set(members);
  return (owner) => all.has(owner);
}

export interface Wanted {
  readonly path: string;
  readonly owner: string;
  readonly isAdmin: boolean;
  readonly size: LabSize;
}

/** Returns the first limit that a lab of this size would exceed. A change that uses no more of a resource than before is always allowed. */
export function excessOf(quotas: readonly QuotaRow[], records: readonly SizedRecord[], wanted: Wanted): Excess | undefined {
  const before = records.find(({ path }) => path === wanted.path);
  const others = records.filter(({ path }) => path !== wanted.path);
  const applied = quotasOf(quotas, wanted.owner, wanted.isAdmin);
  return excessBeside(
    applied.map((quota) => ({ quota, others: usageOf(others, countsFor(quota, wanted.owner)) })),
    before === undefined ? undefined : sizeOf(before),
    wanted.size,
  );
}

/**
 * Returns the first limit that a lab would exceed beside the other labs of each quota.
 * @param before its size now; undefined: it is new
 */
export function excessBeside(
  quotas: readonly { readonly quota: QuotaRow; readonly others: Usage }[],
  before: LabSize | undefined,
  size: LabSize,
): Excess | undefined {
  const [known, wanted] = [useOf(before), useOf(size)];
  for (const { quota, others } of quotas) {
    for (const resource of labResources) {
      const limit = quota[resource];
      const after = others[resource] + wanted[resource];
      if (limit !== undefined && wanted[resource] > known[resource] && after > limit)
        return { quota, resource, used: others[resource] + known[resource], wanted: after, limit };
    }
  }
  return undefined;
}

/** Returns whether a lab uses more of any resource than before. */
export function grows(before: LabSize | undefined, size: LabSize): boolean {
  const [known, wanted] = [useOf(before), useOf(size)];
  return labResources.some((resource) => wanted[resource] > known[resource]);
}

function useOf(size: LabSize | undefined): Usage {
  return size === undefined ? { labs: 0, nodes: 0, memory: 0 } : { labs: 1, nodes: size.nodes, memory: size.memory };
}

/** "the quota of group students". */
export function quotaName({ kind, name }: Pick<QuotaRow, "kind" | "name">): string {
  return kind === "default" ? "the default quota" : `the quota of ${kind} ${name}`;
}

/** Returns the reason for people: what is used, what the change needs, and the limit. */
export function excessText({ quota, resource, used, wanted, limit }: Excess): string {
  const amount = (value: number) => (resource === "memory" ? `${Math.round(value)} MiB` : String(value));
  const what = resource === "memory" ? "of memory" : limit === 1 ? resource.slice(0, -1) : resource;
  return `${quotaName(quota)} allows ${amount(limit)} ${what}: ${amount(used)} used, ${amount(wanted)} after this change`;
}
