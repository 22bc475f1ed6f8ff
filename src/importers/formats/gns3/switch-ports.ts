import type { Data } from "../../../intent/write/write.ts";
import type { DraftNode } from "../../draft/draft-node.ts";
import type { Part } from "../../tree/part.ts";

const maxVlan = 4094;

/** Reads the VLANs of an Ethernet switch. Ports without a link, and a switch whose ports are all in VLAN 1, need no setting. */
export function readSwitchPorts(node: DraftNode, part: Part, linked: ReadonlySet<string>): void {
  const ports = part.at("properties", "ports_mapping") ?? part.at("properties", "ports") ?? part.get("ports");
  if (node.template !== "switch") {
    ports?.dropped("only a switch has ports with VLANs");
    return;
  }
  const interfaces: Record<string, Data> = {};
  let isPlain = true;
  for (const port of ports?.items ?? []) {
    const number = port.get("port_number") ?? port.get("port") ?? port.get("id");
    const [type, vlan] = [port.get("type"), port.get("vlan")];
    const name = `eth${number?.number ?? ""}`;
    if (!linked.has(name)) {
      port.dropped("no link uses this port");
      continue;
    }
    for (const key of ["name", "port_number", "port", "id"]) port.get(key)?.mapped(`the interface ${name}`);
    port.get("ethertype")?.dropped("frames of other tags are not forwarded");
    const isTrunk = type?.text === "dot1q" || type?.text === "qinq";
    const number1 = vlan?.number ?? 1;
    const id = Number.isInteger(number1) && number1 >= 1 && number1 <= maxVlan ? number1 : 1;
    if (isTrunk || id !== 1) isPlain = false;
    interfaces[name] = isTrunk ? { mode: "trunk", ...(id !== 1 && { "native-vlan": id }) } : { mode: "access", vlan: id };
    type?.mapped(type.text === "qinq" ? "a trunk: double tags are not supported" : isTrunk ? "a trunk" : "an access port");
    vlan?.kept();
  }
  if (!isPlain) node.set("switching", { interfaces });
}
