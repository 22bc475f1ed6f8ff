import Type from "typebox";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { ProjectPayload, RenumberData } from "../../contract/schemas/project.ts";
import { endpointKeys, joinIds } from "../../engine/compare/join.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { recordApplied, refuseLocked, runChange } from "../changes/managed.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressChange } from "../context/address.ts";
import type { ChangeParts, ClockPart, HostPart, StorePart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";

const RenumberRequest = Type.Object({});

export const renumberKind: ChangeKind<typeof RenumberRequest, RenumberData> = {
  operation: "renumberLab",
  version: 1,
  request: RenumberRequest,
  isStepless: true,
  run: ({ context, job, target }) => renumberLab(context, job, target),
};

/** Gives a stopped lab numbers that no other lab of the host user has. Throws unsupported if labs of this host do not share numbers. */
export async function renumberProject(
  context: ChangeParts,
  caller: Caller,
  payload: ProjectPayload,
  call: ChangeCall,
): Promise<RenumberData | JobStarted> {
  const target = await addressChange(context, caller, payload, "edit");
  if (!(await target.host.capabilities()).features.renumber) throw unsupported("renumber");
  return runChange(context, target, call, renumberKind, {});
}

/** Safe to run again: numbers that no other lab has stay. */
async function renumberLab(context: HostPart & StorePart & ClockPart, job: Job, target: Target): Promise<RenumberData> {
  const { host, path } = target;
  job.signal.throwIfAborted();
  if (host.renumber === undefined) throw unsupported("renumber");
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  refuseLocked(observed);
  const known = joinIds(target.intent?.lab ?? null, observed, target.ids);
  const { ids, nodes, networks } = await host.renumber(path, known);
  const state = await recordApplied(context, target, ids, target.intent);
  const keys = endpointKeys(known);
  return {
    lab: path,
    nodes: nodes.map(({ name, before, after }) => ({ node: keys.nodes.get(String(before)) ?? name, before, after })),
    networks: networks.map(({ name, before, after }) => ({ network: keys.networks.get(String(before)) ?? name, before, after })),
    state,
  };
}
