import { ipv4Number, ipv4Text, isMachineAddress } from "../../../intent/addresses/ipv4.ts";
import { type Vxlan, vxlanLimits, vxlanPort } from "../../../intent/lab/lab.ts";
import type { Draft, DraftEnd, DraftNetwork, DraftPlace } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import type { Part } from "../../tree/part.ts";

/** Words for places outside the lab, at the end of a link. */
const outside: Readonly<Record<string, string>> = {
  host: "the machine",
  "mgmt-net": "the management network of containerlab",
  macvlan: "an interface of the machine",
  macvtap: "an interface of the machine",
};

/** These name an interface of the machine behind the colon. */
const ofMachine: readonly string[] = ["macvlan", "macvtap"];

interface End {
  readonly node: Part;
  readonly name: string;
  readonly interface: string;
  /** The parts of the source that name the end. */
  readonly parts: readonly (Part | undefined)[];
}

export class Links {
  readonly #draft: Draft;
  readonly #places: ReadonlyMap<string, DraftPlace>;
  readonly #outside = new Map<string, DraftNetwork>();
  readonly #standsIn: boolean;

  /** @param standsIn whether parts that may not run here get a stand-in */
  constructor(draft: Draft, places: ReadonlyMap<string, DraftPlace>, standsIn: boolean) {
    this.#draft = draft;
    this.#places = places;
    this.#standsIn = standsIn;
  }

  read(link: Part): void {
    const type = link.get("type");
    const kind = type?.text ?? "veth";
    const ends = [...(link.get("endpoints")?.all ?? []), ...(link.get("endpoint")?.all ?? [])].map(endOf);
    for (const key of ["vars", "labels"]) link.get(key)?.dropped("a link has no labels or variables");
    const [a, b] = ends;
    if (a === undefined || ends.some((end) => end === undefined)) {
      link.dropped("an end of the link is not NODE:INTERFACE");
      return;
    }
    if (kind === "dummy") this.#dummy(a, type, link);
    else if ((kind === "vxlan" || kind === "vxlan-stitch") && b === undefined) this.#tunnel(a, type, link);
    else if (b !== undefined && ends.length === 2) this.#pair(a, b, type, link);
    else if (b === undefined && Object.hasOwn(outside, kind)) this.#leading(a, kind, type, link);
    else link.dropped(ends.length > 2 ? "a link has two ends" : `a link of type ${kind} has no counterpart here`);
  }

  #pair(a: End, b: End, type: Part | undefined, link: Part): void {
    const ends = [a, b].map((end) => this.#end(end));
    const [first, second] = ends;
    if (first === undefined || second === undefined) {
      link.dropped(`no node ${[a, b].find((_, at) => ends[at] === undefined)?.name.slice(0, 80)}`);
      return;
    }
    type?.mapped("a link of two interfaces");
    this.#draft.link({ ends: [first, second], mtu: mtuOf(link), part: link });
  }

