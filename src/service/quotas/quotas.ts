import { Failure } from "../../contract/errors.ts";
import type { QuotaData, QuotaPayload, QuotasData } from "../../contract/schemas/quotas.ts";
import type { Host } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import type { Log } from "../common/log.ts";
import { badRequest } from "../common/refusals.ts";
import type { LabRecord, QuotaRow, Store } from "../store/store.ts";
import { countsFor, quotasOf, usageOf } from "./quota.ts";

interface QuotaParts {
  readonly store: Store;
  readonly host: Pick<Host, "accounts">;
  readonly log: Log;
}

const maxQuotas = 10_000;

/** Lists all quotas for admins; for other users those that apply to them, without the names of other members. */
export function listQuotas({ store }: QuotaParts, caller: Caller): QuotasData {
  const all = store.quotas.list();
  const records = store.labs.list();
  const shown = caller.role === "admin" ? all : quotasOf(all, caller.user, false);
  return {
    quotas: shown.map((quota): QuotaData => {
      const { kind, name, members, memory, ...limits } = quota;
      // The default quota is used by each user alone.
      const user = kind === "user" ? name : caller.user;
      const hasUse = kind !== "default" || caller.role !== "admin";
      return {
        kind,
        ...(kind !== "default" && { name }),
        ...limits,
        ...(memory !== undefined && { memory_mib: memory }),
        ...(members !== undefined && caller.role === "admin" && { members }),
        ...(hasUse && { used: usedBy(records, countsFor(quota, user)) }),
      };
    }),
  };
}

function usedBy(records: readonly LabRecord[], isOwner: (user: string) => boolean): NonNullable<QuotaData["used"]> {
  const { memory, ...used } = usageOf(records, isOwner);
  return { ...used, memory_mib: Math.round(memory) };
}

/** Sets or removes a quota. Labs that exceed it stay as they are, and may not grow. Throws operation_not_allowed for callers who are not admins. */
export async function setQuota(context: QuotaParts, caller: Caller, payload: QuotaPayload): Promise<QuotasData> {
  if (caller.role !== "admin") throw new Failure("operation_not_allowed", "only admins set quotas");
  const row = checked(context, payload);
  const known = context.store.quotas.list();
  if (payload.remove === true) {
    if (!known.some((one) => isSame(one, row))) throw badRequest("/name", "there is no such quota");
    await context.store.quotas.delete(row.kind, row.name);
  } else {
    if (known.length >= maxQuotas && !known.some((one) => isSame(one, row)))
      throw badRequest("/name", `there are ${maxQuotas} quotas already`);
    await context.store.quotas.put(row);
  }
  context.log("info", "a quota was changed", { kind: row.kind, name: row.name, by: caller.user, removed: payload.remove === true });
  return listQuotas(context, caller);
}

function isSame(a: QuotaRow, b: QuotaRow): boolean {
  return a.kind === b.kind && a.name === b.name;
}

function checked(
  { host }: QuotaParts,
  { kind, name = "", members, remove, labs, nodes, memory_mib: memory, captures }: QuotaPayload,
): QuotaRow {
  if (kind === "default" && name !== "") throw badRequest("/name", "the default quota has no name");
  if (kind !== "default" && (name === "" || name.length > 256)) throw badRequest("/name", "a name has 1 to 256 characters");
  if (kind !== "group" && members !== undefined) throw badRequest("/members", "only the quota of a group has members");
  if (kind === "user" && remove !== true && host.accounts?.find(name) === null)
    throw badRequest("/name", `there is no user ${JSON.stringify(name)} on the host`);
  const limits = { labs, nodes, memory, captures };
  for (const [field, value] of Object.entries(limits))
    if (value !== undefined && value < 0) throw badRequest(field === "memory" ? "/memory_mib" : `/${field}`, "a limit is 0 or more");
  if (kind === "group" && remove !== true && members === undefined) throw badRequest("/members", "a group needs its members");
  const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
  const sorted = members === undefined ? {} : { members: [...new Set(members)].sort() };
  return { kind, name, ...given, ...sorted };
}
