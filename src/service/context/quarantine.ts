import { Failure } from "../../contract/errors.ts";
import type { QuarantineData, QuarantineDeleteData, QuarantineRestoreData } from "../../contract/schemas/quarantine.ts";
import type { HostQuarantine, HostSession, QuarantinedLab } from "../../hosts/host.ts";
import { checkLabPath } from "../../intent/lab/lab-path.ts";
import type { Caller } from "../common/call.ts";
import { rightOn } from "../sessions/rights.ts";
import type { LabRecord } from "../store/store.ts";
import type { HostPart, LogPart, LookupParts, ObservationsPart, StorePart, WorkPart } from "./parts.ts";
import type { Target } from "./target.ts";

/** Returns the labs in the host's quarantine, none for a host without quarantine. Throws operation_not_allowed for callers who are not admins. */
export async function listQuarantine(caller: Caller, host: HostSession): Promise<QuarantineData> {
  return { labs: (await quarantineOf(caller, host)?.list()) ?? [] };
}

/** Restores a lab from quarantine. If the service still has a record of it, the record is valid again. */
export async function restoreQuarantined(
  context: StorePart & LogPart & ObservationsPart,
  caller: Caller,
  host: HostSession,
  id: string,
): Promise<QuarantineRestoreData> {
  const quarantine = quarantineOf(caller, host);
  const found = (await quarantine?.list())?.find((one) => one.id === id);
  if (quarantine === undefined || found === undefined) throw notFound(id);
  refuseOthersRecord(context, found);
  const lab = await quarantine.restore(id);
  const record = context.store.labs.get(lab);
  if (record?.labId !== undefined && record.labId !== id) await context.store.labs.put({ ...record, labId: id, plans: {} });
  context.observations.forget(lab);
  context.log("info", "a lab was restored from quarantine", { lab, id, user: caller.user });
  return { id, lab };
}

/** The record of another lab at the path must not become the record of this lab. */
function refuseOthersRecord({ store }: StorePart, { id, lab, owner }: QuarantinedLab): void {
  const record = lab === undefined ? undefined : store.labs.get(lab);
  if (record?.labId === undefined || record.labId === id || record.owner === owner) return;
  throw new Failure(
    "lab_exists",
    `${lab} has a record of another lab, ${record.labId} of ${record.owner}: destroy that lab, or change "path" in lab.json, and restore again`,
  );
}

/** Ends the processes of a lab in quarantine, and removes its files. */
export async function deleteQuarantined(context: LogPart, caller: Caller, host: HostSession, id: string): Promise<QuarantineDeleteData> {
  const quarantine = quarantineOf(caller, host);
  if (quarantine === undefined) throw notFound(id);
  await quarantine.remove(id);
  context.log("info", "a lab in quarantine was deleted", { id, user: caller.user });
  return { id };
}

/** Returns whether the lab at this path, or the lab of this record, is in quarantine. The lab of a record is identified by its id. */
export async function isQuarantined({ host }: HostPart, path: string, record: Pick<LabRecord, "labId"> | undefined): Promise<boolean> {
  if (host.quarantined === undefined || (await host.labId?.(path)) !== undefined) return false;
  const id = record?.labId;
  return (await host.quarantined()).some((one) => one.id === id || (id === undefined && one.lab === path));
}

/**
 * Called before a change. Throws operation_not_allowed if the lab is in quarantine: its nodes may run, and a change could lose track of them or
 * create a second lab at its path.
 */
export async function refuseQuarantined(context: HostPart, { path, record }: Pick<Target, "path" | "record">): Promise<void> {
  // The path is also blocked if its record's lab is deleted and another lab in quarantine claims the path.
  if ((await isQuarantined(context, path, record)) || (await isQuarantined(context, path, undefined))) throw inQuarantine(path);
}

/** The lab that a request names. */
interface LabNamed {
  readonly lab?: unknown;
  readonly yaml?: unknown;
  readonly files?: unknown;
}

/**
 * Returns the error instead of lab_not_found: operation_not_allowed if the lab of the request is in quarantine and the caller may see it.
 * @param request its body or query names the lab
 */
export async function explainAbsence(context: LookupParts, caller: Caller, request: unknown, error: Failure): Promise<Failure> {
  if (context.host.quarantined === undefined || (await context.host.quarantined()).length === 0) return error;
  const path = await pathNamed(context, request);
  if (path === undefined) return error;
  const record = context.store.labs.get(path);
  const mayKnow = record === undefined ? caller.role === "admin" : rightOn(record, caller) !== undefined;
  return mayKnow && (await isQuarantined(context, path, record)) ? inQuarantine(path) : error;
}

/** Returns the path of the lab that the body or query of a request names; undefined: none, or no valid path. */
export async function pathNamed({ work }: WorkPart, request: unknown): Promise<string | undefined> {
  const { body, query } = request as { readonly body?: LabNamed; readonly query?: LabNamed };
  const { lab, yaml, files }: LabNamed = body ?? query ?? {};
  // Checked by its schema when the request came.
  const name =
    lab ?? (typeof yaml === "string" ? (await work.read(yaml, (files ?? {}) as Readonly<Record<string, string>>)).lab?.name : undefined);
  if (typeof name !== "string") return undefined;
  const checked = checkLabPath(name);
  return "path" in checked ? checked.path : undefined;
}

function inQuarantine(path: string): Failure {
  return new Failure(
    "operation_not_allowed",
    `${path} is in quarantine: its definition on the host is missing, does not read, or is disputed, and its nodes may still run. Nothing was changed. ` +
      "An admin restores or deletes it first: labwright quarantine",
  );
}

function quarantineOf(caller: Caller, { quarantine }: HostSession): HostQuarantine | undefined {
  if (caller.role !== "admin") throw new Failure("operation_not_allowed", "only an admin may look at labs in quarantine");
  return quarantine;
}

function notFound(id: string): Failure {
  return new Failure("lab_not_found", `there is no lab ${id} in quarantine`);
}
