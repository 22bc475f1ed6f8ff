import type { ObservedEndpoint, ObservedLab, ObservedLink, ObservedNetwork } from "../../engine/model/observed.ts";

/*
 * A lab that is spread over machines has a part on each. The ids of the home machine are its own; those of another machine have its number before them: 2.7.
 * A link between machines is, on each of the two, a link to a hidden network with a tunnel. Its id is x and the number of the tunnel (VNI): x9000001.
 */

/** A part as its machine has it. */
export interface PartView {
  readonly number: number;
  readonly name: string;
  /** `null`: the machine has no such part, for example because an apply was interrupted. */
  readonly lab: ObservedLab | null;
  /** The machine does not answer: this is what was last seen. */
  readonly isAway: boolean;
}

/** Whether a machine does not answer that may have made nodes before anybody saw them. */
export function isUnseen({ isAway, lab }: PartView): boolean {
  return isAway && lab === null;
}

/** One machine's half of a link between machines. */
export interface Half {
  /** Number of the machine. */
  readonly machine: number;
  /** The half's own id on its machine. */
  readonly link: ObservedLink;
  /** The machine's id of the node, and its interface. */
  readonly node: { readonly nodeId: string; readonly interface: string };
  readonly network: ObservedNetwork;
}

/** The halves of a link, in the order of its ends. A half may be missing after an interrupted apply. */
export type Halves = readonly [Half | undefined, Half | undefined];

export interface Merged {
  readonly lab: ObservedLab;
  /** By VNI. */
  readonly cuts: ReadonlyMap<number, Halves>;
}

/** The name of the hidden network of a half. @param mtu as declared; absent: the default */
export function halfName(vni: number, side: 0 | 1, mtu: number | undefined): string {
  return `~${vni}.${side}.${mtu ?? 0}`;
}

export function isHalfName(name: string): boolean {
  return /^~\d+\.[01]\.\d+$/.test(name);
}

function halfOf({ name, vxlan }: ObservedNetwork): { readonly vni: number; readonly side: 0 | 1; readonly mtu: number } | undefined {
  // A network of a user may have any name.
  if (vxlan?.cut === undefined) return undefined;
  const [, vni, side, mtu] = /^~(\d+)\.([01])\.(\d+)$/.exec(name) ?? [];
  return vni === undefined ? undefined : { vni: Number(vni), side: side === "0" ? 0 : 1, mtu: Number(mtu) };
}

/** Returns the id of a machine's object in the whole lab. */
export function wholeId(home: number, machine: number, id: string): string {
  return machine === home ? id : `${machine}.${id}`;
}

/** Returns the machine of an object of the whole lab, and its id there. */
export function ownId(home: number, id: string): { readonly machine: number; readonly id: string } {
  const [, machine, own] = /^(\d+)\.(.+)$/.exec(id) ?? [];
  return machine === undefined ? { machine: home, id } : { machine: Number(machine), id: own! };
}

export function cutId(vni: number): string {
  return `x${vni}`;
}

export function vniOf(linkId: string | undefined): number | undefined {
  const [, vni] = /^x(\d+)$/.exec(linkId ?? "") ?? [];
  return vni === undefined ? undefined : Number(vni);
}

/** Joins the parts of a lab. @param home the part of the home machine, which has the lab's own fields */
export function mergeParts(home: { readonly number: number; readonly lab: ObservedLab }, others: readonly PartView[]): Merged {
  const cuts = new Map<number, [Half | undefined, Half | undefined]>();
  const mtus = new Map<number, number>();
  const parts = [{ number: home.number, lab: home.lab }, ...others.flatMap(({ number, lab }) => (lab === null ? [] : [{ number, lab }]))];
  const merged = parts.map(({ number, lab }) => {
    const whole = (id: string) => wholeId(home.number, number, id);
    const hidden = new Map(lab.networks.flatMap((network) => (halfOf(network) === undefined ? [] : [[network.id, network] as const])));
    const links = lab.links.filter((link) => {
      const [node, other] = link.endpoints;
      const network = "networkId" in other ? hidden.get(other.networkId) : undefined;
      if (network === undefined || !("nodeId" in node)) return true;
      const { vni, side, mtu } = halfOf(network)!;
      const halves = cuts.get(vni) ?? [undefined, undefined];
      halves[side] = { machine: number, link, node, network };
      cuts.set(vni, halves);
      mtus.set(vni, mtu);
      return false;
    });
    const end = (one: ObservedEndpoint): ObservedEndpoint =>
      "nodeId" in one ? { ...one, nodeId: whole(one.nodeId) } : { networkId: whole(one.networkId) };
    return {
      nodes: lab.nodes.map((node) => ({ ...node, id: whole(node.id) })),
      networks: lab.networks.filter(({ id }) => !hidden.has(id)).map((network) => ({ ...network, id: whole(network.id) })),
      links: links.map((link) => ({ ...link, id: whole(link.id), endpoints: [end(link.endpoints[0]), end(link.endpoints[1])] as const })),
    };
  });
  const joined = [...cuts].flatMap(([vni, [a, b]]): readonly ObservedLink[] => {
    if (a === undefined || b === undefined) return [];
    const mtu = mtus.get(vni)!;
    const quality = { ...(a.link.quality?.a && { a: a.link.quality.a }), ...(b.link.quality?.a && { b: b.link.quality.a }) };
    const suspended = { a: a.link.suspended?.a === true, b: b.link.suspended?.a === true };
    const end = ({ machine, node }: Half) => ({ ...node, nodeId: wholeId(home.number, machine, node.nodeId) });
    return [
      {
        id: cutId(vni),
        endpoints: [end(a), end(b)],
        ...(Object.keys(quality).length > 0 && { quality }),
        ...((suspended.a || suspended.b) && { suspended }),
        ...(mtu !== 0 && { mtu }),
      },
    ];
  });
  const unseen = others.filter(isUnseen).map(({ name }) => name);
  const lab: ObservedLab = {
    ...home.lab,
    ...(unseen.length > 0 && { unseen }),
    nodes: merged.flatMap(({ nodes }) => nodes),
    networks: merged.flatMap(({ networks }) => networks),
    links: [...merged.flatMap(({ links }) => links), ...joined],
  };
  return { lab, cuts };
}
