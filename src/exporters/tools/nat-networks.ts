import type { Endpoint, Lab, LabNetwork } from "../../intent/lab/lab.ts";

/** Suffix of the key of the way out behind a network's switch. */
export const uplinkSuffix = "-nat";

/**
 * Other tools' ways out of a lab have one link. Returns the lab in which each NAT network with several links is a bridge, and the keys of these networks.
 */
export function withOneLinkPerNat(lab: Lab): {
  readonly lab: Lab;
  readonly added: readonly string[];
} {
  const counts = new Map<string, number>();
  for (const end of lab.links.flatMap(({ endpoints }) => endpoints))
    if ("network" in end) counts.set(end.network, (counts.get(end.network) ?? 0) + 1);
  const busy = lab.networks.filter(({ key, type }) => type === "nat" && (counts.get(key) ?? 0) > 1);
  if (busy.length === 0) return { lab, added: [] };
  const keys = new Set([...lab.nodes, ...lab.networks].map(({ key }) => key));
  const ways = new Map<string, LabNetwork>();
  for (const { key, type, position } of busy) {
    let way = `${key}${uplinkSuffix}`;
    while (keys.has(way)) way += "-";
    keys.add(way);
    ways.set(key, { key: way, name: way, type, ...(position && { position: { x: position.x, y: position.y - 80 } }) });
  }
  const links = [...ways].map(([key, way]) => {
    const endpoints: readonly [Endpoint, Endpoint] = [{ network: key }, { network: way.key }];
    return { key: `${key} -- ${way.key}`, endpoints };
  });
  const networks = [...lab.networks.map((one) => (ways.has(one.key) ? { ...one, type: "bridge" } : one)), ...ways.values()];
  return { lab: { ...lab, networks, links: [...lab.links, ...links] }, added: busy.map(({ key }) => key) };
}
