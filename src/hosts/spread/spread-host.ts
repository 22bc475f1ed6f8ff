import { Failure } from "../../contract/errors.ts";
import type { Host } from "../host.ts";
import { answerParts, isQuarantined } from "./answer-part.ts";
import { settleLinks } from "./apply-spread.ts";
import { isPartPath, type PartRecord, partPath, partsIn, type Records } from "./records.ts";
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
  const settled = labs.settle();
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
    parts: answerParts({ local, parts, isHome: (id) => records.get(id) !== undefined, name: () => labs.nameOf(options.own) }),
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

/** Removes a part whose lab does not exist any more. A home machine that does not answer keeps its parts. */
async function endOrphan(local: Host, parts: Records<PartRecord>, part: PartRecord, options: SpreadOptions): Promise<void> {
  const home = options.machines().find(({ number }) => number === part.home);
  // Before the first report, no machine is known.
  if (options.machines().length === 0 || home?.answers === false) return;
  if (home !== undefined) {
    try {
      const { facts, stream } = await options.calls.open(part.home, { name: "isHome", args: { id: part.id } });
      stream.destroy();
      if (facts === true) return;
    } catch (error) {
      if (error instanceof Failure && error.code === "machine_unreachable") return;
      throw error;
    }
  }
  // Not in a session of its owner, who may have been removed.
  await local.moves!.leave(partPath(part.id));
  if (await isQuarantined(local, part)) throw new Error("its lab was destroyed, and it is in quarantine: labwright quarantine delete");
  await parts.remove(part.id);
  options.warn(`the part of ${part.path} was removed: its lab on the machine ${home?.name ?? part.home} does not exist any more`);
}
