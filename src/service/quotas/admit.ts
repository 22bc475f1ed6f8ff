import { Failure } from "../../contract/errors.ts";
import type { Host } from "../../hosts/host.ts";
import type { LabSize, Store } from "../store/store.ts";
import { type Excess, excessOf, excessText } from "./quota.ts";

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

/** Returns the failure of a call that would exceed a quota. */
export function quotaExceeded(excess: Excess): Failure {
  const { quota, resource, used, wanted, limit } = excess;
  return new Failure("quota_exceeded", `${excessText(excess)}. Remove what is not needed, or ask an admin: labwright quota list`, {
    data: { quota: { kind: quota.kind, ...(quota.kind !== "default" && { name: quota.name }), resource, used, wanted, limit } },
  });
}
