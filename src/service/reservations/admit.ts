import { Failure } from "../../contract/errors.ts";
import { timeText } from "../common/clock.ts";
import { leaseEnd } from "../leases/lease.ts";
import { countsFor, quotaName, quotasOf, sizeOf } from "../quotas/quota.ts";
import type { LabRecord, LabSize, Store } from "../store/store.ts";
import { heldOf, ownPlace, type Place, type PlaceParts, placesOf, sharedOn, useOf } from "./machines.ts";
import { firstShortage, roomResources, type Shared, type Shortage, type Use } from "./room.ts";

export interface WantedLab {
  readonly path: string;
  readonly owner: string;
  readonly size: LabSize;
  /** End of its lease; Infinity: it has none. */
  readonly until: number;
  readonly now: number;
  /** Its nodes are on several machines, which are chosen with regard to reservations: only quotas are checked. */
  readonly isSpread?: boolean;
}

/** Room that a lab would take from a reservation of another user. */
export interface Taken {
  /** "the machine beta", "the quota of group students". */
  readonly where: string;
  readonly machine: string | undefined;
  readonly shortage: Shortage;
  readonly now: number;
}

/**
 * Returns the reserved room that a lab on this machine would take: of the machine, or of a quota that its owner shares with the owner of a reservation. A
 * change that needs no more than before is always allowed.
 */
export function takenRoom(parts: PlaceParts & { readonly store: Pick<Store, "quotas"> }, wanted: WantedLab): Taken | undefined {
  const { store } = parts;
  const { now, path, size } = wanted;
  if (heldOf(store.reservations.list(), now).length === 0) return undefined;
  const before = store.labs.get(path);
  const known = before === undefined ? { nodes: 0, memory: 0 } : sizeOf(before);
  if (size.memory <= known.memory && size.nodes <= known.nodes) return undefined;
  const place = wanted.isSpread === true ? undefined : ownPlace(parts);
  return (place && takenOn(parts, place, wanted)) ?? takenOfQuota(parts, wanted);
}

/** Returns the recorded lab as one that another machine shall have. */
export function arriving(record: LabRecord, now: number): WantedLab {
  return { path: record.path, owner: record.owner, size: sizeOf(record), until: leaseEnd(record.lease), now };
}

/** The same for a lab that comes from another machine to this one: quotas do not change by that. */
export function takenByArrival(parts: PlaceParts, wanted: WantedLab): Taken | undefined {
  const place = ownPlace(parts);
  return place && takenOn(parts, place, wanted);
}

/** The same for a machine of the fleet. */
export function takenOn(
  { store }: Pick<PlaceParts, "store">,
  place: Place,
  wanted: WantedLab,
  chosen?: ReadonlyMap<string, number>,
): Taken | undefined {
  const { labs, held } = sharedOn({ store }, place, { now: wanted.now, except: wanted.path, ...(chosen && { chosen }) });
  const shortage = shortageWith({ labs: [...labs, useBy(wanted)], held }, "memory", wanted, place.memory);
  return (
    shortage && {
      where: place.name === undefined ? "this machine" : `the machine ${place.name}`,
      machine: place.name,
      shortage,
      now: wanted.now,
    }
  );
}

/**
 * Returns the machines where a lab that is not there yet would take reserved room, and those where its owner has reserved room now.
 * @param chosen the numbers of the machines that other labs are about to get, by lab
 */
export function reservedRoom(
  parts: PlaceParts,
  wanted: WantedLab,
  chosen?: ReadonlyMap<string, number>,
): { readonly full: ReadonlyMap<string, string>; readonly own: ReadonlySet<string> } {
  const held = heldOf(parts.store.reservations.list(), wanted.now);
  if (held.length === 0) return { full: new Map(), own: new Set() };
  const full = placesOf(parts).flatMap((place) => {
    const taken = place.name === undefined ? undefined : takenOn(parts, place, wanted, chosen);
    return taken === undefined ? [] : [[taken.machine ?? "", takenText(taken)] as const];
  });
  const own = held.flatMap(({ user, from, machine }) =>
    user === wanted.owner && from <= wanted.now && machine !== undefined ? [machine] : [],
  );
  return { full: new Map(full), own: new Set(own) };
}

function takenOfQuota(
  { store }: { readonly store: Pick<Store, "labs" | "reservations" | "quotas"> },
  wanted: WantedLab,
): Taken | undefined {
  const held = heldOf(store.reservations.list(), wanted.now);
  // Admins have the default quota only for labs of other users, and no other user shares it.
  for (const quota of quotasOf(store.quotas.list(), wanted.owner, true)) {
    const isMember = countsFor(quota, wanted.owner);
    const labs = store.labs.list().filter(({ owner, path }) => isMember(owner) && path !== wanted.path);
    const shared = { labs: [...labs.map(useOf), useBy(wanted)], held: held.filter(({ user }) => isMember(user)) };
    for (const resource of roomResources) {
      const limit = quota[resource];
      const shortage = limit === undefined ? undefined : shortageWith(shared, resource, wanted, limit);
      if (shortage !== undefined) return { where: quotaName(quota), machine: undefined, shortage, now: wanted.now };
    }
  }
  return undefined;
}

/** Its end is open, so that a shortage ends where others leave enough room for the lab. */
function useBy({ owner, size }: WantedLab): Use {
  return { user: owner, ...size, until: Number.POSITIVE_INFINITY };
}

/** Only moments count at which another user has a reservation: without one, the machine itself decides. */
function shortageWith(shared: Shared, resource: "memory" | "nodes", { owner, now, until }: WantedLab, limit: number): Shortage | undefined {
  const others = shared.held.filter(({ user }) => user !== owner);
  const counts = (at: number) => others.some((use) => use.from <= at && use.until > at);
  return firstShortage(shared, resource, { from: now, until, limit, counts });
}

/** Returns for people which room is missing, when, and when the lab fits. */
export function takenText({ where, shortage, now }: Taken): string {
  const { resource, from, until, needed, limit } = shortage;
  const amount = (value: number) => (resource === "memory" ? `${Math.round(value)} MiB` : `${value} nodes`);
  const minutes = Math.floor((from - now) / 60_000);
  const then = until === undefined ? "" : minutes > 0 ? `, and again from ${timeText(until)}` : ` from ${timeText(until)} on`;
  const fits = minutes > 0 ? `The lab fits until ${timeText(from)} (lease: ${minutes}m)${then}` : then === "" ? "" : `The lab fits${then}`;
  return (
    `other users have reserved room ${minutes > 0 ? `from ${timeText(from)} on` : "now"}: with this lab, ${where} would need ${amount(needed)} of ${amount(limit)}` +
    (fits === "" ? "" : `. ${fits}`)
  );
}

export function roomReserved(taken: Taken): Failure {
  return new Failure<"room_reserved">("room_reserved", takenText(taken), { data: placeAndTime(taken) });
}

export function placeAndTime({ machine, shortage: { from, until } }: Pick<Taken, "machine" | "shortage">) {
  return { ...(machine !== undefined && { machine }), from: timeText(from), ...(until !== undefined && { until: timeText(until) }) };
}
