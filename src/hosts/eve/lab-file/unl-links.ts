import { linksOf, sameEnd, type UnlEnd, type UnlLink } from "../../../formats/unl/links.ts";
import type { UnlInterface, UnlLab, UnlNetwork } from "./unl.ts";

/**
 * Returns the lab with a link between two ethernet interfaces: a hidden bridge with the lowest free id. The interfaces leave their former networks.
 */
export function connect(lab: UnlLab, a: UnlEnd, b: UnlEnd, as: Omit<UnlNetwork, "id" | "type" | "visibility"> = {}): UnlLab {
  const free = disconnect(disconnect(lab, a), b);
  const network = { ...as, id: lowestFree(free.networks), type: "bridge", visibility: 0 };
  return join(join({ ...free, networks: [...free.networks, network] }, a, network.id), b, network.id);
}

/** Returns the lab with an ethernet interface in a network. */
export function attach(lab: UnlLab, end: UnlEnd, network: number): UnlLab {
  return join(disconnect(lab, end), end, network);
}

/** Returns the lab with a link between two serial interfaces. */
export function connectSerial(lab: UnlLab, a: UnlEnd, b: UnlEnd): UnlLab {
  const towards = (end: UnlEnd) => ({ type: "serial", remote_id: end.node, remote_if: end.interface });
  return withInterface(withInterface(disconnect(disconnect(lab, a), b), a, towards(b)), b, towards(a));
}

/** Returns the lab without a link at this end. Of a link between nodes, the other end is disconnected too, and the hidden bridge is removed. */
export function disconnect(lab: UnlLab, end: UnlEnd): UnlLab {
  const ends = linksOf(lab).flatMap((link) => {
    if (link.kind === "attachment") return sameEnd(link.end, end) ? [{ ends: [end], network: undefined }] : [];
    if (!sameEnd(link.a, end) && !sameEnd(link.b, end)) return [];
    return [{ ends: [link.a, link.b], network: link.kind === "p2p" ? link.network : undefined }];
  });
  const gone = [end, ...ends.flatMap((each) => each.ends)];
  return {
    ...lab,
    nodes: lab.nodes.map((node) => {
      const interfaces = node.interfaces.filter((each) => !gone.some((other) => sameEnd(other, { node: node.id, interface: each.id })));
      return interfaces.length === node.interfaces.length ? node : { ...node, interfaces };
    }),
    networks: lab.networks.filter(({ id }) => ends.every(({ network }) => network !== id)),
  };
}

export function endsOf(link: UnlLink): readonly UnlEnd[] {
  return link.kind === "attachment" ? [link.end] : [link.a, link.b];
}

/** Returns the id that EVE-NG would assign next. */
export function lowestFree(used: readonly { readonly id: number }[]): number {
  const ids = new Set(used.map(({ id }) => id));
  let id = 1;
  while (ids.has(id)) id++;
  return id;
}

function join(lab: UnlLab, end: UnlEnd, network: number): UnlLab {
  return withInterface(lab, end, { type: "ethernet", network_id: network });
}

function withInterface(lab: UnlLab, end: UnlEnd, added: Omit<UnlInterface, "id">): UnlLab {
  if (!lab.nodes.some(({ id }) => id === end.node)) throw new RangeError(`no node ${end.node} in the lab`);
  const nodes = lab.nodes.map((node) => {
    if (node.id !== end.node) return node;
    const others = node.interfaces.filter(({ id }) => id !== end.interface);
    return { ...node, interfaces: [...others, { id: end.interface, ...added }].sort((one, other) => one.id - other.id) };
  });
  return { ...lab, nodes };
}
