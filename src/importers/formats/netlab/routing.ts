import { quickOspf } from "../../../intent/generate/frr-text.ts";
import type { Draft } from "../../draft/draft.ts";
import type { DraftNode } from "../../draft/draft-node.ts";
import type { Part } from "../../tree/part.ts";
import { Pools } from "./addresses.ts";
import { deep, firstOf } from "./deep.ts";
import type { NetlabEnd, NetlabLink } from "./links.ts";
import { fabricValue } from "./names.ts";
import type { NetlabNode } from "./nodes.ts";
import { parseAddress } from "./subnet.ts";

interface Face {
  readonly end: NetlabEnd;
  readonly link: NetlabLink;
}

interface Router {
  readonly node: NetlabNode;
  readonly faces: readonly Face[];
  readonly loopbacks: readonly string[];
  readonly as: number | undefined;
  readonly isReflector: boolean;
}

/** Writes the addresses of the links, and OSPF, IS-IS and BGP of routers, as configurations of FRR or as commands of Linux hosts. */
export function configureNodes(draft: Draft, root: Part, nodes: ReadonlyMap<string, NetlabNode>, links: readonly NetlabLink[]): void {
  const pools = new Pools(root);
  const faces = new Map<NetlabNode, Face[]>([...nodes.values()].map((node) => [node, []]));
  for (const link of links) for (const end of link.ends) faces.get(end.node)?.push({ end, link });
  const routers = new Map<NetlabNode, Router>();
  for (const node of nodes.values()) {
    if (node.isHost) continue;
    const { as, isReflector } = readBgp(root, node);
    routers.set(node, { node, faces: faces.get(node) ?? [], loopbacks: loopbacksOf(node, pools), as, isReflector });
  }
  const external = externalLinks(links, routers);
  for (const node of nodes.values()) {
    const place = node.node;
    if (place === undefined) continue;
    const router = routers.get(node);
    if (place.template === "frr" && router !== undefined) {
      place.set(
        "startup-config",
        draft.file(`configs/${place.key}.conf`, frrConfig(root, router, { routers: [...routers.values()], external })),
      );
    } else if (place.template === "linux" || place.template === "frr") configureLinux(place, node, faces.get(node) ?? [], router);
    else place.comments.push("netlab configures it; its addresses are not set here");
  }
}

function loopbacksOf(node: NetlabNode, pools: Pools): readonly string[] {
  const given = [deep(node.part, "loopback", "ipv4"), deep(node.part, "loopback", "ipv6")].flatMap((part) => {
    if (part?.text === undefined || parseAddress(part.text) === undefined) return [];
    part.kept("the address of the loopback");
    return [part.text];
  });
  return given.length > 0 ? given : pools.loopback(node.id);
}

function readBgp(root: Part, node: NetlabNode): { readonly as: number | undefined; readonly isReflector: boolean } {
  const sources = [node.part, ...node.groups, ...node.groups.map((group) => deep(group, "node_data")), root];
  const as = firstOf([...sources.map((source) => deep(source, "bgp", "as")), deep(root, "defaults", "bgp", "as")]);
  const rr = firstOf(sources.map((source) => deep(source, "bgp", "rr")));
  const list = deep(root, "bgp", "as_list");
  let [number, isReflector] = [as?.number, rr?.boolean === true];
  for (const [key, entry] of list?.entries ?? []) {
    const member = (entry.get("members")?.all ?? []).find(({ text }) => text === node.name);
    const reflector = (entry.get("rr")?.all ?? []).find(({ text }) => text === node.name);
    if (node.node?.template === "frr") {
      member?.mapped(`autonomous system ${key}`);
      reflector?.mapped("a route reflector");
    }
    if (member !== undefined || reflector !== undefined) number ??= Number(key);
    if (reflector !== undefined) isReflector = true;
  }
  const inFabric = number === undefined ? fabricValue(root, node.name, "bgp", "as") : undefined;
  if (inFabric !== undefined) {
    // A number, or an expression of Python such as {65000 + count}.
    const [, base, , added] = /^\s*\{?\s*(\d{1,10})?\s*(\+)?\s*(count)?\s*\}?\s*$/.exec(inFabric.part.text ?? "") ?? [];
    if (base !== undefined) {
      number = Number(base) + (added === undefined ? 0 : inFabric.count);
      if (node.node?.template === "frr") inFabric.part.mapped("in the configurations of template frr");
    }
  }
  if (node.node?.template === "frr") for (const part of [as, rr]) part?.mapped("in the configurations of template frr");
  const isValid = number !== undefined && Number.isInteger(number) && number > 0 && number < 2 ** 32;
  return { as: isValid && node.modules.has("bgp") ? number : undefined, isReflector };
}

