import { type Ipv4Subnet, ipv4Number, ipv4Subnet, ipv4Text, nodeAddresses, subnetText } from "../addresses/ipv4.ts";
import type { Management } from "../lab/lab.ts";
import { managementVocabulary } from "../lab/vocabulary.ts";
import type { MapValue } from "../parse/parse.ts";
import { checkKeys, type Field, field, fieldOf, invalid, readMap, readText } from "./fields.ts";
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
  const subnet = fieldOf(map, "ipv4-subnet", at.path);
  const ipv4 = subnet && readSubnet(context, subnet);
  return ipv4 === undefined ? {} : { ipv4Subnet: ipv4 };
}

function readSubnet({ problems }: ReadContext, at: Field): string | undefined {
  const text = readText(problems, at);
  // containerlab's word for a network that the tool chooses.
  if (text === undefined || text === "auto") return undefined;
  const subnet = ipv4Subnet(text);
  if (subnet === undefined)
    return invalid(problems, at, `${JSON.stringify(text.slice(0, 60))} is no network of 16 to 29 bits`, "write 172.20.20.0/24");
  // The machine itself, link-local addresses, groups.
  if (/^(0|127|169\.254|22[4-9]|2[3-5]\d)\./.test(text))
    return invalid(problems, at, `${text} is reserved`, "write a private network, such as 172.20.20.0/24");
  return subnetText(subnet);
}

/** Checks the addresses of nodes in the management network. Returns the nodes: without it, a warning names each address, which is left out. */
export function withManagement(
  { problems }: ReadContext,
  nodes: ReadonlyMap<string, ReadNode>,
  management: Management | undefined,
): ReadonlyMap<string, ReadNode> {
  const owners = new Map<string, string>();
  const result = new Map(nodes);
  const subnet = management?.ipv4Subnet === undefined ? undefined : ipv4Subnet(management.ipv4Subnet);
  for (const [key, read] of nodes) {
    const { mgmtIpv4: text, ...node } = read.node;
    if (text === undefined) continue;
    const entry = read.source?.map.entries.get("mgmt-ipv4");
    const at = entry === undefined ? { ...read.entry, path: read.path } : field(entry, read.source?.path ?? read.path);
    const where = { value: read.entry.value, place: at.place, path: at.path };
    if (management === undefined) {
      const hint = "write management: {ipv4-subnet: …} at the top of the lab";
      problems.warn("ignored_key", where.place, where.path, '"mgmt-ipv4" has no effect: the lab has no management network', hint);
      result.set(key, { ...read, node });
      continue;
    }
    const problem = subnet === undefined ? undefined : addressProblem(text, subnet);
    const other = owners.get(text);
    owners.set(text, key);
    if (subnet === undefined) {
      const hint = "write management: {ipv4-subnet: …}";
      problems.error("invalid_value", where.place, where.path, "an address needs the network that it is in", hint);
    } else if (problem !== undefined) problems.error("invalid_value", where.place, where.path, `${text} ${problem}`);
    else if (other !== undefined)
      problems.error("invalid_value", where.place, where.path, `node ${other} has the address ${text} too`, "choose another address");
  }
  return result;
}

function addressProblem(text: string, subnet: Ipv4Subnet): string | undefined {
  const { machine, first, last } = nodeAddresses(subnet);
  const address = ipv4Number(text) ?? 0;
  if (address === machine) return `is the machine's address in ${subnetText(subnet)}: choose another address`;
  return address >= first && address <= last
    ? undefined
    : `is no address of a node in ${subnetText(subnet)}: it has ${ipv4Text(first)} to ${ipv4Text(last)}`;
}
