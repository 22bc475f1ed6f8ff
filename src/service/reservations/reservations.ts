import { randomBytes } from "node:crypto";
import { Failure } from "../../contract/errors.ts";
import type {
  ReservationData,
  ReservationPayload,
  ReservationRemovePayload,
  ReservationsData,
} from "../../contract/schemas/reservations.ts";
import type { Host } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import { type Clock, timeText } from "../common/clock.ts";
import type { Log } from "../common/log.ts";
import { badRequest } from "../common/refusals.ts";
import { quotaExceeded } from "../quotas/admit.ts";
import { countsFor, quotasOf, usageOf } from "../quotas/quota.ts";
import type { QuotaRow, ReservationRow, Store } from "../store/store.ts";
import { placeAndTime } from "./admit.ts";
import { heldOf, type Place, type PlaceParts, placesOf, sharedOn, useOf } from "./machines.ts";
import { firstShortage, neededAt, roomResources, type Shortage } from "./room.ts";

interface Parts extends PlaceParts {
  readonly store: Store;
  readonly host: Pick<Host, "accounts">;
  readonly clock: Clock;
  readonly log: Log;
}

const dayMs = 24 * 3_600_000;
/** Longest reservation, and the latest beginning, from now. */
const [maxLengthMs, maxAheadMs] = [90 * dayMs, 366 * dayMs];
/** Largest number of reservations of a user, and of all users. */
const [maxOfUser, maxOfAll] = [100, 10_000];
/** Memory of a node without a limit of its own, MiB. */
const nodeMemory = 32;

/** Lists the reservations that have not ended: for admins of all users, for others their own. */
export function listReservations({ store, clock }: Pick<Parts, "store" | "clock">, caller: Caller): ReservationsData {
  const now = clock.now();
  const rows = heldOf(store.reservations.list(), now).filter(({ user }) => caller.role === "admin" || user === caller.user);
  return { reservations: rows.map((row) => shown(row, now)) };
}

/**
 * Reserves room on the machine with the most room left. Throws bad_request, operation_not_allowed for viewers and for the room of another user, room_reserved, and
 * quota_exceeded.
 */
export async function createReservation(parts: Parts, caller: Caller, payload: ReservationPayload): Promise<ReservationData> {
  if (caller.role === "viewer") throw new Failure("operation_not_allowed", "a viewer has no labs, and reserves no room");
  const { store, clock, log } = parts;
  const now = clock.now();
  const wanted = checked(parts, caller, payload, now);
  await store.reservations.purge(now - dayMs);
  const row = await store.reservations.add((rows) => {
    const current = heldOf(rows, now);
    if (current.length >= maxOfAll || current.filter(({ user }) => user === wanted.user).length >= maxOfUser)
      throw badRequest("/from", `there are too many reservations, at most ${maxOfUser} of a user: cancel some (labwright reserve list)`);
    refuseOverQuota(parts, wanted, rows, now);
    const place = placeFor(parts, payload, wanted, rows, now);
    return { ...wanted, ...(place?.name !== undefined && { machine: place.name }) };
  });
  log("info", "room was reserved", { ...shown(row, now), by: caller.user });
  return shown(row, now);
}

/** Cancels a reservation. Throws reservation_not_found, also for that of another user, except for admins. */
export async function removeReservation(parts: Parts, caller: Caller, { id }: ReservationRemovePayload): Promise<ReservationsData> {
  const { store, log } = parts;
  const row = store.reservations.list().find((one) => one.id === id);
  if (row === undefined || (caller.role !== "admin" && row.user !== caller.user))
    throw new Failure("reservation_not_found", `there is no reservation ${JSON.stringify(id)}: labwright reserve list shows them`);
  await store.reservations.delete(id);
  log("info", "a reservation was cancelled", { id, user: row.user, by: caller.user });
  return listReservations(parts, caller);
}

function shown({ id, user, from, until, memory, nodes, machine }: ReservationRow, now: number): ReservationData {
  const times = { from: timeText(from), until: timeText(until) };
  return { id, user, ...times, memory_mib: memory, nodes, ...(machine !== undefined && { machine }), active: from <= now };
}

function checked({ host }: Parts, caller: Caller, payload: ReservationPayload, now: number): ReservationRow {
  const { user = caller.user, nodes = 0 } = payload;
  if (user !== caller.user) {
    if (caller.role !== "admin") throw new Failure("operation_not_allowed", "only admins reserve room for other users");
    if (host.accounts?.find(user) === null) throw badRequest("/user", `there is no user ${JSON.stringify(user)} on the host`);
  }
  const from = Math.max(now, payload.from === undefined ? now : timeOf("/from", payload.from));
  const until = timeOf("/until", payload.until);
  if (until <= from) throw badRequest("/until", "the end of a reservation is after its beginning, and not over");
  if (until - from > maxLengthMs) throw badRequest("/until", "a reservation is for at most 90 days");
  if (from > now + maxAheadMs) throw badRequest("/from", "a reservation begins within a year");
  const memory = payload.memory_mib ?? nodes * nodeMemory;
  if (memory === 0 && nodes === 0) throw badRequest("/memory_mib", "a reservation needs memory_mib, nodes, or both");
  return { id: randomBytes(6).toString("hex"), user, from, until, memory, nodes };
}

