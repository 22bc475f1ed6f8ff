import { Failure } from "../../../contract/errors.ts";
import type { NativeIds, NumberChange, Renumbered } from "../../host.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import { numberClash, readPower } from "../labs/clashes.ts";
import { refuseInUse } from "../labs/other-users.ts";
import { labsWithSameId } from "../labs/shared-id.ts";
import type { EvePlace } from "../labs/world.ts";
import { wipeNodes } from "../power/power.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { mustReadHead, readNodes, withHead } from "../read/lab-read.ts";
import type { Clashes } from "../read/observe.ts";
import { type GivenIds, renumbered, renumberedIds } from "../write/given-ids.ts";
import { writeLab } from "../write/write-lab.ts";
import { giveOwnId, numbersOf } from "./own-id.ts";

/**
 * Gives new numbers to nodes and networks that have a number of another lab, and a new id to a lab that has the id of another lab. The host stores a
 * node's disk under its number and cannot move it, so such nodes are wiped first. Throws lab_locked, lab_in_use, number_clash, and host_error if too
 * few numbers are free.
 */
export async function renumberLab(place: EvePlace, at: EveLabPath, ids: NativeIds): Promise<Renumbered> {
  const { world, account } = place;
  const head = await mustReadHead(account, at);
  if (head.lock !== 0) throw new Failure("lab_locked", `lab ${at.path} is locked on the host`);
  await refuseInUse(place, at, { whole: true, owner: account.user, force: false, warn: () => {} });
  return world.writes.run("", () =>
    world.writes.run(at.path, async () => {
      const copies = await labsWithSameId(place, at);
      const clashes = await refuseRunning(place, at, numbersOf(copies));
      const old = withHead(await world.reader.file(account, at), head);
      if (old.isPartial === true) throw hostFailure(`lab ${at.path} was not renumbered: the host does not export it as a file`);
      const before = copies.length > 0 ? await giveOwnId(place, at, old) : old;
      const taken = await world.others.taken(account, at.path);
      const moving = before.nodes.filter(({ id }) => taken.nodes.has(id) || clashes.has(id)).map(({ id }) => id);
      const given = newNumbers(place, before, new Set([...taken.nodes, ...clashes.keys()]), moving, taken.networks);
      await wipeNodes({ place, at, lab: before, force: true }, moving, 3);
      const written = await rewrite(place, at, before, given);
      world.owners.of(account).forget(at.path);
      const kept = new Set(before.nodes.flatMap(({ id }) => (given.node(id) === id ? [id] : [])));
      const left = await leaveTaken(place, at, written, renumberedIds(ids, given), kept);
      return {
        ids: left.ids,
        nodes: numberChanges(before.nodes, left.lab.nodes),
        networks: numberChanges(before.networks, left.lab.networks),
      };
    }),
  );
}

/** @param before and after: the same resources in the same order */
function numberChanges(before: readonly Numbered[], after: readonly Numbered[]): readonly NumberChange[] {
  return before.flatMap(({ id, name = "" }, index) => {
    const now = after[index]?.id ?? id;
    return now === id ? [] : [{ name, before: id, after: now }];
  });
}

interface Numbered {
  readonly id: number;
  readonly name?: string | undefined;
}

/**
 * Throws lab_in_use if a node of the lab runs, and number_clash if it may run. A node whose number is in `shared` may run for a lab with the same id:
 * the new id leaves its process with that lab. Returns the nodes whose numbers run for other labs.
 */
async function refuseRunning(place: EvePlace, at: EveLabPath, shared: ReadonlySet<number>): Promise<Clashes> {
  const { nodes, clashes } = await readPower(place, at);
  for (const { id, name, status } of nodes) {
    const clash = clashes.get(id);
    if (status < 2 || clash?.certain === true) continue;
    if (clash !== undefined && shared.has(id)) continue;
    if (clash !== undefined) throw numberClash(`lab ${at.path} was not renumbered, because ${name} may still be running`, clash);
    throw new Failure("lab_in_use", `lab ${at.path} was not renumbered, because ${name} runs: stop the lab first`, {
      data: { users: [place.account.user] },
    });
  }
  return clashes;
}

