import { Failure } from "../../contract/errors.ts";
import type { HostUserPayload, HostUserRemovePayload, HostUsersData } from "../../contract/schemas/host-users.ts";
import type { Host, HostSession, HostUserChanges } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import type { Log } from "../common/log.ts";
import { badRequest } from "../common/refusals.ts";

export interface ChangeUsers {
  readonly host: Pick<Host, "userChanges">;
  readonly log: Log;
  /** Returns the session of a caller with the host. */
  readonly session: (caller: Caller) => Promise<HostSession>;
}

/** Adds a user, or changes the password or role of one. Open sessions of a user with a new password or role end or change at once. */
export async function setHostUser(context: ChangeUsers, caller: Caller, payload: HostUserPayload): Promise<HostUsersData> {
  const { user, add = false, password, role } = payload;
  const [session, changes] = await changesFor(context, caller);
  if (add) {
    if (password === undefined) throw badRequest("/password", "a new user needs a password");
    await changes.add(user, password, role ?? "user");
  } else {
    if (password === undefined && role === undefined) throw badRequest("/role", "send a new role, a new password, or both");
    if (role !== undefined) await changes.setRole(user, role);
    if (password !== undefined) await changes.setPassword(user, password);
  }
  const what = { add, role, password: password !== undefined };
  context.log("info", "a user of the host was changed", { changed: user, by: caller.user, ...what });
  return listHostUsers(caller, session);
}

/** Removes a user. Throws bad_request for the last admin. */
export async function removeHostUser(context: ChangeUsers, caller: Caller, { user }: HostUserRemovePayload): Promise<HostUsersData> {
  const [session, changes] = await changesFor(context, caller);
  // Otherwise an admin could not see what the removal did.
  if (user === caller.user) throw badRequest("/user", "another admin must remove you");
  await changes.remove(user);
  context.log("info", "a user of the host was removed", { removed: user, by: caller.user });
  return listHostUsers(caller, session);
}

async function changesFor({ host, session }: ChangeUsers, caller: Caller): Promise<readonly [HostSession, HostUserChanges]> {
  if (caller.role !== "admin") throw new Failure("operation_not_allowed", "the host's users are changed by admins only");
  if (host.userChanges === undefined) throw unsupported("userChanges");
  return [await session(caller), host.userChanges];
}

/** Throws operation_not_allowed for callers who are not admins, and unsupported if the host does not list its users. */
export async function listHostUsers(caller: Caller, host: HostSession): Promise<HostUsersData> {
  if (caller.role !== "admin") throw new Failure("operation_not_allowed", "the host's users are listed for admins only");
  if (!(await host.capabilities()).features.hostUsers || host.users === undefined) throw unsupported("hostUsers");
  return { users: (await host.users()).toSorted((a, b) => (a.user < b.user ? -1 : 1)) };
}