function timeOf(place: string, text: string): number {
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw badRequest(place, `a time is as in RFC 3339, such as 2027-03-01T09:00:00Z, not ${JSON.stringify(text)}`);
  return at;
}

/** Returns the machine with the most room; undefined: the memory of this machine is not known. */
function placeFor(
  parts: Parts,
  { machine, labels = {} }: ReservationPayload,
  wanted: ReservationRow,
  rows: readonly ReservationRow[],
  now: number,
): Place | undefined {
  const machines = parts.store.shared?.machines;
  if (machines?.own === undefined && (machine !== undefined || Object.keys(labels).length > 0))
    throw badRequest("/machine", "this service is not part of a fleet: reserve without machine and labels");
  const known = machines?.list() ?? [];
  if (machine !== undefined && !known.some(({ name }) => name === machine))
    throw badRequest("/machine", `there is no machine ${machine}; there are ${known.map(({ name }) => name).join(", ")}`);
  const all = placesOf(parts);
  if (all.length === 0 && machines?.own === undefined) return undefined;
  const isWanted = ({ number }: Place) => {
    const row = known.find((one) => one.number === number);
    if (row === undefined) return machines?.own === undefined;
    const hasLabels = Object.entries(labels).every(([key, value]) => row.labels[key] === value);
    return (machine === undefined || row.name === machine) && hasLabels && row.state === "active";
  };
  const tried = all.filter(isWanted).map((place) => {
    const shared = sharedOn(parts, place, { now, rows });
    const after = { labs: shared.labs, held: [...shared.held, { ...wanted, until: Number.POSITIVE_INFINITY }] };
    // Its end is open, so that a shortage ends where others leave enough room for it.
    const shortage = firstShortage(after, "memory", { from: wanted.from, until: wanted.until, limit: place.memory });
    return { place, shortage, left: place.memory - neededAt(wanted.from, after, "memory") };
  });
  const [best] = tried.filter(({ shortage }) => shortage === undefined).sort((a, b) => b.left - a.left);
  if (best !== undefined) return best.place;
  throw noRoom(tried.flatMap(({ place, shortage }) => (shortage === undefined ? [] : [{ place, shortage }])));
}

function noRoom(tried: readonly { readonly place: Place; readonly shortage: Shortage }[]): Failure {
  const [first] = tried.toSorted((a, b) => (a.shortage.until ?? Number.POSITIVE_INFINITY) - (b.shortage.until ?? Number.POSITIVE_INFINITY));
  if (first === undefined)
    return new Failure("room_reserved", "no machine with this name and these labels takes labs: labwright machines list");
  const texts = tried.map(({ place: { name = "this machine" }, shortage: { needed, limit, from, until } }) => {
    const then = until === undefined ? ", and labs without a lease have no end" : `; from ${timeText(until)} on there is room`;
    return `${name} would need ${Math.round(needed)} of ${Math.round(limit)} MiB at ${timeText(from)}${then}`;
  });
  const data = placeAndTime({ machine: first.place.name, shortage: first.shortage });
  return new Failure<"room_reserved">("room_reserved", `there is not enough room: ${texts.join("; ")}`, { data });
}

/** Throws quota_exceeded if the labs and reservations of a quota would exceed it at any moment of the new reservation. */
function refuseOverQuota({ store, host }: Parts, wanted: ReservationRow, rows: readonly ReservationRow[], now: number): void {
  const isAdmin = host.accounts?.find(wanted.user)?.role === "admin";
  for (const quota of quotasOf(store.quotas.list(), wanted.user, isAdmin)) {
    const isMember = countsFor(quota, wanted.user);
    const labs = store.labs.list().filter(({ owner }) => isMember(owner));
    const held = [...heldOf(rows, now).filter(({ user }) => isMember(user)), wanted];
    for (const resource of roomResources) {
      const limit = quota[resource];
      const shortage = limit === undefined ? undefined : firstShortage({ labs: labs.map(useOf), held }, resource, { ...wanted, limit });
      if (shortage !== undefined) throw exceeded(quota, shortage, usageOf(labs, isMember)[resource]);
    }
  }
}

function exceeded(quota: QuotaRow, { resource, needed, limit }: Shortage, used: number): Failure {
  return quotaExceeded({ quota, resource, used, wanted: needed, limit });
}
