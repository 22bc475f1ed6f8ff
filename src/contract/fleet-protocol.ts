/**
 * Number of the protocol between the machines of a fleet: the headers and the operations of calls that they pass on. Raised with each release that changes them. Machines of releases before
 * the number report none, and speak protocol 1.
 */
export const ownProtocol = 2;

/** The report of a machine about itself. */
interface Speaker {
  readonly name: string;
  readonly facts: { readonly version: string; readonly protocol?: number };
}

/** Returns the protocol in which this machine speaks with another one, the lower of both; undefined: they are more than one release apart. */
export function protocolWith(
  { facts: { protocol = 1 } }: { readonly facts: Pick<Speaker["facts"], "protocol"> },
  own = ownProtocol,
): number | undefined {
  return Math.abs(own - protocol) <= 1 ? Math.min(own, protocol) : undefined;
}

/** Returns why this machine does not speak with another one, and the next step; undefined if it does. */
export function protocolProblem({ name, facts }: Speaker, own = ownProtocol): string | undefined {
  const { protocol = 1, version } = facts;
  if (protocolWith({ facts }, own) !== undefined) return undefined;
  const apart = `the machine ${name} has release ${version} with protocol ${protocol} between machines, and this one has protocol ${own}`;
  const next = protocol < own ? `upgrade ${name}, one release at a time` : "upgrade this machine, one release at a time";
  return `${apart}: machines speak only with releases that are one step apart. ${next[0]!.toUpperCase()}${next.slice(1)}`;
}