/** Returns the links between autonomous systems, on which netlab runs no OSPF and no IS-IS. A link with a role of its own keeps that. */
function externalLinks(links: readonly NetlabLink[], routers: ReadonlyMap<NetlabNode, Router>): ReadonlySet<NetlabLink> {
  const roleOf = (link: NetlabLink) => firstOf(link.parts.map((part) => deep(part, "role")))?.text;
  const between = links.filter((link) => {
    const systems = new Set(link.ends.flatMap(({ node }) => routers.get(node)?.as ?? []));
    const role = systems.size > 1 ? roleOf(link) : undefined;
    return systems.size > 1 && (role === undefined || role === "external");
  });
  return new Set(between);
}

interface Around {
  readonly routers: readonly Router[];
  readonly external: ReadonlySet<NetlabLink>;
}

function frrConfig(root: Part, router: Router, { routers, external }: Around): string {
  const { node, faces, loopbacks } = router;
  const runs = (module: string) => node.modules.has(module);
  const lines = [`hostname ${node.node?.key ?? node.name}`, "!", "interface lo", ...loopbacks.map(addressLine)];
  const areaOfNode = areaOf(root, node, undefined, undefined);
  if (runs("ospf")) lines.push(` ip ospf area ${areaOfNode}`);
  if (runs("isis")) lines.push(" ip router isis lab");
  lines.push("!");
  for (const { end, link } of faces) {
    const isLoopback = link.type === "loopback";
    lines.push(`interface ${isLoopback ? "lo" : end.face}`, ...end.addresses.map(addressLine));
    const others = link.ends.filter((other) => other !== end && !other.node.isHost);
    const isInside = !external.has(link);
    if (runs("ospf") && isIn(end, link, "ospf") && isInside) lines.push(...ospfLines(root, router, { end, link }, others.length));
    if (runs("isis") && isIn(end, link, "isis") && isInside) {
      lines.push(" ip router isis lab");
      if (link.type === "p2p") lines.push(" isis network point-to-point");
      if (others.length === 0) lines.push(" isis passive");
    }
    lines.push("!");
  }
  const id =
    (loopbacks.find((each) => !each.includes(":")) ?? faces.flatMap(({ end }) => end.addresses).find((each) => !each.includes(":")))?.split(
      "/",
    )[0] ?? `10.0.0.${node.id % 256}`;
  if (runs("ospf")) lines.push("router ospf", ` ospf router-id ${id}`, ...quickOspf.map((line) => ` ${line}`), "!");
  if (runs("isis")) {
    const area = firstOf([...[node.part, root].map((part) => deep(part, "isis", "area")), deep(root, "defaults", "isis", "area")]);
    area?.mapped("in the configurations of template frr");
    const words = /^[\d.]{2,30}$/.test(area?.text ?? "") ? area?.text : "49.0001";
    lines.push("router isis lab", ` net ${words}.0000.0000.${String(node.id % 10_000).padStart(4, "0")}.00`, " is-type level-2-only", "!");
  }
  if (router.as !== undefined) lines.push(...bgpLines(root, router, routers, id));
  return `${lines.join("\n")}\n`;
}

function addressLine(address: string): string {
  return ` ${address.includes(":") ? "ipv6" : "ip"} address ${address}`;
}

/** Whether a link or an interface does not switch a module off. */
function isIn(end: NetlabEnd, link: NetlabLink, module: string): boolean {
  return ![end.part, ...link.parts].some((part) => {
    const value = deep(part, module);
    if (value?.text !== undefined && value.boolean === false) {
      value.mapped(`without ${module}`);
      return true;
    }
    return false;
  });
}

function areaOf(root: Part, node: NetlabNode, end: NetlabEnd | undefined, link: NetlabLink | undefined): string {
  const sources = [end?.part, ...(link?.parts ?? []), node.part, ...node.groups, root];
  const area = firstOf([...sources.map((source) => deep(source, "ospf", "area")), deep(root, "defaults", "ospf", "area")]);
  area?.mapped("in the configurations of template frr");
  return /^[\d.]{1,15}$/.test(area?.text ?? "") ? (area?.text ?? "0") : "0";
}

function ospfLines(root: Part, { node }: Router, { end, link }: Face, others: number): readonly string[] {
  const cost = firstOf([end.part, ...link.parts].map((part) => deep(part, "ospf", "cost")));
  cost?.mapped("in the configurations of template frr");
  const hasCost = cost?.number !== undefined && Number.isInteger(cost.number) && cost.number >= 1 && cost.number <= 65_535;
  return [
    ` ip ospf area ${areaOf(root, node, end, link)}`,
    ...(link.type === "p2p" ? [" ip ospf network point-to-point"] : []),
    ...(hasCost ? [` ip ospf cost ${cost.number}`] : []),
    ...(others === 0 && link.type !== "loopback" ? [" ip ospf passive"] : []),
  ];
}

interface Session {
  readonly peer: string;
  readonly as: number;
  readonly isInternal: boolean;
  readonly isClient: boolean;
}

