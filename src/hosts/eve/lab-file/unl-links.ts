import type { UnlInterface, UnlLab, UnlNetwork } from "./unl.ts";

/** An interface of a node, both by their ids. */
export interface UnlEnd {
  readonly node: number;
  readonly interface: number;
}

/**
 * How interfaces are connected. EVE-NG has no links between ethernet interfaces: it shows a hidden bridge with two ends as a link ("p2p"). Each end
 * at any other network is an "attachment". Both ends of a serial link name the other end.
 */
export type UnlLink =
  | { readonly kind: "p2p"; readonly network: number; readonly a: UnlEnd; readonly b: UnlEnd }
  | { readonly kind: "attachment"; readonly network: number; readonly end: UnlEnd }
  | { readonly kind: "serial"; readonly a: UnlEnd; readonly b: UnlEnd };

/** Returns all links in the order of their first ends. `a` is the end with the lower node id. An unconnected interface has no link, as in EVE-NG. */
export function linksOf(lab: UnlLab): readonly UnlLink[] {
  const links: UnlLink[] = [];
  const [networks, nodes] = [new Map(lab.networks.map((each) => [each.id, each])), new Set(lab.nodes.map(({ id }) => id))];
  const attached = new Map<number, UnlEnd[]>();
  for (const [end, { network_id: network }] of joinedEnds(lab)) {
    if (network !== undefined && networks.has(network)) attached.set(network, [...(attached.get(network) ?? []), end]);
  }
  for (const [end, { network_id: id, remote_id, remote_if }] of joinedEnds(lab)) {
    const network = id === undefined ? undefined : networks.get(id);
    if (network !== undefined) {
      const [a, b, ...more] = attached.get(network.id) ?? [];
      if (isHidden(network) && a !== undefined && b !== undefined && more.length === 0) {
        if (sameEnd(end, a)) links.push({ kind: "p2p", network: network.id, ...inOrder(a, b) });
      } else links.push({ kind: "attachment", network: network.id, end });
    } else if (remote_id !== undefined && remote_if !== undefined && nodes.has(remote_id)) {
      const { a, b } = inOrder(end, { node: remote_id, interface: remote_if });
      const known = links.some((link) => link.kind === "serial" && sameEnd(link.a, a) && sameEnd(link.b, b));
      if (!known) links.push({ kind: "serial", a, b });
    }
  }
  return links;
}

/** Clouds and the networks of Professional are shown with any value of visibility. */
function isHidden({ type, visibility }: UnlNetwork): boolean {
  return (visibility ?? 0) === 0 && (type === "bridge" || type === "ovs");
}

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

function joinedEnds(lab: UnlLab): readonly (readonly [UnlEnd, UnlInterface])[] {
  return lab.nodes.flatMap((node) => node.interfaces.map((each) => [{ node: node.id, interface: each.id }, each] as const));
}

function inOrder(one: UnlEnd, other: UnlEnd): { readonly a: UnlEnd; readonly b: UnlEnd } {
  const before = one.node === other.node ? one.interface < other.interface : one.node < other.node;
  return before ? { a: one, b: other } : { a: other, b: one };
}

export function sameEnd(one: UnlEnd, other: UnlEnd): boolean {
  return one.node === other.node && one.interface === other.interface;
}
