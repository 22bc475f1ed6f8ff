import type { LabEntry, LabsData } from "../contract/schemas/observe.ts";
import { readIntent } from "../intent/read.ts";
import { timeText } from "./clock.ts";
import type { Context } from "./context.ts";
import type { Caller } from "./service.ts";

/** The caller's labs: those that the service manages for this user (an admin's and a viewer's: all), and those that only the host has. */
export async function listLabs(context: Context, caller: Caller): Promise<LabsData> {
  const host = await context.sessions.hostSession(caller);
  const onHost = new Set(await host.labs());
  const records = context.store.labs.list();
  const all = caller.role !== "user";
  const managed = records
    .filter(({ owner }) => all || owner === caller.user)
    .map((record): LabEntry => {
      const lab = record.yaml === undefined ? undefined : readIntent(record.yaml, record.files).lab;
      return {
        lab: record.path,
        name: lab?.name ?? nameOf(record.path),
        mode: record.mode,
        owner: record.owner,
        exists: onHost.has(record.path),
        ...(lab !== undefined && { nodes: lab.nodes.length }),
        updated_at: timeText(record.updatedAt),
      };
    });
  const known = new Set(records.map(({ path }) => path));
  const found = [...onHost]
    .filter((path) => !known.has(path))
    .map((path): LabEntry => ({ lab: path, name: nameOf(path), mode: "load", exists: true }));
  return { labs: [...managed, ...found].sort((a, b) => (a.lab < b.lab ? -1 : 1)) };
}

function nameOf(path: string): string {
  return path.split("/").at(-1)!;
}
