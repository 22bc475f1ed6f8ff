import type { NativeIds } from "../../host.ts";
import type { UnlLab, UnlNode } from "../lab-file/unl.ts";
import { isMadeUp } from "../read/node-attributes.ts";

/** Wanted id → the host's. */
export interface GivenIds {
  node(id: number): number;
  network(id: number): number;
}

/** Returns the lab with the host's ids. */
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
    // Hotspots of a picture open consoles by node: telnet://{{IP}}:{{NODE3}}
    pictures: lab.pictures.map((picture) =>
      picture.map === undefined
        ? picture
        : { ...picture, map: picture.map.replace(/\{\{NODE(\d+)\}\}/g, (_all, id: string) => `{{NODE${ids.node(Number(id))}}}`) },
    ),
  };
}

/** Returns the recorded ids of the intent's keys, with the ids that the host assigned. */
export function renumberedIds(known: NativeIds, ids: GivenIds): NativeIds {
  const record = (old: Readonly<Record<string, string>>, to: (id: number) => number) =>
    Object.fromEntries(Object.entries(old).map(([key, id]) => [key, String(to(Number(id)))]));
  const links = Object.entries(known.links).map(([key, id]) => {
    const bridge = /^bridge(\d+)$/.exec(id)?.[1];
    if (bridge !== undefined) return [key, `bridge${ids.network(Number(bridge))}`];
    const [, kind, node, end] = /^(node|serial)(\d+)-(\d+)$/.exec(id) ?? [];
    return [key, node === undefined ? id : `${kind}${ids.node(Number(node))}-${end}`];
  });
  return { nodes: record(known.nodes, ids.node), networks: record(known.networks, ids.network), links: Object.fromEntries(links) };
}

/** A MAC address that EVE-NG generated from the node's number changes with the number. */
function withNumber(node: UnlNode, id: number): UnlNode {
  const { firstmac } = node;
  if (firstmac === undefined || id === node.id || !isMadeUp(node, firstmac)) return { ...node, id };
  return { ...node, id, firstmac: firstmac.replace(/[0-9a-f]{2}(?=:00$)/i, id.toString(16).padStart(2, "0")) };
}

/**
 * Finds the ids that the host assigned to new objects if its answers were lost: a new object of the wanted lab and a new object on the host with the
 * same name are the same. An object that is not found keeps its planned id.
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
