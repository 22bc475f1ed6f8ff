import { Failure } from "../../contract/errors.ts";
import type { LabAdoptData, LabAdoptPayload } from "../../contract/schemas/sharing.ts";
import { joinIds } from "../../engine/compare/join.ts";
import { readLab } from "../../engine/compare/read-lab.ts";
import { printLab } from "../../intent/write/print.ts";
import { snapshot } from "../changes/managed.ts";
import { refuseUnseen } from "../changes/planned.ts";
import { recordHistory } from "../changes/record-history.ts";
import type { Caller } from "../common/call.ts";
import { newId } from "../common/new-id.ts";
import { badRequest, labNotFound } from "../common/refusals.ts";
import type { ChangeParts, HostPart, JobsPart, StorePart } from "../context/parts.ts";
import { checkFields, pathOf } from "../context/selector.ts";
import { noIds } from "../context/target.ts";
import { refuseElsewhere } from "../placement/refuse-elsewhere.ts";
import { refuseOutOfReach } from "../sessions/rights.ts";
import type { LabRecord } from "../store/store.ts";

/**
 * Creates a record for an unmanaged lab, with an owner and the host's definition as its intent. Does not change the lab.
 * Throws operation_not_allowed for callers that are not admins, lab_not_found, lab_exists for a lab that has a record, lab_busy.
 */
export async function adoptLab(context: ChangeParts, caller: Caller, payload: LabAdoptPayload): Promise<LabAdoptData> {
  const { owner = caller.user } = payload;
  if (caller.role !== "admin")
    throw new Failure("operation_not_allowed", "only an admin may adopt a lab that the service has no record of");
  const path = pathOf(payload, checkFields(payload), undefined);
  refuseOutOfReach(caller, path);
  await refuseElsewhere(context, path);
  refuseOwner(context, owner);
  const host = await context.sessions.hostSession(caller);
  const [rules, observed] = await Promise.all([host.rules(), host.observe(path)]);
  if (observed === null) throw labNotFound(path);
  refuseUnseen(observed);
  const ids = joinIds(null, observed, noIds);
  const captured = readLab({ observed, rules, ids });
  refuseManaged(context, path);
  await host.setOwner?.(path, owner);
  // A change may have begun meanwhile.
  refuseManaged(context, path);
  const record: LabRecord = {
    path,
    identity: newId(),
    mode: "create",
    owner,
    ...printLab(captured),
    applied: snapshot(observed),
    serial: 1,
    labId: observed.id,
    ids: joinIds(captured, observed, ids),
    plans: {},
    power: {},
    updatedAt: context.clock.now(),
  };
  await context.store.labs.put(record);
  await recordHistory(context, record, captured, { user: caller.user, operation: "adoptLab" }, undefined);
  context.observations.forget(path);
  context.log("info", "a lab was adopted", { lab: path, owner, user: caller.user });
  return { lab: path, owner, nodes: observed.nodes.length, links: observed.links.length };
}

function refuseOwner({ host }: HostPart, owner: string): void {
  if (owner === "" || owner.length > 256) throw badRequest("/owner", "a user name has 1 to 256 characters");
  const account = host.accounts?.find(owner);
  if (account === null) throw badRequest("/owner", `the host has no user ${JSON.stringify(owner)}`);
  if (account?.role === "viewer") throw badRequest("/owner", `${JSON.stringify(owner)} is a viewer; viewers cannot own labs`);
}

function refuseManaged({ store, jobs }: StorePart & JobsPart, path: string): void {
  jobs.refuseBusy(path);
  const record = store.labs.get(path);
  if (record !== undefined) throw new Failure("lab_exists", `${path} has a record: it belongs to ${record.owner}`);
}
