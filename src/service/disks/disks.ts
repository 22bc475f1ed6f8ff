import { Failure } from "../../contract/errors.ts";
import type { DisksData, DisksRemovedData } from "../../contract/schemas/disks.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { HostDisks } from "../../hosts/host-disks.ts";
import type { Caller } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { timeText } from "../common/clock.ts";
import type { LogPart, SessionsPart } from "../context/parts.ts";
import { reaches } from "../sessions/rights.ts";

/** Returns the caller's kept disks, for an admin those of all users. Throws unsupported if the host keeps no disks. */
export async function listDisks({ sessions }: SessionsPart, caller: Caller): Promise<DisksData> {
  const disks = await disksOf(await sessions.hostSession(caller));
  return {
    disks: (await listed(disks, caller)).map(({ id, lab, owner, keptAt, nodes }) => ({
      disks: id,
      lab,
      owner,
      kept_at: timeText(keptAt),
      size_bytes: nodes.reduce((sum, { bytes }) => sum + bytes, 0),
      nodes: nodes.map(({ name, bytes }) => ({ node: name, size_bytes: bytes })),
    })),
  };
}

/** Throws disks_not_found, also for the disks of another user. */
export async function removeDisks({ sessions, log }: LogPart & SessionsPart, caller: Caller, id: string): Promise<DisksRemovedData> {
  const disks = await disksOf(await sessions.hostSession(caller));
  if (caller.apiToken?.labs !== undefined && !(await listed(disks, caller)).some((one) => one.id === id)) {
    throw new Failure("disks_not_found", `there are no kept disks ${id}`);
  }
  await disks.remove(id);
  log("info", "kept disks were removed", { disks: id, user: caller.user });
  return { disks: id };
}

/** An API token for some labs sees the disks of these only. */
async function listed(disks: HostDisks, caller: Caller): Promise<Awaited<ReturnType<HostDisks["list"]>>> {
  return (await disks.list()).filter(({ lab }) => reaches(caller, lab));
}

/** Throws unsupported. */
async function disksOf(host: HostSession): Promise<HostDisks> {
  if (host.disks === undefined || !(await host.capabilities()).features.keptDisks) throw unsupported("keptDisks");
  return host.disks;
}
