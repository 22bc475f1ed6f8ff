import { randomUUID } from "node:crypto";
import { Failure } from "../../../contract/errors.ts";
import type { NativeIds } from "../../host.ts";
import type { LabSnapshot, RestoredLab } from "../../host-snapshots.ts";
import { isUnreadableLab } from "../../host-unreadable.ts";
import { entriesOf, hostError, numberOf, recordOf, textOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import { settled } from "../api/pending-outcome.ts";
import type { UnlLab, UnlNode } from "../lab-file/unl.ts";
import { numberClash, readPower } from "../labs/clashes.ts";
import { folderTurn, removeEmptyFolder } from "../labs/lab-folders.ts";
import { refuseInUse } from "../labs/other-users.ts";
import { refuseSharedId } from "../labs/shared-id.ts";
import type { EvePlace } from "../labs/world.ts";
import { wipeNodes } from "../power/power.ts";
import { type EveLabPath, encodePath, snapshotPath, snapshotsFolder } from "../read/lab-path.ts";
import { mustReadHead, withHead } from "../read/lab-read.ts";
import { renumbered } from "../write/given-ids.ts";
import { writeLab, writeNewLab } from "../write/write-lab.ts";
import { restoredIds } from "./restored-ids.ts";

/** Lists the snapshots of a lab: the files of its folder of snapshots. The time of a snapshot is that of its file. */
export async function listSnapshots({ account }: EvePlace, at: EveLabPath): Promise<readonly LabSnapshot[]> {
  const answer = await account.call({ path: `/api/folders${encodePath(folderOf(at))}`, read: true });
  // 60008: there is no such folder.
  if (answer.code === 60008) return [];
  if (answer.code !== 60007) throw hostError(`list the snapshots of ${at.path}`, answer);
  return entriesOf(recordOf(answer.data).labs)
    .flatMap(([, one]) => {
      const { file, umtime } = recordOf(one);
      const name = /^(.+)\.unl$/.exec(textOf(file) ?? "")?.[1];
      return name === undefined ? [] : [{ name, takenAt: (numberOf(umtime) ?? 0) * 1000 }];
    })
    .sort((a, b) => a.takenAt - b.takenAt || (a.name < b.name ? -1 : 1));
}

/**
 * Copies the lab's file. The copy has an id of its own, so that it never shares a directory with the lab, and is locked, so that the host's pages do not
 * change it.
 */
export async function takeSnapshot(place: EvePlace, at: EveLabPath, name: string): Promise<LabSnapshot> {
  const copy = snapshotPath(at, name);
  const head = await mustReadHead(place.account, at);
  await refuseRunning(place, at, `no snapshot of ${at.path} was taken`);
  return place.world.writes.run(at.path, async () => {
    if ((await listSnapshots(place, at)).some((one) => one.name === name))
      throw new Failure("snapshot_exists", `${at.path} has a snapshot ${name}: choose another name, or remove it first`);
    const lab = withHead(await readFile(place, at), head);
    await writeNewLab(place, copy, { ...lab, id: randomUUID(), name, lock: 1 }, () => {});
    return findSnapshot(place, at, name);
  });
}

/** The lab keeps its id, so that the disks of its nodes stay. */
export async function restoreSnapshot(place: EvePlace, at: EveLabPath, name: string, ids: NativeIds): Promise<RestoredLab> {
  const { world, account } = place;
  await mustReadHead(account, at);
  const copy = snapshotPath(at, (await findSnapshot(place, at, name)).name);
  await refuseInUse(place, at, { whole: true, owner: account.user, force: false, warn: () => {} });
  await refuseRunning(place, at, `${at.path} was not restored`);
  return world.writes.run("", () =>
    world.writes.run(at.path, async () => {
      const head = await mustReadHead(account, at);
      if (head.lock !== 0) throw new Failure("lab_locked", `lab ${at.path} is locked on the host`);
      const before = withHead(await readFile(place, at), head);
      const copied = await mustReadHead(account, copy);
      const wanted = withHead(await readFile(place, copy), { ...copied, uuid: head.uuid, name: head.name, lock: 0 });
      const taken = await world.others.taken(account, at.path);
      const { given, kept } = restoredIds(before, wanted, taken, place.catalogue.maxNodes);
      const leaving = before.nodes.filter(({ id }) => !kept.has(id));
      // The host stores a disk under the number of its node, which another node may get.
      await wipeNodes(
        { place, at, lab: before, force: true },
        leaving.map(({ id }) => id),
        3,
      );
      await writeLab(place, at, before, renumbered(wanted, given), { whole: true });
      world.owners.of(account).forget(at.path);
      const stays = new Set([...kept].map(String));
      return {
        ids: { nodes: Object.fromEntries(Object.entries(ids.nodes).filter(([, id]) => stays.has(id))), networks: {}, links: {} },
        nodes: wanted.nodes.map(({ id, name = "" }) => ({
          id: String(given.node(id)),
          name,
          disk: kept.has(given.node(id)) ? "kept" : "new",
        })),
        removed: removedNodes(
          leaving,
          wanted.nodes.filter(({ id }) => !kept.has(given.node(id))),
        ),
      };
    }),
  );
}

/** Returns the nodes that leave the lab. A new node of the same name takes the place of one of them. */
function removedNodes(leaving: readonly UnlNode[], fresh: readonly UnlNode[]): RestoredLab["removed"] {
  const names = fresh.map(({ name }) => name);
  return leaving.flatMap(({ id, name }) => {
    const at = names.indexOf(name);
    if (at >= 0) names.splice(at, 1);
    return at >= 0 ? [] : [{ id: String(id), name: name ?? "" }];
  });
}

export async function removeSnapshot(place: EvePlace, at: EveLabPath, name: string): Promise<void> {
  const { world, account } = place;
  const copy = snapshotPath(at, (await findSnapshot(place, at, name)).name);
  await world.writes.run(at.path, async () => {
    await refuseCopyRunning(place, copy);
    await refuseSharedId(place, copy, { what: `the snapshot ${name} of ${at.path} was not removed` });
    try {
      await settled(
        `remove the snapshot ${name} of ${at.path}`,
        () => account.call({ method: "DELETE", path: `/api/labs${copy.url}`, read: false }),
        // The host deletes a broken file without a warning.
        ({ code, status }) => code === 60022 || (code === undefined && status === 200),
        async () => (await listSnapshots(place, at)).every((one) => one.name !== name),
      );
    } finally {
      world.reader.forget(copy.path);
      world.owners.of(account).forget(copy.path);
    }
    await world.writes.run(folderTurn, () => removeFolders(place, at));
  });
}

/** Keeps a copy whose nodes run or are shared with another lab, and deletes the others. */
export async function removeAllSnapshots(place: EvePlace, at: EveLabPath): Promise<number> {
  let removed = 0;
  for (const { name } of await listSnapshots(place, at)) {
    try {
      await removeSnapshot(place, at, name);
      removed++;
    } catch (error) {
      if (!(error instanceof Failure) || (error.code !== "nodes_running" && error.code !== "number_clash")) throw error;
    }
  }
  return removed;
}

async function findSnapshot(place: EvePlace, at: EveLabPath, name: string): Promise<LabSnapshot> {
  const found = (await listSnapshots(place, at)).find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new Failure("snapshot_not_found", `${at.path} has no snapshot ${JSON.stringify(name)}; labwright snapshot lists the snapshots`);
}

async function readFile({ world, account }: EvePlace, at: EveLabPath): Promise<UnlLab> {
  const lab = await world.reader.file(account, at);
  if (lab.isPartial === true) throw hostFailure(`lab ${at.path} cannot be copied: the host does not export it as a file`);
  return lab;
}

/** Throws nodes_running, and number_clash if a node may run for another lab. */
async function refuseRunning(place: EvePlace, at: EveLabPath, what: string): Promise<void> {
  const { nodes, clashes } = await readPower(place, at);
  const up = nodes.filter(({ id, status }) => status >= 2 && clashes.get(id)?.certain !== true);
  const sure = up.filter(({ id }) => !clashes.has(id));
  if (sure.length > 0)
    throw nodesRunning(
      what,
      sure.map(({ name }) => name),
    );
  const [first] = up;
  const clash = clashes.get(first?.id ?? 0);
  if (first !== undefined && clash !== undefined) throw numberClash(`${what}, as ${first.name} may run`, clash);
}

/** A user may have started the copy in the host's pages: nothing can end a node that is deleted while it runs. */
async function refuseCopyRunning(place: EvePlace, copy: EveLabPath): Promise<void> {
  try {
    const { nodes, clashes } = await readPower(place, copy);
    const up = nodes.filter(({ id, status }) => status >= 2 && !clashes.has(id)).map(({ name }) => name);
    if (up.length > 0) throw nodesRunning(`the snapshot ${copy.file} was not removed`, up);
  } catch (error) {
    // The host starts no node of such a file.
    if (!isUnreadableLab(error)) throw error;
  }
}

function nodesRunning(what: string, names: readonly string[]): Failure {
  const run = names.length === 1 ? "runs" : "run";
  return new Failure("nodes_running", `${what}, as ${names.join(", ")} ${run}: stop the nodes first`, { data: { nodes: names } });
}

/** Removes the empty folders of the lab's snapshots, the innermost first. */
async function removeFolders({ account }: EvePlace, at: EveLabPath): Promise<void> {
  for (let folder = folderOf(at); folder !== ""; folder = folder.slice(0, folder.lastIndexOf("/"))) {
    if (!(await removeEmptyFolder(account, folder))) return;
  }
}

function folderOf(at: EveLabPath): string {
  return `${snapshotsFolder}${at.path}`;
}
