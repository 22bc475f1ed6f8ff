import { leaseEnd } from "../leases/lease.ts";
import { sizeOf } from "../quotas/quota.ts";
import { runsLabs } from "../store/machines.ts";
import type { LabRecord, ReservationRow, Store } from "../store/store.ts";
import { type Held, type Shared, type Use, unusedMemory } from "./room.ts";

/** The part of a machine's memory that labs may use; the rest is for the machine itself. */
const usableShare = 15 / 16;

/** A machine of the fleet, or the one of a service without a fleet. */
export interface Place {
  /** undefined: there is no fleet. */
  readonly name: string | undefined;
  /** Absent: this one. */
  readonly number?: number;
  /** MiB for labs. */
  readonly memory: number;
}

export interface PlaceParts {
  readonly store: Pick<Store, "labs" | "reservations" | "shared">;
  /** Memory of this machine, MiB; undefined: it is not known, and only quotas limit reservations. */
  readonly machineMemory: number | undefined;
}

/** Returns the machines that may have reservations: active or cordoned, answering or not. */
export function placesOf({ store: { shared }, machineMemory }: PlaceParts): readonly Place[] {
  const machines = shared?.machines;
  if (machines?.own === undefined) return machineMemory === undefined ? [] : [{ name: undefined, memory: machineMemory * usableShare }];
  return machines
    .list()
    .filter(runsLabs)
    .map(({ number, name, facts }) => ({ name, number, memory: facts.memory * usableShare }));
}

/** Returns this machine, if its memory is known. */
export function ownPlace(parts: PlaceParts): Place | undefined {
  const own = parts.store.shared?.machines.own;
  return placesOf(parts).find(({ number }) => number === own);
}

/**
 * Returns the labs of a machine without the one at `except`, and its reservations that have not ended. Reservations from before there was a fleet belong to no
 * machine of it.
 * @param options chosen: the numbers of the machines that labs are about to get
 */
export function sharedOn(
  { store }: Pick<PlaceParts, "store">,
  place: Place,
  {
    now,
    except,
    chosen,
    rows = store.reservations.list(),
  }: {
    readonly now: number;
    readonly except?: string;
    readonly chosen?: ReadonlyMap<string, number>;
    readonly rows?: readonly ReservationRow[];
  },
): Shared {
  const machines = store.shared?.machines;
  const isHere = ({ path }: LabRecord) =>
    path !== except && (machines?.own === undefined || (chosen?.get(path) ?? machines.elsewhere(path) ?? machines.own) === place.number);
  return {
    labs: store.labs.list().filter(isHere).map(useOf),
    held: heldOf(rows, now).filter(({ machine }) => machine === place.name),
  };
}

/** Returns the memory of a machine that users have reserved now and their labs do not use, MiB, by user. */
export function reservedUnused(
  { store }: Pick<PlaceParts, "store">,
  { name, number }: Required<Pick<Place, "name" | "number">>,
  now: number,
): ReadonlyMap<string, number> {
  return unusedMemory(now, sharedOn({ store }, { name, number, memory: 0 }, { now }));
}

/** Returns the reservations that have not ended. */
export function heldOf(rows: readonly ReservationRow[], now: number): readonly (Held & ReservationRow)[] {
  return rows.filter(({ until }) => until > now);
}

/** Returns what a recorded lab uses, and until when: its lease. A stopped lab may start at any time. */
export function useOf(record: LabRecord): Use {
  return { user: record.owner, ...sizeOf(record), until: leaseEnd(record.lease) };
}
