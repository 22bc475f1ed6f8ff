import type { HostSession } from "../../hosts/host.ts";
import { guarded } from "../changes/managed.ts";
import { noIds, type Target } from "../context/address.ts";
import type { Context } from "../context/context.ts";
import type { LabRecord } from "../store/store.ts";
import { recordedIntent } from "../work/intents.ts";
import { lostOf, policyOf, resumeNodes } from "./resume.ts";

/** Labs that are brought back at the same time: a start is work for the whole machine. */
const parallel = 3;

/**
 * When the service starts: brings back what ended with the host in the labs that are to come back, and tells of the others. Settles when all
 * that comes back is back; a lab whose resume fails says why in its status, and keeps no other from it.
 */
export async function resumeLabs(context: Context, records: readonly LabRecord[]): Promise<void> {
  if (context.host.resume === undefined) return;
  const left = [...records];
  const next = async () => {
    for (let record = left.shift(); record !== undefined; record = left.shift()) await look(context, record);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, left.length) }, next));
}

async function look(context: Context, { path, owner }: LabRecord): Promise<void> {
  try {
    const host = await context.sessions.resume(owner);
    try {
      const lost = (await host.labs()).includes(path) ? lostOf((await host.status(path)).nodes) : [];
      if (lost.length > 0) await resumeOrTell(context, host, path, lost.length);
    } finally {
      await host.close();
    }
  } catch (error) {
    // Its status says the same to whoever looks.
    context.log("warn", "a lab could not be brought back", { lab: path, error: String(error) });
  }
}

async function resumeOrTell(context: Context, host: HostSession, path: string, nodes: number): Promise<void> {
  context.interrupted.add(path);
  const record = context.store.labs.get(path);
  if (record === undefined) return;
  const policy = policyOf(context, record);
  context.log("info", policy === "always" ? "a lab is brought back" : "a lab ended with the host and stays stopped", { lab: path, nodes });
  const tell = (resume: string) => context.events.publish({ type: "lab", lab: path, data: { resume, nodes } });
  if (policy === "never") return tell("waiting");
  tell("begins");
  const intent = await recordedIntent(context, record);
  const target: Target = {
    path,
    mode: record.mode,
    caller: { user: record.owner, role: host.role, session: `resume ${path}` },
    host,
    record,
    ...(intent !== undefined && { intent }),
    sent: false,
    ids: record.ids ?? noIds,
  };
  const { result } = context.jobs.start({
    operation: "resumeLab",
    lab: path,
    user: record.owner,
    request: {},
    work: (job) => guarded(context, target, job, () => resumeNodes(context, job, target)),
  });
  await result.then(
    () => tell("done"),
    () => tell("failed"),
  );
}
