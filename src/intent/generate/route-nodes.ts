import { compareNatural } from "../../base/natural-order.ts";
import { addressOnly, addressText, type Family, families, type InterfaceAddress, networkOf } from "../addresses/interface-address.ts";
import { placeOfName } from "../addresses/stable-place.ts";
import type { Place, Problems } from "../diagnostics/problems.ts";
import { type Addresses, loopback } from "./assign-addresses.ts";
import { quickOspf, section } from "./frr-text.ts";
import { addTo } from "./multimap.ts";
import type { RoutingProtocol, RoutingSettings } from "./routing.ts";
import type { Segment, SegmentEnd } from "./segments.ts";

/** A router with its protocols. */
export interface Router {
  readonly key: string;
  readonly protocols: ReadonlyMap<RoutingProtocol, RoutingSettings>;
  /** Its own configuration. */
  readonly config: string;
  /** Place of the routing in the text. */
  readonly place: Place;
  readonly path: string;
}

/** The generated parts of a router's configuration. */
export interface RouterText {
  /** Behind it follow the sections of interfaces. */
  readonly first: string;
  /** By interface. */
  readonly interfaces: ReadonlyMap<string, readonly string[]>;
  readonly last: string;
}

/** Name of the process of IS-IS. */
const isisName = "1";
const usualIsisArea = "49.0001";

/** The private numbers of four bytes (RFC 6996). */
const firstPrivateAs = 4_200_000_000;
const privateAsNumbers = 94_967_295n;

/** Maximum characters of all generated configurations together. */
const maxText = 32 * 1024 * 1024;

/** Maximum names of nodes in one message. */
const maxNames = 5;

/** Returns the text of each router that runs a protocol. */
export function routeNodes(
  problems: Problems,
  routers: ReadonlyMap<string, Router>,
  segments: readonly Segment[],
  addresses: Addresses,
): ReadonlyMap<string, RouterText> {
  const lab = new RoutedLab(problems, routers, segments, addresses);
  const result = new Map<string, RouterText>();
  let characters = 0;
  for (const router of routers.values()) {
    if (router.protocols.size === 0) continue;
    const text = lab.textOf(router);
    if (text === undefined) continue;
    characters += text.first.length + text.last.length;
    if (characters > maxText) {
      problems.error(
        "too_large",
        router.place,
        router.path,
        `routing makes more than ${maxText} characters of configurations`,
        "run BGP with fewer routers at one network, or in one AS",
      );
      break;
    }
    result.set(router.key, text);
  }
  reportWithoutId(problems, lab.withoutId);
  return result;
}

