import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LabwrightClient } from "../../src/client/index.ts";
import type { Replicas } from "../../src/service/store/testing/replicas.fixture.ts";
import { type MachineName, machineNames, type TestMachines } from "../machines.fixture.ts";
import type { UsedLab } from "./users.ts";

export interface Checked {
  readonly machines: TestMachines;
  readonly servers: Replicas;
  readonly clients: ReadonlyMap<MachineName, LabwrightClient>;
  readonly labs: readonly UsedLab[];
}

/** Returns what is wrong now, for people; nothing once everything is as it must be. */
export async function problemsOf(fleet: Checked): Promise<readonly string[]> {
  const [owners, there] = [await ownersOf(fleet.servers), await labsOnMachines(fleet.machines)];
  const ofOne = fleet.labs.flatMap((lab) => problemsOfLab(lab, owners.get(lab.path), there.get(lab.path) ?? []));
  return [...ofOne, ...(await problemsOfRows(fleet.servers)), ...(await problemsOfLists(fleet, owners))];
}

interface Owned {
  readonly machine: string | null;
  readonly version: number;
}

async function ownersOf(servers: Replicas): Promise<ReadonlyMap<string, Owned>> {
  const rows = await servers.query(
    `SELECT labs.path, m.name AS machine, substring(contents from '# version ([0-9]+)')::integer AS version FROM labs LEFT JOIN leases l ON l.lab = labs.path
     LEFT JOIN services s ON s.id = l.holder LEFT JOIN machines m ON m.installation = s.installation`,
  );
  return new Map(
    rows.map((row) => [row["path"] as string, { machine: row["machine"] as string | null, version: row["version"] as number }]),
  );
}

/** The machines with a definition of each lab. */
async function labsOnMachines(machines: TestMachines): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  for (const name of machineNames) {
    const labs = join(machines.state(name), "labs");
    for (const id of await readdir(labs)) {
      const text = await readFile(join(labs, id, "lab.json"), "utf8").catch(() => undefined);
      if (text === undefined) continue;
      const { path } = JSON.parse(text) as { path: string };
      found.set(path, [...(found.get(path) ?? []), name]);
    }
  }
  return found;
}

function problemsOfLab({ path, confirmed, sent }: UsedLab, owned: Owned | undefined, there: readonly string[]): readonly string[] {
  if (owned === undefined) return [`${path} is lost: it has no record`];
  const problems = [];
  if (owned.machine === null) problems.push(`${path} has no owner`);
  if (there.length !== 1) problems.push(there.length === 0 ? `${path} is on no machine` : `${path} is on ${there.join(" and ")}`);
  if (there.length === 1 && owned.machine !== there[0]) problems.push(`${path} is on ${there[0]}, and belongs to ${owned.machine}`);
  if (owned.version < confirmed || owned.version > sent)
    problems.push(`${path} has the version ${owned.version} of its text; ${confirmed} was confirmed, and ${sent} was sent`);
  return problems;
}

/** Users have no change open: a job that runs, or a lease of a service that has ended, would keep them away from a lab. */
async function problemsOfRows(servers: Replicas): Promise<readonly string[]> {
  const jobs = await servers.query("SELECT id, lab, operation FROM jobs WHERE status = 'running'");
  const leases = await servers.query(
    `SELECT l.lab, s.installation FROM labs JOIN leases l ON l.lab = labs.path JOIN services s ON s.id = l.holder WHERE s.ended_at IS NOT NULL OR s.ends_at < clock_timestamp()`,
  );
  return [
    ...jobs.map(({ lab, operation, id }) => `${lab}: the job ${id} (${operation}) runs on`),
    ...leases.map(({ lab }) => `${lab}: its lease is held by a service that has ended`),
  ];
}

/** Each machine lists each lab once, running, on the machine that owns it. */
async function problemsOfLists({ clients, labs }: Checked, owners: ReadonlyMap<string, Owned>): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const [name, client] of clients) {
    try {
      const { labs: listed } = await client.listLabs({});
      for (const { path } of labs) {
        const found = listed.filter(({ lab }) => lab === path);
        const shown = found.map(({ machine, unreachable_since: since }) => `${machine}${since === undefined ? "" : " (no answer)"}`);
        const owner = owners.get(path)?.machine;
        if (shown.length !== 1 || shown[0] !== owner)
          problems.push(`${path}: ${name} lists it on ${shown.join(" and ") || "no machine"}; ${owner} owns it`);
      }
    } catch (error) {
      problems.push(`${name} does not list the labs: ${(error as Error).message}`);
    }
  }
  const [client] = clients.values();
  for (const { path } of labs) {
    const problem = await client!.getProjectStatus({ lab: path }).then(
      ({ live }) => {
        if (live?.nodes === undefined) return `${path}: its nodes cannot be read: ${live?.error?.error}`;
        return live.nodes.flatMap(({ name, status }) => (status === "running" ? [] : [`${path}: ${name} is ${status}`]))[0];
      },
      (error: Error) => `${path}: ${error.message}`,
    );
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}
