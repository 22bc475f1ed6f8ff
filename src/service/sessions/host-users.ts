import { Failure } from "../../contract/errors.ts";
import type { HostUsersData } from "../../contract/schemas/host-users.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";

/** Throws operation_not_allowed for callers who are not admins, and unsupported if the host does not list its users. */
export async function listHostUsers(caller: Caller, host: HostSession): Promise<HostUsersData> {
  if (caller.role !== "admin") throw new Failure("operation_not_allowed", "the host's users are listed for admins only");
  if (!(await host.capabilities()).features.hostUsers || host.users === undefined) throw unsupported("hostUsers");
  return { users: (await host.users()).toSorted((a, b) => (a.user < b.user ? -1 : 1)) };
}
