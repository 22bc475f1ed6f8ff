import { join } from "node:path";
import { Failure } from "../../contract/errors.ts";
import type { Host } from "../host.ts";
import { answerParts } from "./answer-part.ts";
import { isPartPath, type PartRecord, partPath, Records, type SpreadRecord } from "./records.ts";
import { SpreadLabs, type SpreadOptions } from "./spread-labs.ts";
import { ownCapture, spreadSession } from "./spread-session.ts";

/** Interval at which this machine asks whether the labs of its parts still exist, ms. */
const sweepMs = 30_000;

/**
 * Returns the embedded host of a machine of a fleet, on which a lab may be spread over several machines: its home machine has the lab, and the others have parts
 * that nobody sees.
 */
export function spreadHost(local: Host, options: SpreadOptions): Host {
  const records = new Records<SpreadRecord>(join(options.directory, "labs"));
  const parts = new Records<PartRecord>(join(options.directory, "parts"));
  const labs = new SpreadLabs(local, records, options);
  const sweep = async () => {
    for (const part of parts.all()) await endOrphan(local, parts, part, options);
  };
  let sweeping: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    sweeping = sweeping.then(sweep).catch((error: Error) => options.warn(`parts of labs of other machines: ${error.message}`));
  }, sweepMs).unref();
  return {
    ...local,
    login: async (user, password, signal) => spreadSession(labs, await local.login(user, password, signal)),
    resume: async (user, limit) => {
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
    parts: answerParts({ local, parts, isHome: (id) => records.get(id) !== undefined }),
    close: async () => {
      clearInterval(timer);
      await sweeping;
      await local.close();
    },
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
  const session = await local.resume!(part.owner);
  if (session === null) throw new Error(`the part of ${part.path} has no owner: the user ${part.owner} was removed`);
  const path = partPath(part.id);
  const lab = await session.observe(path);
  const step = { do: "delete-lab", wipe: true } as const;
  const operation = {
    id: "end",
    of: "end",
    op: "delete",
    kind: "lab",
    key: path,
    disruption: "stop",
    affects: [],
    changes: [],
    prune: true,
  } as const;
  if (lab !== null)
    await session.apply(path, [{ ...operation, reason: { code: "removed", text: "its lab was destroyed" } as never, step }], {
      ids: { nodes: {}, networks: {}, links: {} },
      step: () => undefined,
      force: true,
    });
  await parts.remove(part.id);
  options.warn(`the part of ${part.path} was removed: its lab on the machine ${home?.name ?? part.home} does not exist any more`);
}
