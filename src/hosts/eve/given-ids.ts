import { isMadeUp } from "./node-attributes.ts";
import type { UnlLab, UnlNode } from "./unl.ts";

/** Wanted id → the host's. */
export interface GivenIds {
  node(id: number): number;
  network(id: number): number;
}

/** The lab with the host's ids in it. */
export function renumbered(lab: UnlLab, ids: GivenIds): UnlLab {
  return {
    ...lab,
    nodes: lab.nodes.map((node) => ({
      ...withNumber(node, ids.node(node.id)),
      interfaces: node.interfaces.map((one) => ({
        ...one,
        ...(one.network_id !== undefined && { network_id: ids.network(one.network_id) }),
        ...(one.remote_id !== undefined && { remote_id: ids.node(one.remote_id) }),
      })),
    })),
    networks: lab.networks.map((network) => ({ ...network, id: ids.network(network.id) })),
    configs: lab.configs.map((config) => ({ ...config, id: ids.node(config.id) })),
  };
}

/** A MAC address that EVE-NG made of the node's number goes with the number. */
function withNumber(node: UnlNode, id: number): UnlNode {
  const { firstmac } = node;
  if (firstmac === undefined || id === node.id || !isMadeUp(node, firstmac)) return { ...node, id };
  return { ...node, id, firstmac: firstmac.replace(/[0-9a-f]{2}(?=:00$)/i, id.toString(16).padStart(2, "0")) };
}

/**
 * The ids that the host gave to what is new, where its answers were lost: what is new here and there and has the same name is the same. What
 * is not found keeps the id that it was meant to have.
 */
export function adoptedIds(before: UnlLab, wanted: UnlLab, got: UnlLab): GivenIds {
  const table = (kind: "nodes" | "networks"): ReadonlyMap<number, number> => {
    const old = new Set(before[kind].map(({ id }) => id));
    const fresh = got[kind].filter(({ id }) => !old.has(id));
    const found = new Map<number, number>();
    for (const { id, name } of wanted[kind]) {
      if (old.has(id)) continue;
      const same = fresh.filter((one) => one.name === name);
      const own = same.find((one) => one.id === id) ?? same[0];
      if (own === undefined) continue;
      found.set(id, own.id);
      fresh.splice(fresh.indexOf(own), 1);
    }
    return found;
  };
  const [nodes, networks] = [table("nodes"), table("networks")];
  return { node: (id) => nodes.get(id) ?? id, network: (id) => networks.get(id) ?? id };
}
