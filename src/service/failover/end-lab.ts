import { applyOperations } from "../changes/apply.ts";
import { planAgainstHost } from "../changes/planned.ts";
import type { ConsolesPart, SessionsPart, WorkPart } from "../context/parts.ts";
import type { Job } from "../jobs/jobs.ts";
import type { LabRecord } from "../store/store.ts";

/**
 * Deletes a lab from the host of this machine, and leaves its record alone: it belongs to another machine. Disks are kept. Returns false if the host has no
 * such lab.
 */
export async function endLab({ sessions, consoles, work }: SessionsPart & ConsolesPart & WorkPart, record: LabRecord): Promise<boolean> {
  const { path, owner, ids } = record;
  const host = await sessions.resume(owner);
  try {
    if (!(await host.labs()).includes(path)) return false;
    if ((await host.observe(path))?.locked === true) await host.setLock(path, false);
    const options = { direction: "to_host", prune: true, replace: false, wipe: false } as const;
    const { plan } = await planAgainstHost({ work }, { host, path, ids, record }, null, options);
    await applyOperations(consoles, host, unjournaled(record), { path, operations: plan.operations, ids, owner, force: true });
    return true;
  } finally {
    await host.close();
  }
}

/** A change without a row in the journal, which belongs to the lab's new machine. It is safe to repeat. */
function unjournaled({ identity }: LabRecord): Job {
  return {
    id: "",
    identity,
    operation: "destroyProject",
    signal: new AbortController().signal,
    warnings: [],
    begin: async () => {},
    done: () => {},
    waits: () => {},
    progresses: () => {},
    warn: () => {},
  };
}
