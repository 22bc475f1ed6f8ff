import { Failure } from "../../contract/errors.ts";
import type { Host } from "../../hosts/host.ts";
import type { Admission, LabSize, Store } from "../store/store.ts";
import { type Excess, excessBeside, excessOf, excessText, grows, labResources, quotasOf, sizeOf } from "./quota.ts";

interface AdmitParts {
  readonly store: Store;
  readonly host: Pick<Host, "accounts">;
}

/** Returns the first quota that a lab of this size would exceed. */
export function labExcess(
  { store, host }: AdmitParts,
  { path, owner, size }: { path: string; owner: string; size: LabSize },
): Excess | undefined {
  const quotas = store.quotas.list();
  if (quotas.length === 0) return undefined;
  return excessOf(quotas, store.labs.list(), { path, owner, isAdmin: host.accounts?.find(owner)?.role === "admin", size });
}

/** Returns the limits that count once more when the record of a lab is written, beside those that other machines write; undefined: none does. */
export function labAdmission(
  { store, host }: AdmitParts,
  { path, owner, size }: { path: string; owner: string; size: LabSize },
): Admission | undefined {
  const known = store.labs.get(path);
  const before = known === undefined ? undefined : sizeOf(known);
  const isAdmin = host.accounts?.find(owner)?.role === "admin";
  const quotas = quotasOf(store.quotas.list(), owner, isAdmin).filter((quota) => labResources.some((one) => quota[one] !== undefined));
  if (quotas.length === 0 || !grows(before, size)) return undefined;
  return {
    limits: quotas.map(({ kind, name, members }) => ({
      name: `${kind} ${kind === "group" ? name : owner}`,
      owners: kind === "group" ? (members ?? []) : [owner],
    })),
    check: (others) => {
      const excess = excessBeside(
        quotas.map((quota, index) => ({ quota, others: others[index]! })),
        before,
        size,
      );
      if (excess !== undefined) throw quotaExceeded(excess);
    },
  };
}

/** Returns the failure of a call that would exceed a quota. */
export function quotaExceeded(excess: Excess): Failure {
  const { quota, resource, used, wanted, limit } = excess;
  return new Failure("quota_exceeded", `${excessText(excess)}. Remove what is not needed, or ask an admin: labwright quota list`, {
    data: { quota: { kind: quota.kind, ...(quota.kind !== "default" && { name: quota.name }), resource, used, wanted, limit } },
  });
}
