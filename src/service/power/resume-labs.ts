import { Failure } from "../../contract/errors.ts";
import type { HostSession } from "../../hosts/host.ts";
import { storedRequest } from "../changes/change-kind.ts";
import { guarded } from "../changes/managed.ts";
import { addressRecorded } from "../context/address.ts";
import type { ChangeParts, EventsPart, ResumePart } from "../context/parts.ts";
import { isOver } from "../leases/lease.ts";
import type { LabRecord } from "../store/store.ts";
import { lostOf, policyOf, resumeKind } from "./resume.ts";

/** Number of labs restored in parallel: starting a lab loads the whole machine. */
const parallel = 3;

/**
 * At the start of the service: restores the nodes that ended with the host, in labs with policy always, and reports the other labs. Settles when all
 * restores have ended. A failed restore is shown in the lab's status and does not affect other labs.
 */
export async function resumeLabs(context: ChangeParts & EventsPart & ResumePart, records: readonly LabRecord[]): Promise<void> {
  if (context.host.resume === undefined) return;
  const left = [...records];
  const next = async () => {
    for (let record = left.shift(); record !== undefined; record = left.shift()) await look(context, record);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, left.length) }, next));
}

async function look(context: ChangeParts & EventsPart & ResumePart, record: LabRecord): Promise<void> {
  const { path, owner } = record;
  try {
    const host = await context.sessions.resume(owner);
    try {
      const lost = (await host.labs()).includes(path) ? lostOf((await host.status(path)).nodes) : [];
      if (lost.length > 0) await resumeOrTell(context, host, path, lost.length);
    } finally {
      await host.close();
    }
  } catch (error) {
    if (error instanceof Failure && error.code === "lab_busy") {
      // A user was faster. The change may have started the nodes, or not.
      await context.jobs.untilIdle(path);
      return look(context, record);
    }
    // The lab's status shows the same failure.
    context.log("warn", "a lab could not be brought back", { lab: path, error: String(error) });
  }
}

async function resumeOrTell(context: ChangeParts & EventsPart & ResumePart, host: HostSession, path: string, nodes: number): Promise<void> {
  context.interrupted.add(path);
  const record = context.store.labs.get(path);
  if (record === undefined) return;
  // A lab whose lease ended while the machine was down is not started to be stopped again.
  const policy = isOver(record.lease, context.uses.of(record), context.clock.now()) ? "never" : policyOf(context, record);
  context.log("info", policy === "always" ? "a lab is brought back" : "a lab ended with the host and stays stopped", { lab: path, nodes });
  const publish = (resume: string) => context.events.publish({ type: "lab", lab: path, data: { resume, nodes } });
  if (policy === "never") return publish("waiting");
  publish("begins");
  const target = await addressRecorded(context, path, record.owner, host, `resume ${path}`);
  const { result } = await context.jobs.start({
    operation: resumeKind.operation,
    lab: path,
    user: record.owner,
    request: storedRequest(resumeKind, {}),
    work: (job) => guarded(context, target, job, () => resumeKind.run({ context, job, target }, {})),
  });
  await result.then(
    () => publish("done"),
    () => publish("failed"),
  );
}
