import { compareNatural } from "../../base/natural-order.ts";
import { placeOfName, placeOfPair, placeOfText } from "../addresses/stable-place.ts";
import type { Place } from "../diagnostics/problems.ts";
import { endpointText, type LabLink, type LabNetwork, type LabNode } from "../lab/lab.ts";
import { addTo } from "./multimap.ts";

/** An interface at a segment. */
export interface SegmentEnd {
  readonly node: string;
  readonly interface: string;
}

/** A link with its item in the text. */
export interface PlacedLink {
  readonly index: number;
  readonly value: Place;
  readonly link: LabLink;
}

export type Nodes = ReadonlyMap<string, { readonly node: LabNode }>;
type Networks = ReadonlyMap<string, { readonly network: LabNetwork }>;

/** Interfaces that reach each other without a router: those of a link, or of all links of networks and switches that are joined. */
export interface Segment {
  readonly pool: "p2p" | "lan";
  /** For people. */
  readonly name: string;
  /** In natural order. Without the interfaces of the switches themselves. */
  readonly ends: readonly SegmentEnd[];
  /** Whether it leads out of the lab, or has VLANs: then pools give it no addresses. */
  readonly isOpen: boolean;
  /** In the text. */
  readonly place: Place;
  readonly path: string;
  /** Returns its place among `size` networks. */
  placeIn(size: bigint): bigint;
}

/** Returns the segments of a lab: first those of single links, in natural order, then the others. */
export function segmentsOf(nodes: Nodes, networks: Networks, links: readonly PlacedLink[], linksPath: string): readonly Segment[] {
  const joints = new Joints(nodes, networks);
  const single = new Map<string, PlacedLink[]>();
  const joined: PlacedLink[] = [];
  for (const read of links) {
    const [a, b] = read.link.endpoints.map((end) => joints.of(end));
    if (a === undefined && b === undefined) {
      const pair = read.link.endpoints
        .map((end) => ("node" in end ? end.node : ""))
        .sort()
        .join(" ");
      addTo(single, pair, read);
      continue;
    }
    if (a !== undefined && b !== undefined) joints.join(a, b);
    joined.push(read);
  }
  const pathOf = ({ index }: PlacedLink) => `${linksPath}/${index}`;
  const byKey = (a: PlacedLink, b: PlacedLink) => compareNatural(a.link.key, b.link.key);
  const points = [...single.values()].flatMap((parallel) =>
    parallel.toSorted(byKey).map((read, index) => pointToPoint(read, index, pathOf(read))),
  );
  const lans = new Map<string, PlacedLink[]>();
  for (const read of joined) {
    const root = joints.root(read.link.endpoints.map((end) => joints.of(end)).find((one) => one !== undefined) as string);
    addTo(lans, root, read);
  }
  const areas = [...lans].map(([root, own]) => lan(own, joints, root, pathOf(own[0] as PlacedLink)));
  return [...points, ...areas].sort((a, b) => (a.pool === b.pool ? compareNatural(a.name, b.name) : a.pool === "p2p" ? -1 : 1));
}

/** The first of parallel links has the place of its pair of nodes, so that it does not depend on the names of interfaces. */
function pointToPoint({ link, value }: PlacedLink, index: number, path: string): Segment {
  const ends = endsOf([link]);
  return {
    pool: "p2p",
    name: `link ${link.key}`,
    ends,
    isOpen: false,
    place: value,
    path,
    placeIn: (size) => (index === 0 ? placeOfPair(ends[0]?.node ?? "", ends[1]?.node ?? "", size) : placeOfText(link.key, size)),
  };
}

function lan(links: readonly PlacedLink[], joints: Joints, root: string, path: string): Segment {
  const { name, isOpen } = joints.segment(root);
  const all = links.map(({ link }) => link);
  return {
    pool: "lan",
    name: `network ${name}`,
    ends: endsOf(all).filter(({ node }) => !joints.has(node)),
    isOpen,
    place: (links[0] as PlacedLink).value,
    path,
    placeIn: (size) => placeOfName(name, size),
  };
}

function endsOf(links: readonly LabLink[]): readonly SegmentEnd[] {
  const ends = links.flatMap(({ endpoints }) => endpoints.flatMap((end) => ("node" in end ? [end] : [])));
  return ends.sort((a, b) => compareNatural(endpointText(a), endpointText(b)));
}

/** Networks and switches, and which of them are joined by links. */
class Joints {
  readonly #parents = new Map<string, string>();
  readonly #open = new Set<string>();

  constructor(nodes: Nodes, networks: Networks) {
    for (const [key, { network }] of networks) {
      this.#parents.set(key, key);
      if (network.type !== "bridge") this.#open.add(key);
    }
    for (const [key, { node }] of nodes) {
      if (node.template !== "switch") continue;
      this.#parents.set(key, key);
      if (node.switching !== undefined) this.#open.add(key);
    }
  }

  has(key: string): boolean {
    return this.#parents.has(key);
  }

  of(end: LabLink["endpoints"][number]): string | undefined {
    const key = "node" in end ? end.node : end.network;
    return this.#parents.has(key) ? key : undefined;
  }

  root(key: string): string {
    let root = key;
    for (let up = this.#parents.get(root); up !== undefined && up !== root; up = this.#parents.get(root)) root = up;
    for (let at = key; at !== root; ) {
      const up = this.#parents.get(at) as string;
      this.#parents.set(at, root);
      at = up;
    }
    return root;
  }

  /** The root is the first of its segment in natural order, which names it. */
  join(a: string, b: string): void {
    const [x, y] = [this.root(a), this.root(b)];
    if (x === y) return;
    const [first, second] = compareNatural(x, y) < 0 ? [x, y] : [y, x];
    this.#parents.set(second, first);
    if (this.#open.has(second)) this.#open.add(first);
  }

  segment(root: string): { readonly name: string; readonly isOpen: boolean } {
    return { name: root, isOpen: this.#open.has(root) };
  }
}
