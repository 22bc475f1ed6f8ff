import { compareNatural } from "../../base/natural-order.ts";
import { nodeKey } from "../../base/node-key.ts";
import type { ResultOf } from "../../client/index.ts";
import { publishedPort } from "../../intent/lab/published-port.ts";

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

/**
 * Returns the running nodes.
 * @param machine address of the service's machine: shown instead of 0.0.0.0 and ::
 * @param isHere this program runs on the service's machine, which alone reaches management addresses
 */
export function inventoryNodes({ lab, nodes }: ResultOf<"inspectProject">, machine: string, isHere: boolean): readonly InventoryNode[] {
  const labName = lab.split("/").at(-1) ?? lab;
  const running = nodes.filter(({ status }) => status === "running").toSorted((a, b) => compareNatural(nodeKey(a), nodeKey(b)));
  return running.map((node) => ({
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
      return [{ address: address === "0.0.0.0" || address === "::" ? machine : address, port, nodePort }];
    }),
    ...(isHere && node.management !== undefined && { management: node.management.replace(/\/.*/, "") }),
    ...(isHere && node.management_ipv6 !== undefined && { managementIpv6: node.management_ipv6.replace(/\/.*/, "") }),
    ssh: node.ssh === true,
    isMachine: node.type === "qemu",
    user: sshUser(node.labels?.[userLabel]),
    interfaces: node.interfaces.map(({ name, addresses = [], peer }) => ({ name, addresses, ...(peer !== undefined && { peer }) })),
  }));
}

/**
 * Returns the port that leads to the node's SSH server: that of its management address if it starts an SSH server with the lab or is a virtual machine, or
 * the one that it publishes.
 */
export function sshOf({ ports, management, ssh, isMachine }: InventoryNode): ReachablePort | undefined {
  if (management !== undefined && (ssh || isMachine)) return { address: management, port: sshPort, nodePort: sshPort };
  return ports.find(({ nodePort }) => nodePort === sshPort);
}
