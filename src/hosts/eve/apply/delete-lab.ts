import { isUnreadableLab } from "../../host-unreadable.ts";
import { hostFailure } from "../api/host-failure.ts";
import { settled } from "../api/pending-outcome.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import type { EvePlace } from "../labs/world.ts";
import { leftRunning } from "../power/left-running.ts";
import { bringDown, refuseStrays } from "../power/power.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { isUp, type LabHead, type NodeStatus, readHead, readNodes } from "../read/lab-read.ts";
import { nobody, type Run } from "./run.ts";

/** The host reports neither lock nor nodes of such a lab. */
export const unreadable: LabHead = { uuid: "", name: "", lock: 0, description: "", author: "", body: "" };

/** Returns the lab's head, `unreadable` for a lab that the host cannot read. */
export async function readHeadToDelete({ account }: EvePlace, at: EveLabPath): Promise<LabHead | null> {
  try {
    return await readHead(account, at);
  } catch (error) {
    if (isUnreadableLab(error)) return unreadable;
    throw error;
  }
}

export async function deleteLab(run: Run, head: LabHead | null): Promise<void> {
  const { place, at, progress } = run;
  run.ids = nobody;
  if (head === null) return;
  const listed = head === unreadable ? undefined : await nodesToDelete(place, at);
  // The host neither lists nor stops the nodes of a lab that it cannot read.
  if (listed === undefined) for (const warning of await leftRunning(place, at.path, progress.ids.nodes)) progress.warn?.(warning);
  const nodes = listed ?? [];
  const up = nodes.filter(({ status }) => isUp(status)).map(({ id }) => id);
  if (up.length > 0) {
    const lab = await labToDelete(place, at, nodes);
    const power = { place, at, lab, signal: progress.signal, force: progress.force };
    const { foreign, late } = await bringDown(power, up, progress.stopMode ?? 3);
    refuseStrays(power, foreign);
    for (const id of [...late, ...[...foreign.keys()].filter((one) => foreign.get(one)?.lab === undefined)]) {
      const name = nodes.find((node) => node.id === id)?.name ?? String(id);
      const node = Object.entries(progress.ids.nodes).find(([, native]) => native === String(id))?.[0] ?? name;
      const message = `something runs on as number ${id} of the host, and a stop of ${name} did not end it: an administrator of the host ends it there`;
      progress.warn?.({ code: "left_running", node, message });
    }
  }
  const timeoutMs = place.world.timing.powerMs;
  const gone = async () => (await readHeadToDelete(place, at)) === null;
  try {
    await settled(
      `delete lab ${at.path}`,
      () => place.account.call({ method: "DELETE", path: `/api/labs${at.url}`, read: false, timeoutMs }),
      // The host deletes a broken lab without a warning.
      ({ code, status }) => code === 60022 || (code === undefined && status === 200),
      gone,
    );
  } finally {
    place.world.reader.forget(at.path);
    place.world.others.forget(at.path);
    place.world.owners.of(place.account).forget(at.path);
  }
  if (!(await gone())) throw hostFailure(`the host reported that lab ${at.path} is deleted, but it still exists`);
}

/** Returns undefined if a node of the lab has an id that the host cannot use: the others are not listed either. */
async function nodesToDelete({ account }: EvePlace, at: EveLabPath): Promise<readonly NodeStatus[] | undefined> {
  try {
    return await readNodes(account, at);
  } catch (error) {
    if (isUnreadableLab(error)) return undefined;
    throw error;
  }
}

/** Returns the lab, or only its nodes if its file cannot be read: enough to stop them. */
async function labToDelete({ account, world }: EvePlace, at: EveLabPath, nodes: readonly NodeStatus[]): Promise<UnlLab> {
  try {
    return (await world.reader.read(account, at)).lab;
  } catch (error) {
    if (!isUnreadableLab(error)) throw error;
    const unknown = nodes.map(({ id, name }) => ({ id, name, interfaces: [] }));
    return { nodes: unknown, networks: [], textObjects: [], pictures: [], configs: [] };
  }
}
