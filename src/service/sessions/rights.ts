import { Failure } from "../../contract/errors.ts";
import type { Host } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import { type GrantedRight, grantable, type LabRecord } from "../store/store.ts";
import { matchesPath } from "./lab-patterns.ts";

/**
 * Rights on a managed lab. view: read and plan; operate: also power, consoles, links and captures; edit: also change
 * what the lab is; own: also destroy and share it.
 */
export type Right = GrantedRight | "own";

const order: readonly Right[] = [...grantable, "own"];

/** Returns the caller's right on a lab, at most that of an API token, and `undefined` if the caller may not see the lab. */
export function rightOn(
  record: Pick<LabRecord, "path" | "owner" | "grants">,
  caller: Pick<Caller, "user" | "role" | "limit" | "apiToken">,
): Right | undefined {
  if (!reaches(caller, record.path)) return undefined;
  const right = rightOfUser(record, caller);
  return right !== undefined && caller.limit !== undefined && includes(right, caller.limit) ? caller.limit : right;
}

/** A viewer sees every lab, and a grant adds nothing to that. */
function rightOfUser(record: Pick<LabRecord, "owner" | "grants">, caller: Pick<Caller, "user" | "role">): Right | undefined {
  if (caller.role === "admin") return "own";
  if (caller.role === "viewer") return "view";
  if (record.owner === caller.user) return "own";
  return record.grants !== undefined && Object.hasOwn(record.grants, caller.user) ? record.grants[caller.user] : undefined;
}

/**
 * Returns whether a caller may use labs without a record. Such a lab has no known owner: only admins may use it, unless the host has its own labs and
 * rights.
 */
export function seesUnrecorded({ holds }: Pick<Host, "holds">, { role }: Pick<Caller, "role">): boolean {
  return role === "admin" || holds === undefined;
}

/** Returns whether a caller may use any lab at this path: false for an API token that is limited to other labs. */
export function reaches({ apiToken }: Pick<Caller, "apiToken">, path: string): boolean {
  return apiToken?.labs === undefined || apiToken.labs.some((pattern) => matchesPath(pattern, path));
}

/** Throws operation_not_allowed if the caller's API token is limited to other labs: the same for labs that exist and for those that do not. */
export function refuseOutOfReach(caller: Pick<Caller, "apiToken">, path: string): void {
  if (reaches(caller, path)) return;
  const labs = caller.apiToken?.labs?.join(", ");
  throw new Failure("operation_not_allowed", `this API token is for the labs ${labs}, not for ${path}: use a token for it`);
}

export function includes(have: Right, wanted: Right): boolean {
  return order.indexOf(have) >= order.indexOf(wanted);
}
