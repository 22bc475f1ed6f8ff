import type { LabGrant, LabGrantsData, LabGrantsPayload } from "../../contract/schemas/sharing.ts";
import type { Caller } from "../common/call.ts";
import { badRequest, labNotFound } from "../common/refusals.ts";
import { addressManaged } from "../context/address.ts";
import type { LookupParts, StorePart, StreamsPart } from "../context/parts.ts";
import type { Selector } from "../context/selector.ts";
import { includes, rightOn } from "../sessions/rights.ts";
import type { LabRecord } from "../store/store.ts";

/**
 * Returns the users with whom a lab is shared. Allowed for every user with a right on it. Throws lab_not_found for an unmanaged lab, which has no
 * owner.
 */
export async function labGrants(context: LookupParts, caller: Caller, selector: Selector): Promise<LabGrantsData> {
  return grantsOf((await addressManaged(context, caller, selector, "view")).record);
}

/** Shares a lab: the list replaces the previous list. Throws operation_not_allowed if the caller does not own the lab. */
export async function setLabGrants(context: LookupParts & StreamsPart, caller: Caller, payload: LabGrantsPayload): Promise<LabGrantsData> {
  const { record, path } = await addressManaged(context, caller, payload, "own");
  const grants = new Map<string, LabGrant["right"]>();
  for (const [index, { user, right }] of payload.grants.entries()) {
    const at = `/grants/${index}/user`;
    if (user === "" || user.length > 256) throw badRequest(at, "a user name has 1 to 256 characters");
    if (user === record.owner) throw badRequest(at, "the owner has every right already");
    if (!Object.hasOwn(record.grants ?? {}, user) && context.host.accounts?.find(user) === null)
      throw badRequest(at, `there is no user ${JSON.stringify(user)} on the host`);
    if (grants.has(user)) throw badRequest(at, `${JSON.stringify(user)} is named twice`);
    grants.set(user, right);
  }
  // Reads the record again, because a change of the lab may have ended meanwhile.
  const now = managed(context, caller, path);
  await context.store.labs.put({ ...now, grants: Object.fromEntries([...grants].sort(([a], [b]) => (a < b ? -1 : 1))) });
  for (const user of Object.keys(now.grants ?? {})) {
    const right = grants.get(user);
    if (right === undefined || !includes(right, "operate")) context.streams.end(user, path);
  }
  return grantsOf(managed(context, caller, path));
}

function managed(context: StorePart, caller: Caller, path: string): LabRecord {
  const record = context.store.labs.get(path);
  if (record === undefined || rightOn(record, caller) === undefined) throw labNotFound(path);
  return record;
}

function grantsOf({ path, owner, grants = {} }: LabRecord): LabGrantsData {
  return { lab: path, owner, grants: Object.entries(grants).map(([user, right]) => ({ user, right })) };
}