  /** A link that leads out of the lab. */
  #leading(a: End, kind: string, type: Part | undefined, link: Part): void {
    const end = this.#end(a);
    if (end === undefined) {
      link.dropped(`no node ${a.name.slice(0, 80)}`);
      return;
    }
    const face = link.get("host-interface");
    const network = this.#outsideNetwork(kind === "macvlan" ? (face?.text ?? kind) : kind);
    type?.mapped(`${outside[kind]} is the network ${network.key} of type nat`);
    face?.dropped("a network of type nat has no interfaces");
    this.#draft.link({ ends: [end, { at: network }], mtu: mtuOf(link), part: link });
  }

  /** A link whose other end is on another machine. */
  #tunnel(a: End, type: Part | undefined, link: Part): void {
    const [remote, vni, port] = [link.get("remote"), link.get("vni"), link.get("udp-port") ?? link.get("dst-port")];
    const parent = link.get("parent-interface");
    parent?.dropped("the administrator of the host chooses the address from which tunnels lead");
    const end = this.#end(a);
    const tunnel = tunnelOf(remote, vni, port);
    if (end === undefined || typeof tunnel === "string") {
      link.dropped(end === undefined ? `no node ${a.name.slice(0, 80)}` : String(tunnel));
      return;
    }
    const name = `vxlan-${tunnel.vni}`;
    const network = this.#standsIn ? this.#draft.network(name, "bridge") : this.#draft.tunnel(name, tunnel);
    if (this.#standsIn) network.comments.push(`stands in for the tunnel to ${tunnel.remote} with VNI ${tunnel.vni}`);
    const what = this.#standsIn ? "which stands in for the tunnel" : "which leads to another machine";
    for (const part of [type, remote, vni, port]) part?.mapped(`the network ${network.key}, ${what}`);
    this.#draft.link({ ends: [end, { at: network }], mtu: mtuOf(link), part: link });
  }

  #dummy(a: End, type: Part | undefined, link: Part): void {
    const end = this.#end(a);
    if (end === undefined || !(end.at instanceof DraftNode)) {
      link.dropped(`no node ${a.name.slice(0, 80)}`);
      return;
    }
    type?.mapped("an interface without a link");
    const [first, ...others] = a.parts.filter((part) => part !== undefined);
    for (const part of others) part.mapped("an interface without a link");
    this.#draft.unlinked.push({ node: end.at, interface: a.interface, part: first ?? link });
  }

  #end({ name, interface: face, parts, node }: End): DraftEnd | undefined {
    const place = this.#places.get(name);
    if (place !== undefined) return { at: place, interface: face, parts };
    if (!Object.hasOwn(outside, name)) return undefined;
    node.mapped(`${outside[name]} is a network of type nat`);
    return { at: this.#outsideNetwork(ofMachine.includes(name) ? face : name), interface: face, parts };
  }

  #outsideNetwork(name: string): DraftNetwork {
    const node = this.#places.get(name);
    if (node !== undefined && !(node instanceof DraftNode)) return node;
    const found = this.#outside.get(name) ?? this.#draft.network(name, "nat");
    this.#outside.set(name, found);
    return found;
  }
}

/** containerlab's UDP port of tunnels, if none is written. */
const containerlabPort = 14_789;

/** Returns the tunnel, or why a lab can have no such tunnel. */
function tunnelOf(remote: Part | undefined, vni: Part | undefined, port: Part | undefined): Vxlan | string {
  const address = ipv4Number(remote?.text ?? "");
  if (address === undefined) return "remote is not an IPv4 address";
  if (!isMachineAddress(address)) return `${ipv4Text(address)} is not an address of another machine`;
  const number = vni?.number;
  if (!isWithin(number, vxlanLimits.vni)) return "no VNI from 1 to 16777215";
  const udp = port === undefined ? containerlabPort : port.number;
  if (!isWithin(udp, vxlanLimits.port)) return "the UDP port is not a number from 1 to 65535";
  return { remote: ipv4Text(address), vni: number, ...(udp !== vxlanPort && { port: udp }) };
}

function isWithin(number: number | undefined, { min, max }: { readonly min: number; readonly max: number }): number is number {
  return number !== undefined && Number.isInteger(number) && number >= min && number <= max;
}

function mtuOf(link: Part): number | undefined {
  const mtu = link.get("mtu");
  const bytes = mtu?.number;
  if (bytes === undefined || !Number.isInteger(bytes) || bytes < 68 || bytes > 65_535) {
    mtu?.dropped("no MTU from 68 to 65535");
    return undefined;
  }
  mtu?.kept();
  return bytes;
}

/** Reads "NODE:INTERFACE", or a map with node and interface. */
function endOf(part: Part): End | undefined {
  if (part.node.kind === "map") {
    const [node, face] = [part.get("node"), part.get("interface")];
    if (node?.text === undefined) return undefined;
    part.get("mac")?.dropped("the host chooses the MAC addresses of interfaces");
    for (const key of ["ipv4", "ipv6"]) part.get(key)?.dropped("write addresses as commands or into the configuration");
    return { node, name: node.text, interface: face?.text ?? "", parts: [node, face] };
  }
  const text = part.text ?? "";
  const colon = text.indexOf(":");
  if (colon < 1) return undefined;
  return { node: part, name: text.slice(0, colon), interface: text.slice(colon + 1), parts: [part] };
}
