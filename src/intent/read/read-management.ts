import { type Ipv4Subnet, ipv4Number, ipv4Subnet, ipv4Text, nodeAddresses, subnetText } from "../addresses/ipv4.ts";
import { contains6, type Ipv6Subnet, ipv6Number, ipv6Subnet, subnet6Text } from "../addresses/ipv6.ts";
import { checkKeys, type Field, field, fieldOf, invalid, readMap, readText } from "../fields/fields.ts";
import type { Management } from "../lab/lab.ts";
import { managementVocabulary } from "../lab/vocabulary.ts";
import type { MapValue } from "../parse/parse.ts";
import type { ReadContext } from "./node-fields.ts";
import type { ReadNode } from "./read-nodes.ts";

/** Reads `management`, or `mgmt` as containerlab calls it. */
export function readManagement(context: ReadContext, root: MapValue): Management | undefined {
  const { problems } = context;
  const [own, theirs] = ["management", "mgmt"].map((key) => fieldOf(root, key, ""));
  if (own !== undefined && theirs !== undefined)
    problems.error("duplicate_key", theirs.place, theirs.path, '"management" and "mgmt" mean the same: write one of them');
  const at = own ?? theirs;
  if (at === undefined) return undefined;
  if (at.value.kind === "scalar") {
    if (typeof at.value.value === "boolean") return at.value.value ? {} : undefined;
    return invalid(problems, at, "it must be true, false or a map", "write true, or {ipv4-subnet: 172.20.20.0/24}");
  }
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, managementVocabulary);
  const [ipv4At, ipv6At] = ["ipv4-subnet", "ipv6-subnet"].map((key) => fieldOf(map, key, at.path));
  const ipv4 = ipv4At && readSubnet(context, ipv4At);
  const ipv6 = ipv6At && readSubnet6(context, ipv6At);
  return { ...(ipv4 !== undefined && { ipv4Subnet: ipv4 }), ...(ipv6 !== undefined && { ipv6Subnet: ipv6 }) };
}

function readSubnet({ problems }: ReadContext, at: Field): string | undefined {
  const text = readText(problems, at);
  // containerlab's word for a network that the tool chooses.
  if (text === undefined || text === "auto") return undefined;
  const subnet = ipv4Subnet(text);
  if (subnet === undefined)
    return invalid(
      problems,
      at,
      `${JSON.stringify(text.slice(0, 60))} is not an IPv4 network with a prefix length from 16 to 29`,
      "write 172.20.20.0/24",
    );
  // The machine itself, link-local addresses, groups.
  if (/^(0|127|169\.254|22[4-9]|2[3-5]\d)\./.test(text))
    return invalid(problems, at, `${text} is reserved`, "write a private network, such as 172.20.20.0/24");
  return subnetText(subnet);
}

function readSubnet6({ problems }: ReadContext, at: Field): string | undefined {
  const text = readText(problems, at);
  if (text === undefined || text === "auto") return text;
  const subnet = ipv6Subnet(text);
  if (subnet === undefined)
    return invalid(
      problems,
      at,
      `${JSON.stringify(text.slice(0, 60))} is not an IPv6 network with a prefix length from 64 to 96`,
      "write fd00:20:20::/64, or auto",
    );
  // The machine itself and mapped addresses, link-local addresses, groups.
  const first = subnet.network >> 112n;
  if (first === 0n || first >= 0xfe00n)
    return invalid(problems, at, `${text} is reserved`, "write a private network, such as fd00:20:20::/64");
  return subnet6Text(subnet);
}

/** Checks the addresses of nodes in the management network. Returns the nodes: without it, a warning names each address, which is left out. */
export function withManagement(
  context: ReadContext,
  nodes: ReadonlyMap<string, ReadNode>,
  management: Management | undefined,
): ReadonlyMap<string, ReadNode> {
  const { ipv4Subnet: text4, ipv6Subnet: text6 } = management ?? {};
  const ipv4 = text4 === undefined ? undefined : ipv4Subnet(text4);
  const ipv6 = text6 === undefined ? undefined : ipv6Subnet(text6);
  const checked = checkAddresses(context, nodes, management, {
    field: "mgmtIpv4",
    key: "mgmt-ipv4",
    subnet: "ipv4-subnet",
    problem: ipv4 && ((text) => addressProblem(text, ipv4)),
  });
  return checkAddresses(context, checked, management, {
    field: "mgmtIpv6",
    key: "mgmt-ipv6",
    subnet: "ipv6-subnet",
    problem: ipv6 && ((text) => address6Problem(text, ipv6)),
  });
}

interface Family {
  readonly field: "mgmtIpv4" | "mgmtIpv6";
  readonly key: string;
  readonly subnet: string;
  /** Returns why the address is not in the network; absent: the lab names no network of this family. */
  readonly problem: ((text: string) => string | undefined) | undefined;
}

function checkAddresses(
  { problems }: ReadContext,
  nodes: ReadonlyMap<string, ReadNode>,
  management: Management | undefined,
  family: Family,
): ReadonlyMap<string, ReadNode> {
  const owners = new Map<string, string>();
  let result: Map<string, ReadNode> | undefined;
  for (const [key, read] of nodes) {
    const text = read.node[family.field];
    if (text === undefined) continue;
    const entry = read.source?.map.entries.get(family.key);
    const { place, path } =
      entry === undefined ? { place: read.entry.place, path: read.path } : field(entry, read.source?.path ?? read.path);
    const hint = `write management: {${family.subnet}: …}`;
    if (management === undefined) {
      const message = `"${family.key}" has no effect: the lab has no management network`;
      problems.warn("ignored_key", place, path, message, `${hint} at the top of the lab`);
      const { [family.field]: _text, ...node } = read.node;
      result ??= new Map(nodes);
      result.set(key, { ...read, node });
      continue;
    }
    const other = owners.get(text);
    owners.set(text, key);
    const problem = family.problem?.(text);
    if (family.problem === undefined) problems.error("invalid_value", place, path, "an address needs the network that it is in", hint);
    else if (problem !== undefined) problems.error("invalid_value", place, path, `${text} ${problem}`);
    else if (other !== undefined)
      problems.error("invalid_value", place, path, `node ${other} has the address ${text} too`, "choose another address");
  }
  return result ?? nodes;
}

function address6Problem(text: string, subnet: Ipv6Subnet): string | undefined {
  const address = ipv6Number(text) ?? 0n;
  if (!contains6(subnet, address) || address === subnet.network) return `is not an address of a node in ${subnet6Text(subnet)}`;
  return address === subnet.network + 1n ? `is the machine's address in ${subnet6Text(subnet)}: choose another address` : undefined;
}

function addressProblem(text: string, subnet: Ipv4Subnet): string | undefined {
  const { machine, first, last } = nodeAddresses(subnet);
  const address = ipv4Number(text) ?? 0;
  if (address === machine) return `is the machine's address in ${subnetText(subnet)}: choose another address`;
  return address >= first && address <= last
    ? undefined
    : `is not an address of a node in ${subnetText(subnet)}: it has ${ipv4Text(first)} to ${ipv4Text(last)}`;
}
