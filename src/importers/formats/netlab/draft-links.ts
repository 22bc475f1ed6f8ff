import { type Draft, type DraftEnd, type DraftPlace, qualityOf } from "../../draft/draft.ts";
import type { Part } from "../../tree/part.ts";
import { type Pools, subnetsIn } from "./addresses.ts";
import { deep, firstOf } from "./deep.ts";
import type { NetlabEnd, NetlabLink } from "./links.ts";
import { parseAddress, type Subnet } from "./subnet.ts";

/** Numbers the interfaces, gives them addresses, and adds links and networks to the lab. */
export function writeLinks(draft: Draft, links: readonly NetlabLink[], pools: Pools): void {
  const next = new Map<string, number>();
  for (const [index, link] of links.entries()) {
    const subnets = subnetsOf(link, pools);
    link.prefixes.push(...subnets.map(({ text }) => text));
    if (link.type !== "loopback") for (const end of link.ends) end.face = faceOf(end, next);
    const allocation = { subnets, isSequential: countsPositions(link), isAccess: accessOf(link) !== undefined || link.vlan !== undefined };
    for (const [at, end] of link.ends.entries()) giveAddresses(link, end, at, allocation);
    if (link.type === "loopback") for (const part of link.parts.slice(0, 1)) part.mapped("addresses of the loopback");
    else addLink(draft, link, index);
  }
}

/** netlab numbers interfaces from 1, in the order of the links, unless the topology numbers them. */
function faceOf({ node, part }: NetlabEnd, next: Map<string, number>): string {
  const given = part?.get("ifindex");
  const number = next.get(node.name) ?? 1;
  const wanted = given?.number;
  const own = wanted !== undefined && Number.isInteger(wanted) && wanted >= number && wanted < 64 ? wanted : number;
  next.set(node.name, own + 1);
  given?.mapped(`the interface eth${own}`);
  part?.get("ifname")?.mapped(`the interface eth${own}`);
  return `eth${own}`;
}

function subnetsOf(link: NetlabLink, pools: Pools): readonly Subnet[] {
  const prefix = firstOf(link.parts.map((part) => deep(part, "prefix")));
  // "prefix.ipv4" and "prefix.ipv6" are keys of their own.
  const dotted = link.parts.find((part) => ["ipv4", "ipv6"].some((family) => deep(part, "prefix", family) !== undefined));
  if (prefix === undefined && dotted !== undefined) return ["prefix.ipv4", "prefix.ipv6"].flatMap((key) => subnetsIn(deep(dotted, key)));
  const access = accessOf(link);
  const ofVlan = prefix === undefined ? pools.vlan(access?.text ?? link.vlan ?? "") : undefined;
  if (ofVlan !== undefined) {
    access?.mapped("the addresses of its VLAN");
    return ofVlan;
  }
  const pool = firstOf(
    link.parts.flatMap((part) => [deep(part, "pool"), deep(part, "role")]).filter((part) => pools.has(part?.text ?? "")),
  );
  pool?.mapped("the pool of its addresses");
  if (prefix?.boolean === false && prefix.number === undefined) {
    prefix.mapped("a link without addresses");
    return [];
  }
  if (prefix === undefined || prefix.boolean === true)
    return pools.take(pool?.text ?? (link.type === "p2p" ? "p2p" : link.type === "loopback" ? "loopback" : "lan"));
  if (prefix.text !== undefined && pools.has(prefix.text)) {
    prefix.mapped("the pool of its addresses");
    return pools.take(prefix.text);
  }
  return prefix.text !== undefined && pools.named(prefix.text) !== undefined ? pools.ofName(prefix.text) : subnetsIn(prefix);
}

/** Returns the VLAN that the link is an access link of. */
function accessOf({ parts, ends }: NetlabLink): Part | undefined {
  return firstOf([...parts, ...ends.map(({ part }) => part)].map((part) => deep(part, "vlan", "access")));
}

/** Whether the nodes of a link get addresses in their order, and not by their ids. */
function countsPositions({ ends, parts }: NetlabLink): boolean {
  const allocation = firstOf(parts.map((part) => deep(part, "prefix", "allocation")));
  allocation?.mapped("the addresses of its interfaces");
  return allocation?.text === "sequential" || new Set(ends.map(({ node }) => node)).size < ends.length;
}

interface Allocation {
  readonly subnets: readonly Subnet[];
  readonly isSequential: boolean;
  /** The link is an access link of a VLAN. */
  readonly isAccess: boolean;
}

function giveAddresses({ type }: NetlabLink, end: NetlabEnd, at: number, { subnets, isSequential, isAccess }: Allocation): void {
  for (const family of [32, 128] as const) {
    const subnet = subnets.find(({ bits }) => bits === family);
    const given = deep(end.part, family === 32 ? "ipv4" : "ipv6");
    const own = ownAddress(given, subnet, family);
    if (own !== undefined) {
      if (own === "") given?.dropped("an interface without an address of its own");
      else {
        end.addresses.push(own);
        given?.kept("the address of the interface");
      }
      continue;
    }
    // The address of a switch is at its interface for the VLAN.
    if (subnet === undefined || (isAccess && !end.node.isHost)) continue;
    const wanted = type === "p2p" || isSequential ? positionOf(subnet, at) : BigInt(end.node.id);
    const text = subnet.host(wanted) ?? subnet.host(positionOf(subnet, at));
    if (text !== undefined && end.node.node?.template !== "switch") end.addresses.push(text);
  }
}

