/** The parts of a lab file of EVE-NG that connect interfaces. */
export interface LinkedLab {
  readonly nodes: readonly { readonly id: number; readonly interfaces: readonly LinkedInterface[] }[];
  readonly networks: readonly LinkedNetwork[];
}

export interface LinkedInterface {
  readonly id: number;
  readonly network_id?: number;
  /** Serial: the other node and its interface. Both ends have it. */
  readonly remote_id?: number;
  readonly remote_if?: number;
}

export interface LinkedNetwork {
  readonly id: number;
  readonly type?: string;
  readonly visibility?: number;
}

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
export function linksOf(lab: LinkedLab): readonly UnlLink[] {
  const links: UnlLink[] = [];
  const [networks, nodes] = [new Map(lab.networks.map((each) => [each.id, each])), new Set(lab.nodes.map(({ id }) => id))];
  const attached = new Map<number, UnlEnd[]>();
  for (const [end, { network_id: network }] of joinedEnds(lab)) {
    if (network !== undefined && networks.has(network))
      attached
        .set(network, attached.get(network) ?? [])
        .get(network)
        ?.push(end);
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
function isHidden({ type, visibility }: LinkedNetwork): boolean {
  return (visibility ?? 0) === 0 && (type === "bridge" || type === "ovs");
}

function joinedEnds(lab: LinkedLab): readonly (readonly [UnlEnd, LinkedInterface])[] {
  return lab.nodes.flatMap((node) => node.interfaces.map((each) => [{ node: node.id, interface: each.id }, each] as const));
}

function inOrder(one: UnlEnd, other: UnlEnd): { readonly a: UnlEnd; readonly b: UnlEnd } {
  const before = one.node === other.node ? one.interface < other.interface : one.node < other.node;
  return before ? { a: one, b: other } : { a: other, b: one };
}

export function sameEnd(one: UnlEnd, other: UnlEnd): boolean {
  return one.node === other.node && one.interface === other.interface;
}
