import { shellWord } from "../../base/shell-word.ts";
import { Failure } from "../../contract/errors.ts";
import { includes, type Right, rightOn } from "../sessions/rights.ts";
import type { LabRecord } from "../store/store.ts";
import type { Target } from "./target.ts";

/** Throws operation_not_allowed if the mode, role or right of the caller forbids a change. */
export function allowChange(target: Target, right: Right = "edit"): void {
  allowUse(target, right);
  if (target.mode === "load") {
    // A managed lab may also be loaded by a manifest.
    const hint = target.record === undefined && {
      data: { hint: `an admin can assign an owner: labwright adopt ${shellWord(target.path)}` },
    };
    throw new Failure("operation_not_allowed", `${target.path} is read-only: the service does not manage it`, { ...hint });
  }
}

/** Throws operation_not_allowed if the role or right is not sufficient. For an unmanaged lab, only its host decides. */
export function allowUse(
  { caller, record, path }: Pick<Target, "caller" | "path"> & { readonly record?: LabRecord | undefined },
  right: Right,
): void {
  if (caller.role === "viewer" && right !== "view")
    throw new Failure("operation_not_allowed", "viewers may read labs, but not use or change them");
  // Also for a lab that does not exist yet, and for one without a record.
  if (caller.limit !== undefined && !includes(caller.limit, right))
    throw new Failure("operation_not_allowed", `this API token allows to ${caller.limit} labs: this needs the right to ${right}`);
  const have = record && rightOn(record, caller);
  if (have === undefined || includes(have, right)) return;
  const needed = right === "own" ? "only its owner may do this" : `this needs the right to ${right}`;
  throw new Failure("operation_not_allowed", `${path} is shared with you to ${have}: ${needed}`);
}

/** Only users who may edit a lab read its secrets; others get them redacted, as in getPublicProject. An unmanaged lab is as open as its host. */
export function mayReadSecrets({ record, caller }: Pick<Target, "caller" | "record">): boolean {
  const right = record && rightOn(record, caller);
  return record === undefined || (right !== undefined && includes(right, "edit"));
}

/** The origin may contain a person's folder names: only users who may edit the lab get it. */
export function originOf({ record, caller }: Pick<Target, "caller" | "record">): { readonly origin?: string } {
  return record?.origin !== undefined && mayReadSecrets({ record, caller }) ? { origin: record.origin } : {};
}
