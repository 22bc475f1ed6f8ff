import type { MachineStore } from "../../service/store/machines.ts";

/** A machine that has reported nothing for this time may be lost, ms. */
const silentAfterMs = 30_000;

/**
 * Throws an Error for the user if this service starts outside the fleet of its database while machines of the fleet run: they could not pass calls about its
 * labs on. A service whose fleet is lost may start, so that its labs can be used.
 */
export async function refuseOutsider(machines: Pick<MachineStore, "members"> | undefined): Promise<void> {
  const members = (await machines?.members()) ?? [];
  const [other] = members.filter(({ isOwn, silentMs }) => !isOwn && silentMs < silentAfterMs);
  if (other === undefined) return;
  const own = members.find(({ isOwn }) => isOwn);
  if (own !== undefined)
    throw new Error(
      `this is the machine ${own.name} of the database's fleet, which ${other.name} belongs to: start it with --advertise, or remove it first on ${other.name}: labwright machines remove ${own.name}`,
    );
  throw new Error(
    `the database has a fleet, which ${other.name} belongs to, and this service is not a machine of it: add --advertise and --join-token-file, or use another database`,
  );
}