/** Reports one problem of all these routers, at the first of them. */
function reportWithoutId(problems: Problems, routers: readonly Router[]): void {
  const [first] = routers;
  if (first === undefined) return;
  const names = routers.slice(0, maxNames).map(({ key }) => key);
  const rest = routers.length - names.length;
  const all = `${names.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  const message =
    routers.length === 1
      ? `node ${all} needs an IPv4 address of its loopback, which becomes its router id`
      : `nodes ${all} need an IPv4 address of their loopback, which becomes their router id`;
  const hint = 'write addressing: {loopback: {ipv4: 10.255.0.0/16}}, or at the node addresses: {lo: "10.255.0.1/32"}';
  problems.error("missing_key", first.place, first.path, message, hint);
}

interface Port {
  readonly segment: Segment;
  readonly end: SegmentEnd;
}

interface Session {
  readonly address: string;
  readonly family: Family;
  readonly as: number;
  readonly isInternal: boolean;
  readonly isOfLoopback: boolean;
}

class RoutedLab {
  /** Routers that have no address of which their router id can be made. */
  readonly withoutId: Router[] = [];
  readonly #problems: Problems;
  readonly #routers: ReadonlyMap<string, Router>;
  readonly #addresses: Addresses;
  readonly #ports = new Map<string, Port[]>();
  /** By AS, the routers of BGP. */
  readonly #systems = new Map<number, Router[]>();
  readonly #areas = new Map<Segment, number>();
  readonly #ids = new Map<string, string>();

  constructor(problems: Problems, routers: ReadonlyMap<string, Router>, segments: readonly Segment[], addresses: Addresses) {
    this.#problems = problems;
    this.#routers = routers;
    this.#addresses = addresses;
    for (const segment of segments) {
      for (const end of segment.ends) if (routers.has(end.node)) addTo(this.#ports, end.node, { segment, end });
      // The routers at a switch with VLANs need not reach each other.
      if (!segment.isOpen) this.#areas.set(segment, this.#areaOf(segment));
    }
    for (const router of routers.values()) {
      if (!router.protocols.has("bgp")) continue;
      const as = asOf(router);
      addTo(this.#systems, as, router);
    }
  }

  textOf(router: Router): RouterText | undefined {
    const { key, protocols, place, path } = router;
    const [id] = this.#list(key, loopback, 4);
    if (id === undefined) {
      this.withoutId.push(router);
      return undefined;
    }
    const routerId = addressOnly(id);
    const other = this.#ids.get(routerId);
    if (other !== undefined) {
      const message = `nodes ${other} and ${key} have the same router id, ${routerId}`;
      this.#problems.error(
        "address_conflict",
        place,
        path,
        message,
        "give one of them another address of its loopback: addresses: {lo: …}",
      );
    }
    this.#ids.set(routerId, key);
    const interfaces = new Map<string, string[]>();
    const add = (name: string, ...lines: readonly string[]) => interfaces.set(name, [...(interfaces.get(name) ?? []), ...lines]);
    const [ospf, isis, bgp] = [protocols.get("ospf"), protocols.get("isis"), protocols.get("bgp")];
    let [first, last] = ["", ""];
    if (ospf !== undefined) last += this.#ospf(router, ospf, routerId, add);
    if (isis !== undefined) first += this.#isis(router, isis, routerId, add);
    if (bgp !== undefined) last += this.#bgp(router, routerId);
    return { first, interfaces, last };
  }

  #ospf(
    { key }: Router,
    { ospfArea = 0 }: RoutingSettings,
    routerId: string,
    add: (name: string, ...lines: readonly string[]) => void,
  ): string {
    const used = new Set<Family>([4]);
    const lines = (name: string, area: number, more: (word: string) => readonly string[]) => {
      for (const family of families) {
        if (this.#list(key, name, family).length === 0) continue;
        used.add(family);
        const word = family === 4 ? "ip ospf" : "ipv6 ospf6";
        add(name, `${word} area ${area}`, ...more(word));
      }
    };
    lines(loopback, ospfArea, () => []);
    for (const { segment, end } of this.#ports.get(key) ?? []) {
      const isAlone = !this.#hasOther(segment, key, "ospf");
      lines(end.interface, this.#areas.get(segment) ?? ospfArea, (word) => [
        ...(segment.pool === "p2p" ? [`${word} network point-to-point`] : []),
        ...(isAlone ? [`${word} passive`] : []),
      ]);
    }
    const six = used.has(6) ? section("router ospf6", [`ospf6 router-id ${routerId}`]) : "";
    return section("router ospf", [`ospf router-id ${routerId}`, ...quickOspf]) + six;
  }

  /** A router with area 0 is also in the other area of its link. */
  #areaOf({ ends, name, place, path }: Segment): number {
    let found: { readonly area: number; readonly node: string } | undefined;
    for (const { node } of ends) {
      const settings = this.#routers.get(node)?.protocols.get("ospf");
      const area = settings?.ospfArea ?? 0;
      if (settings === undefined || area === 0) continue;
      if (found !== undefined && found.area !== area) {
        const message = `${name}: ${found.node} is in area ${found.area} of OSPF, and ${node} in area ${area}`;
        this.#problems.error("invalid_value", place, path, message, "one of two routers at a link needs area 0 or the area of the other");
      }
      found ??= { area, node };
    }
    return found?.area ?? 0;
  }

  /**
   * isisd sends what it knows when it reads its NET, and again after an interval of 30 seconds. The shorter interval applies only if it is read in an earlier
   * transaction, which the line with the name of the host ends.
   */
  #isis(
    { key, config }: Router,
    { isisArea = usualIsisArea, level = "2" }: RoutingSettings,
    routerId: string,
    add: (name: string, ...lines: readonly string[]) => void,
  ): string {
    const lines = (name: string, ...more: readonly string[]) => {
      const words = families.flatMap((family) =>
        this.#list(key, name, family).length === 0 ? [] : [`${family === 4 ? "ip" : "ipv6"} router isis ${isisName}`],
      );
      if (words.length > 0) add(name, ...words, ...more);
    };
    lines(loopback, "isis passive");
    for (const { segment, end } of this.#ports.get(key) ?? []) {
      const isAlone = !this.#hasOther(segment, key, "isis");
      lines(end.interface, ...(segment.pool === "p2p" ? ["isis network point-to-point"] : []), ...(isAlone ? ["isis passive"] : []));
    }
    const type = { "1": "level-1", "2": "level-2-only", "1-2": "level-1-2" }[level];
    const head = `router isis ${isisName}`;
    return (
      section(head, [`is-type ${type}`, "metric-style wide", "lsp-gen-interval 1"]) +
      `hostname ${/^hostname (\S+)\s*$/m.exec(config)?.[1] ?? key}\n!\n` +
      section(head, [`net ${isisArea}.${systemId(routerId)}.00`])
    );
  }

  #bgp(router: Router, routerId: string): string {
    const as = asOf(router);
    const own = ownAs(router.config);
    if (own !== undefined && own !== as) {
      const message = `node ${router.key} has AS ${as} in routing, and "router bgp ${own}" in its startup-config`;
      this.#problems.error("invalid_value", router.place, router.path, message, "write the same number in both");
    }
    const sessions = this.#sessions(router, as);
    const lines = [
      `bgp router-id ${routerId}`,
      "no bgp ebgp-requires-policy",
      "no bgp default ipv4-unicast",
      ...sessions.flatMap(({ address, as: remote, isOfLoopback }) => [
        `neighbor ${address} remote-as ${remote}`,
        ...(isOfLoopback ? [`neighbor ${address} update-source ${loopback}`] : []),
      ]),
    ];
    for (const family of families) {
      const networks = this.#networks(router.key, family);
      const some = sessions.filter((session) => session.family === family);
      if (networks.length === 0 && some.length === 0) continue;
      lines.push(
        "!",
        `address-family ipv${family} unicast`,
        ...networks.map((network) => ` network ${network}`),
        ...some.flatMap(({ address, isInternal }) => [
          ` neighbor ${address} activate`,
          ...(isInternal ? [` neighbor ${address} next-hop-self`] : []),
        ]),
        "exit-address-family",
      );
    }
    return section(`router bgp ${as}`, lines);
  }

  /** Sessions over links. Routers of one AS that run OSPF or IS-IS have sessions of their loopbacks instead, each with each. */
  #sessions(router: Router, as: number): readonly Session[] {
    const sessions: Session[] = [];
    const others = this.#systems.get(as) ?? [];
    if (hasIgp(router)) {
      for (const other of others) {
        if (other === router || !hasIgp(other)) continue;
        for (const family of families) {
          const [address] = this.#list(other.key, loopback, family);
          const isBoth = this.#list(router.key, loopback, family).length > 0;
          if (address !== undefined && isBoth)
            sessions.push({ address: addressOnly(address), family, as, isInternal: true, isOfLoopback: true });
        }
      }
    }
    for (const { segment, end } of this.#ports.get(router.key) ?? []) {
      for (const far of segment.ends) {
        const other = this.#routers.get(far.node);
        if (other === undefined || other === router || !other.protocols.has("bgp")) continue;
        const remote = asOf(other);
        if (remote === as && hasIgp(router) && hasIgp(other)) continue;
        for (const family of families) {
          const near = this.#list(router.key, end.interface, family);
          const address = this.#list(far.node, far.interface, family).find((one) =>
            near.some((mine) => networkOf(mine).address === networkOf(one).address),
          );
          if (address !== undefined)
            sessions.push({ address: addressOnly(address), family, as: remote, isInternal: remote === as, isOfLoopback: false });
        }
      }
    }
    return sessions;
  }

  /** The loopback, and all networks of the router's interfaces. */
  #networks(key: string, family: Family): readonly string[] {
    const own = [...(this.#addresses.get(key) ?? [])].sort(([a], [b]) => (a === loopback ? -1 : b === loopback ? 1 : compareNatural(a, b)));
    const all = own.flatMap(([, list]) =>
      list.filter((address) => address.family === family).map((address) => addressText(networkOf(address))),
    );
    return [...new Set(all)];
  }

  #list(node: string, name: string, family: Family): readonly InterfaceAddress[] {
    return (this.#addresses.get(node)?.get(name) ?? []).filter((address) => address.family === family);
  }

  #hasOther({ ends }: Segment, key: string, protocol: RoutingProtocol): boolean {
    return ends.some(({ node }) => node !== key && this.#routers.get(node)?.protocols.has(protocol) === true);
  }
}

function hasIgp({ protocols }: Router): boolean {
  return protocols.has("ospf") || protocols.has("isis");
}

function asOf({ key, protocols, config }: Router): number {
  return protocols.get("bgp")?.as ?? ownAs(config) ?? firstPrivateAs + Number(placeOfName(key, privateAsNumbers));
}

function ownAs(config: string): number | undefined {
  const as = /^router bgp (\d{1,10})\s*$/m.exec(config)?.[1];
  return as === undefined ? undefined : Number(as);
}

/** The digits of the router id: 10.255.0.1 is 0102.5500.0001. */
function systemId(routerId: string): string {
  const digits = routerId
    .split(".")
    .map((part) => part.padStart(3, "0"))
    .join("");
  return `${digits.slice(0, 4)}.${digits.slice(4, 8)}.${digits.slice(8)}`;
}