/** A /31 and a /32 use their first address. */
function positionOf({ length, bits }: Subnet, at: number): bigint {
  return BigInt(bits - length <= 1 ? at : at + 1);
}

/** Returns the address that the topology gives an interface; "": it has none; undefined: the pool decides. */
function ownAddress(given: Part | undefined, subnet: Subnet | undefined, family: 32 | 128): string | undefined {
  if (given?.text === undefined) return undefined;
  if (/^\d{1,5}$/.test(given.text)) return subnet?.host(BigInt(given.text)) ?? "";
  const parsed = parseAddress(given.text);
  if (parsed === undefined || parsed.bits !== family) return given.boolean === undefined ? undefined : "";
  const plain = given.text.trim().split("/")[0] ?? "";
  return `${plain}/${parsed.hasLength ? parsed.length : (subnet?.length ?? (family === 32 ? 24 : 64))}`;
}

function addLink(draft: Draft, link: NetlabLink, index: number): void {
  const [part] = link.parts;
  if (part === undefined) return;
  const [a, b] = link.ends;
  const quality = qualityOfLink(link);
  const mtu = firstOf(link.parts.map((each) => deep(each, "mtu")));
  const ends = link.ends.map((end): DraftEnd | undefined => {
    const at: DraftPlace | undefined = end.node.node;
    end.part?.open();
    return at && { at, interface: end.face, parts: [end.namePart] };
  });
  const fields = { ...(quality !== undefined && { quality: { a: quality, b: quality } }), ...mtuOf(mtu), part };
  const name = firstOf(link.parts.map((each) => deep(each, "name")));
  if (part.text !== undefined) part.mapped(link.ends.map((end) => `${end.node.name}:${end.face}`).join(" – "));
  const [first, second] = ends;
  if (link.ends.length === 2 && a?.node !== b?.node && first !== undefined && second !== undefined) {
    name?.dropped("links have no names");
    for (const each of link.parts) deep(each, "bridge")?.dropped("the link needs no bridge");
    draft.link({ ends: [first, second], ...fields });
    return;
  }
  const bridge = firstOf(link.parts.map((each) => deep(each, "bridge")));
  const network = draft.network(bridge?.text ?? name?.text ?? `lan${index + 1}`, "bridge", { name: bridge ?? name });
  for (const end of ends) if (end !== undefined) draft.link({ ends: [end, { at: network }], ...fields });
}

function mtuOf(mtu: Part | undefined): { readonly mtu?: number } {
  const value = mtu?.number;
  if (value === undefined || !Number.isInteger(value) || value < 68 || value > 65_535) return {};
  mtu?.kept();
  return { mtu: value };
}

const times = { "": 1, us: 1 / 1000, usec: 1 / 1000, ms: 1, msec: 1, s: 1000, sec: 1000 };
const shares = { "": 1, "%": 1 };
const rates = {
  ...{ "": 1, bit: 1 / 1000, bps: 1 / 1000, k: 1, kbit: 1, kbps: 1 },
  ...{ m: 1000, mbit: 1000, mbps: 1000, g: 1_000_000, gbit: 1_000_000, gbps: 1_000_000 },
};

/** Returns the number of "10ms" or "1 %", in the unit whose factor is 1; undefined: it is not a number, or has another unit. */
function inUnits(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, digits, unit = ""] = /^\s*(\d{1,12}(?:\.\d{1,9})?)\s*([a-z%]{0,8})\s*$/i.exec(text) ?? [];
  const factor = Object.hasOwn(units, unit.toLowerCase()) ? units[unit.toLowerCase()] : undefined;
  // Rounded, as 0.1 times 3 is not 0.3.
  return digits === undefined || factor === undefined ? undefined : Math.round(Number(digits) * factor * 1e6) / 1e6;
}

/** netlab's tc: delay and jitter in ms, loss in percent, rate in kbit/s, unless they have units. */
function qualityOfLink(link: NetlabLink) {
  const value = (key: string, units: Readonly<Record<string, number>>) => {
    const part = firstOf(link.parts.map((each) => deep(each, "tc", key)));
    const number = part?.text === undefined ? undefined : inUnits(part.text, units);
    if (number !== undefined) part?.kept();
    else part?.dropped(`no number, or in a unit other than ${Object.keys(units).filter(Boolean).join(", ")}`);
    return number;
  };
  const [delay, jitter, loss, bandwidth] = [value("delay", times), value("jitter", times), value("loss", shares), value("rate", rates)];
  return qualityOf({
    ...(delay !== undefined && { delay }),
    ...(jitter !== undefined && { jitter }),
    ...(loss !== undefined && { loss }),
    ...(bandwidth !== undefined && { bandwidth }),
  });
}
