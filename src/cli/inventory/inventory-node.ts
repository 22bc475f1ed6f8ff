import { compareNatural } from "../../base/natural-order.ts";
import { nodeKey } from "../../base/node-key.ts";
import type { LabwrightClient, ResultOf } from "../../client/index.ts";
import { publishedPort } from "../../intent/lab/published-port.ts";
import { isLoopback } from "../reach/is-loopback.ts";

/** A running node as inventories of other tools describe it. */
export interface InventoryNode {
  readonly name: string;
  readonly lab: string;
  readonly template: string;
  readonly type: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ports: readonly ReachablePort[];
  /** Address in the management network, without a prefix. Only the service's machine reaches it. */
  readonly management?: string;
  readonly managementIpv6?: string;
  /** It has public keys: of an SSH server that starts with the lab, or for cloud-init. */
  readonly ssh: boolean;
  /** It is a virtual machine, in which no program serves SSH for one connection alone. */
  readonly isMachine: boolean;
  /** The other machine of a fleet that has its management address and those of its published ports that name no address. Absent: the service's machine. */
  readonly elsewhere?: string;
  /** The user of SSH: the label ssh-user, otherwise root. */
  readonly user: string;
  readonly interfaces: readonly {
    readonly name: string;
    readonly addresses: readonly string[];
    /** The other end of its link. */
    readonly peer?: string;
  }[];
}

export interface ReachablePort {
  readonly address: string;
  readonly port: number;
  readonly nodePort: number;
}

/** The label that names the user of SSH in a node. */
export const userLabel = "ssh-user";

/** Returns the user if it is a usual name: labels may be of another user's lab, and ssh reads more than a name. */
function sshUser(label: string | undefined): string {
  return label !== undefined && /^[A-Za-z_][\w.-]{0,63}$/.test(label) ? label : "root";
}

/** Port of the SSH server in a node. */
export const sshPort = 22;

/** The service that answered. */
export interface AskedService {
  /** Address of its machine: shown instead of 0.0.0.0 and ::. */
  readonly address: string;
  /** This program runs on its machine, which alone reaches management addresses. */
  readonly isHere: boolean;
  /** Its name in a fleet. */
  readonly machine?: string | undefined;
}

/** Returns the service that a client asks. */
export async function askedService(client: LabwrightClient): Promise<AskedService> {
  const { hostname } = new URL(client.url);
  const { machine } = await client.getSession();
  return { address: hostname.replace(/^\[|\]$/g, ""), isHere: isLoopback(hostname), machine };
}

/** Returns the running nodes. */
export function inventoryNodes(
  { lab, machine: home, nodes }: Pick<ResultOf<"inspectProject">, "lab" | "machine" | "nodes">,
  asked: AskedService,
): readonly InventoryNode[] {
  const labName = lab.split("/").at(-1) ?? lab;
  const running = nodes.filter(({ status }) => status === "running").toSorted((a, b) => compareNatural(nodeKey(a), nodeKey(b)));
  const elsewhereOf = ({ machine = home }: (typeof nodes)[number]) =>
    asked.machine === undefined || machine === asked.machine ? undefined : machine;
  return running.map((node) => {
    const elsewhere = elsewhereOf(node);
    const isHere = asked.isHere && elsewhere === undefined;
    return {
      name: nodeKey(node),
      lab: labName,
      template: node.template,
      type: node.type,
      labels: node.labels ?? {},
      ports: (node.ports ?? []).flatMap((text) => {
        const found = publishedPort(text);
        if (found === undefined) return [];
        const { address = "127.0.0.1", port, nodePort, protocol } = found;
        // Other tools use the ports for SSH and metrics, which need TCP.
        if (protocol === "udp") return [];
        const isOfMachine = ["0.0.0.0", "::", "127.0.0.1", "::1"].includes(address);
        if (isOfMachine && elsewhere !== undefined) return [];
        return [{ address: address === "0.0.0.0" || address === "::" ? asked.address : address, port, nodePort }];
      }),
      ...(isHere && node.management !== undefined && { management: node.management.replace(/\/.*/, "") }),
      ...(isHere && node.management_ipv6 !== undefined && { managementIpv6: node.management_ipv6.replace(/\/.*/, "") }),
      ssh: node.ssh === true,
      isMachine: node.type === "qemu",
      user: sshUser(node.labels?.[userLabel]),
      interfaces: node.interfaces.map(({ name, addresses = [], peer }) => ({ name, addresses, ...(peer !== undefined && { peer }) })),
      ...(elsewhere !== undefined && { elsewhere }),
    };
  });
}

/**
 * Returns the port that leads to the node's SSH server: that of its management address if it starts an SSH server with the lab or is a virtual machine, or
 * the one that it publishes.
 */
export function sshOf({ ports, management, ssh, isMachine }: InventoryNode): ReachablePort | undefined {
  if (management !== undefined && (ssh || isMachine)) return { address: management, port: sshPort, nodePort: sshPort };
  return ports.find(({ nodePort }) => nodePort === sshPort);
}
