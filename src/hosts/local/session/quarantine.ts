import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { HostQuarantine, QuarantinedLab } from "../../host.ts";
import { lives, parseIdentity, readIfThere } from "../holder/identity.ts";
import { isUuid } from "../machine/uuid.ts";
import { endStrays } from "../sandbox/end-strays.ts";
import type { LocalState } from "./local-state.ts";

/**
 * Manages labs that have a directory or a holder, but no valid definition.
 * @param run the run directory
 */
export function localQuarantine(state: Omit<LocalState, "quarantine">, run: string): HostQuarantine {
  const { definitions, lab, forget, exclusive, catalogue, trash } = state;

  async function found(id: string): Promise<QuarantinedLab> {
    const one = (await list()).find((each) => each.id === id);
    if (one === undefined) throw new Failure("lab_not_found", `there is no lab ${id} in quarantine`);
    return one;
  }

  async function list(): Promise<readonly QuarantinedLab[]> {
    const directories = await definitions.quarantined();
    const known = new Set([...definitions.ids(), ...directories.map(({ id }) => id)]);
    const running = await runningIn(run);
    const labs = directories.map(({ id, reason, definition }) => ({
      id,
      reason,
      ...(definition !== undefined && { lab: definition.path, owner: definition.owner }),
      running: running.has(id),
      restorable: definition !== undefined,
    }));
    const strays = [...running].filter((id) => !known.has(id));
    const reason = "it runs, but its directory is missing";
    return [...labs, ...strays.map((id) => ({ id, reason, running: true, restorable: false }))].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  return {
    list,
    restore: async (id) => {
      await found(id);
      const { path } = await definitions.restore(id);
      await exclusive(path, async () => {
        await endStrays(run, [id]);
        await lab(id).adopt();
        const definition = await definitions.get(path);
        if (definition !== undefined && lab(id).sandbox !== null) await lab(id).reconcileFabric(definition, await catalogue());
      });
      return path;
    },
    remove: async (id) => {
      await found(id);
      await exclusive(id, async () => {
        await endStrays(run, [id]);
        await lab(id).destroy();
        forget(id);
        // The lab may have been restored meanwhile.
        if (!definitions.ids().includes(id)) await trash.discard(definitions.directory(id));
      });
    },
  };
}

/** Returns the ids of labs in the run directory whose holder runs. */
async function runningIn(run: string): Promise<ReadonlySet<string>> {
  const ids = (await readdir(run)).filter(isUuid);
  const alive = await Promise.all(
    ids.map(async (id) => {
      const identity = parseIdentity(await readIfThere(join(run, id, "holder.json")));
      return identity !== null && (await lives(identity));
    }),
  );
  return new Set(ids.filter((_id, at) => alive[at]));
}

/** Returns the quarantine for one session: only an admin can use it. */
export function quarantineFor(quarantine: HostQuarantine, isAdmin: boolean): HostQuarantine {
  const allowed =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    (...given: Given): Promise<Result> =>
      isAdmin ? call(...given) : Promise.reject(new Failure("operation_not_allowed", "only an admin can use the quarantine"));
  return { list: allowed(quarantine.list), restore: allowed(quarantine.restore), remove: allowed(quarantine.remove) };
}