function bgpLines(root: Part, router: Router, routers: readonly Router[], id: string): readonly string[] {
  const sessions = [...externalSessions(router, routers), ...internalSessions(router, routers)];
  const originate = firstOf([router.node.part, ...router.node.groups].map((part) => deep(part, "bgp", "originate")))?.all ?? [];
  const own = originate.flatMap((part) => {
    if (part.text === undefined || parseAddress(part.text) === undefined) return [];
    part.mapped("in the configurations of template frr");
    return [part.text];
  });
  const stubs = router.faces
    .filter(({ link, end }) => link.ends.every((other) => other === end || other.node.isHost))
    .flatMap(({ link }) => link.prefixes);
  const advertised = firstOf([router.node.part, ...router.node.groups, root].map((part) => deep(part, "bgp", "advertise_loopback")));
  advertised?.mapped("in the configurations of template frr");
  const networks = [...new Set([...(advertised?.boolean === false ? [] : router.loopbacks), ...stubs, ...own])];
  const lines = own.map((prefix) => `${prefix.includes(":") ? "ipv6" : "ip"} route ${prefix} blackhole`);
  lines.push(`router bgp ${router.as}`, ` bgp router-id ${id}`, " no bgp ebgp-requires-policy", " no bgp default ipv4-unicast");
  for (const { peer, as, isInternal } of sessions) {
    lines.push(` neighbor ${peer} remote-as ${as}`);
    if (isInternal) lines.push(` neighbor ${peer} update-source lo`);
  }
  for (const family of ["ipv4", "ipv6"] as const) {
    const isOf = (text: string) => text.includes(":") === (family === "ipv6");
    const [peers, prefixes] = [sessions.filter(({ peer }) => isOf(peer)), networks.filter(isOf)];
    if (peers.length === 0 && prefixes.length === 0) continue;
    lines.push(` address-family ${family} unicast`, ...prefixes.map((prefix) => `  network ${prefix}`));
    for (const { peer, isInternal, isClient } of peers) {
      lines.push(`  neighbor ${peer} activate`);
      if (isInternal) lines.push(`  neighbor ${peer} next-hop-self`);
      if (isClient) lines.push(`  neighbor ${peer} route-reflector-client`);
    }
    lines.push(" exit-address-family");
  }
  for (const key of ["community", "sessions", "activate", "next_hop_self", "advertise_roles"])
    deep(root, "bgp", key)?.dropped("sessions have netlab's defaults");
  return [...lines, "!"];
}

/** Neighbours on a link in another autonomous system. */
function externalSessions(router: Router, routers: readonly Router[]): readonly Session[] {
  const byNode = new Map(routers.map((each) => [each.node, each]));
  return router.faces.flatMap(({ end, link }) => {
    if (link.type === "loopback" || !isIn(end, link, "bgp")) return [];
    return link.ends.flatMap((other): readonly Session[] => {
      const as = byNode.get(other.node)?.as;
      if (other === end || as === undefined || as === router.as) return [];
      return other.addresses.map((address) => ({ peer: address.split("/")[0] ?? "", as, isInternal: false, isClient: false }));
    });
  });
}

/** Sessions between loopbacks in one autonomous system: of all routers, or with the route reflectors. */
function internalSessions(router: Router, routers: readonly Router[]): readonly Session[] {
  const same = routers.filter((other) => other !== router && other.as === router.as);
  const hasReflector = router.isReflector || same.some(({ isReflector }) => isReflector);
  return same
    .filter((other) => !hasReflector || router.isReflector || other.isReflector)
    .flatMap((other) =>
      other.loopbacks.map((address) => ({
        peer: address.split("/")[0] ?? "",
        as: router.as ?? 0,
        isInternal: true,
        isClient: router.isReflector && !other.isReflector,
      })),
    );
}

function configureLinux(place: DraftNode, node: NetlabNode, faces: readonly Face[], router: Router | undefined): void {
  const commands = [
    ...(router?.loopbacks ?? []).map((address) => `ip addr add ${address} dev lo`),
    ...faces.flatMap(({ end, link }) =>
      end.addresses.map((address) => `ip addr add ${address} dev ${link.type === "loopback" ? "lo" : end.face}`),
    ),
  ];
  if (node.isHost) {
    for (const isSix of [false, true]) {
      const gateway = faces.map(({ link }) => gatewaysOf(link)[isSix ? 1 : 0]).find((address) => address !== undefined);
      if (gateway !== undefined) commands.push(`ip ${isSix ? "-6 " : ""}route add default via ${gateway.split("/")[0]}`);
    }
  }
  if (commands.length > 0) place.add("exec", commands);
}

const gatewayCache = new WeakMap<NetlabLink, readonly [string | undefined, string | undefined]>();

/** Returns the first IPv4 and IPv6 address of a router on a link. Thousands of hosts may share it. */
function gatewaysOf(link: NetlabLink): readonly [string | undefined, string | undefined] {
  let found = gatewayCache.get(link);
  if (found === undefined) {
    const addresses = link.ends.filter(({ node }) => !node.isHost).flatMap((end) => end.addresses);
    found = [addresses.find((address) => !address.includes(":")), addresses.find((address) => address.includes(":"))];
    gatewayCache.set(link, found);
  }
  return found;
}
