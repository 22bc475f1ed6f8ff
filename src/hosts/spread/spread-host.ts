import { Failure } from "../../contract/errors.ts";
import type { Host } from "../host.ts";
import { type AskingPart, answerParts, isQuarantined } from "./answer-part.ts";
import { settleLinks } from "./apply-spread.ts";
import { idOfPart, isPartPath, lostPart, type PartRecord, partPath, partsIn, type Records } from "./records.ts";
import { SpreadLabs, type SpreadOptions } from "./spread-labs.ts";
import { ownCapture, spreadSession } from "./spread-session.ts";

/** Default of the interval between two looks at parts, ms. */
const defaultSweepMs = 30_000;

/**
 * Returns the embedded host of a machine of a fleet, on which a lab may be spread over several machines: its home machine has the lab, and the others have parts
 * that nobody sees.
 */
export function spreadHost(local: Host, options: SpreadOptions): Host {
  const labs = new SpreadLabs(local, options);
  const { records } = labs;
  const parts = partsIn(options.directory, options.warn);
  const settled = labs.settle().then(() => recordParts(parts, options));
  // A failure is thrown at login.
  settled.catch(() => undefined);
  const warning = warner(options.warn);
  const sweep = async () => {
    await settled;
    await warning("records of spread labs", () => labs.dropStale());
    for (const { path, unsettled } of records.all())
      if (unsettled !== undefined && !labs.isBusy(path))
        await warning(`the links of ${path} between machines`, async () => {
          const session = await local.resume!(unsettled.owner);
          if (session === null) return;
          try {
            await settleLinks(labs, session, path);
          } finally {
            await session.close();
          }
        });
    for (const part of parts.all())
      await warning(`the part of ${part.path}, a lab of another machine`, () => endOrphan(local, parts, part, options));
  };
  let sweeping: Promise<void> = Promise.resolve();
  let isSweeping = false;
  const timer = setInterval(() => {
    // A machine that answers slowly must not gather sweeps.
    if (isSweeping) return;
    isSweeping = true;
    sweeping = warning("parts of labs of other machines", sweep).finally(() => {
      isSweeping = false;
    });
  }, options.sweepMs ?? defaultSweepMs).unref();
  return {
    ...local,
    login: async (user, password, signal) => {
      await settled;
      return spreadSession(labs, await local.login(user, password, signal));
    },
    resume: async (user, limit) => {
      await settled;
      const session = await local.resume!(user, limit);
      return session && spreadSession(labs, session);
    },
    holds: async (lab) => !isPartPath(lab) && (await local.holds!(lab)),
    labId: async (lab) => (isPartPath(lab) ? undefined : local.labId!(lab)),
    labOfCapture: async (capture) => {
      const there = ownCapture(capture);
      if (there === undefined) {
        const path = await local.labOfCapture!(capture);
        return path === undefined || isPartPath(path) ? undefined : path;
      }
      const found = await Promise.all(
        records.all().map(async (record) => {
          if (!(there.machine in record.parts)) return [];
          const owner = await options.calls.open(there.machine, { name: "hasCapture", args: { id: record.id, capture: there.id } });
          owner.stream.destroy();
          return owner.facts === true ? [record.path] : [];
        }),
      );
      return found.flat()[0];
    },
    ...(local.moves !== undefined && {
      moves: {
        ...local.moves,
        describe: (lab: string) => {
          if (labs.recordOf(lab) !== undefined)
            throw new Failure(
              "operation_not_allowed",
              "the lab is spread over machines: it stays where its nodes are until it is destroyed",
            );
          return local.moves!.describe(lab);
        },
      },
    }),
    parts: answerParts({ local, parts, isHome: (part) => hasPart(labs, local, part), name: () => labs.nameOf(options.own) }),
    close: async () => {
      clearInterval(timer);
      await sweeping;
      // A failure was thrown at login.
      await settled.catch(() => undefined);
      await local.close();
    },
  };
}

