import { ipv4Number, ipv4Subnet, ipv4Text, nodeAddresses } from "../../../intent/addresses/ipv4.ts";
import { contains6, ipv6Number, ipv6Subnet, ipv6Text } from "../../../intent/addresses/ipv6.ts";
import type { Draft } from "../../draft/draft.ts";
import type { DraftNode } from "../../draft/draft-node.ts";
import type { Part } from "../../tree/part.ts";
import type { NodeForm } from "./inherited.ts";

/** The management network of a lab, and the addresses that nodes have in it already. */
export interface Management {
  readonly ipv4: ReturnType<typeof ipv4Subnet>;
  readonly ipv6: ReturnType<typeof ipv6Subnet>;
  readonly taken: Set<string>;
}

/** The network of containerlab if a topology names none. */
const usual = { ipv4: "172.20.20.0/24", ipv6: "3fff:172:20:20::/64" };

/** Reads `mgmt`. Without a subnet, the host chooses one. Without `mgmt`, the lab gets containerlab's usual network if a node has an address in it. */
export function readManagement(draft: Draft, root: Part): Management | undefined {
  const part = root.get("mgmt");
  if (part === undefined || part.node.kind !== "map") {
    const nodes = root.at("topology", "nodes")?.entries ?? [];
    const isUsed = nodes.some(([, node]) => /^172\.20\.20\./.test((node.get("mgmt-ipv4") ?? node.get("mgmt_ipv4"))?.text ?? ""));
    if (!isUsed) return undefined;
    draft.management = { "ipv4-subnet": usual.ipv4, "ipv6-subnet": usual.ipv6 };
    return { ipv4: ipv4Subnet(usual.ipv4), ipv6: ipv6Subnet(usual.ipv6), taken: new Set() };
  }
  const [four, six] = ["ipv4", "ipv6"].map((family) => part.get(`${family}-subnet`) ?? part.get(`${family}_subnet`));
  const [ipv4, ipv6] = [ipv4Subnet(four?.text ?? ""), ipv6Subnet(six?.text ?? "")];
  if (ipv4 !== undefined && !/^(0|127|169\.254|22[4-9]|2[3-5]\d)\./.test(four?.text ?? "")) four?.kept();
  else
    four?.[four.text === "auto" ? "mapped" : "dropped"](
      four.text === "auto" ? "the host chooses a network" : "no network with a prefix length from 16 to 29",
    );
  const isUsable6 = ipv6 !== undefined && ipv6.network >> 112n !== 0n && ipv6.network >> 112n < 0xfe00n;
  if (isUsable6 || six?.text === "auto") six?.kept();
  else six?.dropped("no network with a prefix length from 64 to 96");
  const isKept4 = ipv4 !== undefined && four !== undefined && !/^(0|127|169\.254|22[4-9]|2[3-5]\d)\./.test(four.text ?? "");
  draft.management =
    isKept4 || isUsable6 || six?.text === "auto"
      ? {
          ...(isKept4 && { "ipv4-subnet": four?.text ?? "" }),
          ...((isUsable6 || six?.text === "auto") && { "ipv6-subnet": six?.text ?? "" }),
        }
      : true;
  for (const key of ["network", "bridge"]) part.get(key)?.dropped("the network has no name on the machine");
  for (const key of ["ipv4-gw", "ipv6-gw", "ipv4-range", "ipv6-range", "mtu", "driver-opts", "external-access"])
    part.get(key)?.dropped("the host runs the management network by its own rules");
  return { ipv4: isKept4 ? ipv4 : undefined, ipv6: isUsable6 ? ipv6 : undefined, taken: new Set() };
}

/** Takes over the addresses of a node that the network contains. */
export function readAddresses(node: DraftNode, form: NodeForm, management: Management | undefined): void {
  const [four, six] = ["mgmt-ipv4", "mgmt-ipv6"].map((key) => form.one(key) ?? form.one(key.replace("-", "_")));
  const refusal = management === undefined ? "the lab has no management network" : "no free address of a node in the management network";
  const number = ipv4Number(four?.text ?? "");
  const text = number === undefined ? "" : ipv4Text(number);
  if (management?.ipv4 !== undefined && number !== undefined && !management.taken.has(text)) {
    const { first, last, machine } = nodeAddresses(management.ipv4);
    if (number >= first && number <= last && number !== machine && node.set("mgmt-ipv4", text, four)) management.taken.add(text);
    else four?.dropped(refusal);
  } else four?.dropped(refusal);
  const number6 = ipv6Number(six?.text ?? "");
  const text6 = number6 === undefined ? "" : ipv6Text(number6);
  const net6 = management?.ipv6;
  const isInside = net6 !== undefined && number6 !== undefined && contains6(net6, number6) && number6 > net6.network + 1n;
  if (isInside && management?.taken.has(text6) === false && node.set("mgmt-ipv6", text6, six)) management.taken.add(text6);
  else six?.dropped(refusal);
}