/** Processes that deleted labs left behind hold the low numbers, so that after this many tries numbers are taken from the other end. */
const lowTries = 2;
const maxTries = 6;

/**
 * If the host reports a new node as running, something else has its number: a process of a deleted lab, or another lab if all numbers are taken.
 * Gives such a node another number while there are free ones, as the host does not list the processes. A node for which none is found is shown as unknown.
 * @param made the lab that was just written
 * @param old numbers of nodes that the lab had before
 * @returns the lab and the ids with the new numbers
 */
export async function leaveTaken(
  place: EvePlace,
  at: EveLabPath,
  made: UnlLab,
  ids: NativeIds,
  old: ReadonlySet<number> = new Set(),
): Promise<{ readonly lab: UnlLab; readonly ids: NativeIds }> {
  const { world, account } = place;
  if (!world.edition.sharedNames) return { lab: made, ids };
  const owners = world.owners.of(account);
  const used = new Set<number>();
  let [lab, now] = [made, ids];
  for (let tries = 0; ; tries++) {
    const nodes = await readNodes(account, at);
    const up = nodes.filter(({ id, status }) => status >= 2 && !old.has(id)).map(({ id }) => id);
    if (up.length === 0) break;
    for (const id of up) {
      used.add(id);
      // Also done if the change of the numbers fails.
      owners.disown(id, at.path);
    }
    if (tries === maxTries) break;
    const taken = (await world.others.taken(account, at.path)).nodes;
    const blocked = new Set([...taken, ...used]);
    const isRoom = (without: ReadonlySet<number>) => freeNumbers(place, lab, without).length >= up.length;
    // If other labs use all numbers, prefer the numbers of nodes that do not run now.
    const avoided = isRoom(blocked) ? blocked : new Set([...(await world.others.running(account)).keys(), ...used]);
    // No better numbers are left, or the host does not export the lab as a file, which is needed to change numbers: the nodes are shown as unknown.
    if (!isRoom(avoided) || made.isPartial === true) break;
    const given = newNumbers(place, lab, avoided, up, new Set(), tries >= lowTries);
    lab = await rewrite(place, at, lab, given);
    owners.forget(at.path, up);
    now = renumberedIds(now, given);
  }
  return { lab, ids: now };
}

async function rewrite(place: EvePlace, at: EveLabPath, before: UnlLab, given: GivenIds): Promise<UnlLab> {
  return (await writeLab(place, at, before, renumbered(before, given), { whole: true })).wanted;
}

/** Throws host_error if too few numbers are free. @param fromTop the highest free numbers, not the lowest */
function newNumbers(
  place: EvePlace,
  lab: UnlLab,
  blocked: ReadonlySet<number>,
  moving: readonly number[],
  takenNetworks: ReadonlySet<number>,
  fromTop = false,
): GivenIds {
  const free = fromTop ? freeNumbers(place, lab, blocked).toReversed() : freeNumbers(place, lab, blocked);
  if (free.length < moving.length) {
    throw hostFailure(
      `the host has ${place.catalogue.maxNodes} numbers for the nodes of a user, and ${free.length} of them are free, while ${moving.length} are needed: ` +
        "delete labs that are not needed, or nodes of them",
    );
  }
  const nodes = new Map(moving.map((id, index) => [id, free[index] ?? id]));
  const networks = new Map<number, number>();
  const used = new Set([...takenNetworks, ...lab.networks.map(({ id }) => id)]);
  for (const { id } of lab.networks) {
    if (!takenNetworks.has(id)) continue;
    let next = 1;
    while (used.has(next)) next++;
    used.add(next);
    networks.set(id, next);
  }
  return { node: (id) => nodes.get(id) ?? id, network: (id) => networks.get(id) ?? id };
}

function freeNumbers({ catalogue }: EvePlace, lab: UnlLab, blocked: ReadonlySet<number>): readonly number[] {
  const own = new Set(lab.nodes.map(({ id }) => id));
  return Array.from({ length: catalogue.maxNodes }, (_, index) => index + 1).filter((id) => !own.has(id) && !blocked.has(id));
}