/** Returns a function that runs work whose failure must not stop what comes after it. The same failure again and again is one warning. */
function warner(warn: (text: string) => void): (subject: string, work: () => Promise<void>) => Promise<void> {
  const last = new Map<string, string>();
  return async (subject, work) => {
    try {
      await work();
      last.delete(subject);
    } catch (error) {
      const { message } = error as Error;
      if (last.get(subject) === message) return;
      last.set(subject, message);
      warn(`${subject}: ${message}`);
    }
  };
}

/** Records the parts on the disk whose records are missing: their home machines are looked for. */
async function recordParts(parts: Records<PartRecord>, { parts: paths, warn }: SpreadOptions): Promise<void> {
  for (const path of paths) {
    const id = idOfPart(path);
    if (id === undefined || parts.get(id) !== undefined) continue;
    await parts.put(lostPart(id));
    warn(`the record of ${path}, the part of another machine's lab, was missing: its home machine is looked for`);
  }
}

/** Removes a part whose lab does not exist any more. A home machine that does not answer keeps its parts. */
async function endOrphan(local: Host, parts: Records<PartRecord>, part: PartRecord, options: SpreadOptions): Promise<void> {
  const machines = options.machines();
  // Before the first report, no machine is known.
  if (machines.length === 0) return;
  // A home machine that was removed may have joined again, with another number.
  const isSearched = !machines.some(({ number }) => number === part.home);
  const asked = machines.filter(({ number }) => (isSearched ? number !== options.own : number === part.home));
  if (asked.some(({ answers }) => !answers)) return;
  try {
    for (const { number } of asked) {
      if (!(await isHomeOf(local, part, number, options))) continue;
      if (isSearched) await parts.put({ ...part, home: number });
      return;
    }
  } catch (error) {
    if (error instanceof Failure && error.code === "machine_unreachable") return;
    throw error;
  }
  // Not in a session of its owner, who may have been removed.
  await local.moves!.leave(partPath(part.id));
  if (await isQuarantined(local, part)) throw new Error("its lab was destroyed, and it is in quarantine: labwright quarantine delete");
  await parts.remove(part.id);
  const home = isSearched ? "" : ` on the machine ${asked[0]!.name}`;
  options.warn(`the part of ${part.path} was removed: its lab${home} does not exist any more, or has its nodes elsewhere`);
}

/** Asks a machine whether it has the lab of a part. */
async function isHomeOf(local: Host, part: PartRecord, machine: number, { calls }: SpreadOptions): Promise<boolean> {
  const args = { id: part.id, owner: part.owner, nodes: await nodesOf(local, part) };
  try {
    const { facts, stream } = await calls.open(machine, { name: "isHome", args });
    stream.destroy();
    return facts === true;
  } catch (error) {
    // A machine that runs no labs has none.
    if (error instanceof Failure && error.code === "unsupported") return false;
    throw error;
  }
}

/** Returns the names of a part's nodes; undefined: its owner has been removed. */
async function nodesOf(local: Host, { id, owner }: PartRecord): Promise<readonly string[] | undefined> {
  const session = await local.resume!(owner);
  if (session === null) return undefined;
  try {
    return (await session.observe(partPath(id)))?.nodes.map(({ name }) => name);
  } finally {
    await session.close();
  }
}

/**
 * Whether a lab of this machine has the part of another one. A part that is not in the lab's record, because its machine was removed and joined again, or because the record is
 * older, belongs to it again if the lab has no nodes of these names. Otherwise they were made elsewhere.
 */
async function hasPart(labs: SpreadLabs, local: Host, { id, machine, owner, nodes }: AskingPart): Promise<boolean> {
  const record = labs.records.get(id) ?? (await labs.remake(id));
  if (record === undefined) return false;
  // A change may just add it: the next question decides.
  if (machine in record.parts || nodes === undefined || owner === undefined || labs.isBusy(record.path)) return true;
  const session = await local.resume!(owner);
  if (session === null) return true;
  try {
    return await labs.alone(record.path, () => labs.takeBack(id, machine, session, nodes));
  } finally {
    await session.close();
  }
}
