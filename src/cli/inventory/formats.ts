import { Scalar, stringify } from "yaml";
import { shellWord } from "../../base/shell-word.ts";
import { hasProxy, proxyCommand, type SshMeans, shellCommand, sshName, sshOptions } from "../reach/ssh-options.ts";
import { type InventoryNode, sshOf, sshPort } from "./inventory-node.ts";

export const inventoryFormats = ["ansible", "nornir", "pyats", "ssh-config", "hosts", "prometheus", "json"] as const;
export type InventoryFormat = (typeof inventoryFormats)[number];

/** Nodes get new host keys when they are wiped. Their ports are on the machine itself. Their root may be another user of the lab, who would use a forwarded agent. */
const withoutHostKeys = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ForwardAgent=no";

type Writer = (nodes: readonly InventoryNode[], means: SshMeans) => string;

const writers: Readonly<Record<InventoryFormat, Writer>> = {
  ansible,
  nornir,
  pyats,
  "ssh-config": sshConfig,
  hosts,
  prometheus,
  json: (nodes) => `${JSON.stringify(nodes, null, 2)}\n`,
};

/** The formats of programs that use SSH. */
export const sshFormats: ReadonlySet<string> = new Set<InventoryFormat>(["ansible", "nornir", "pyats", "ssh-config"]);

export function inventoryText(format: InventoryFormat, nodes: readonly InventoryNode[], means: SshMeans): string {
  return writers[format](nodes, means);
}

/** Returns whether SSH leads to the node. */
export function isReachable(node: InventoryNode, means: SshMeans): boolean {
  return sshOf(node) !== undefined || hasProxy(node, means);
}

/** Names with a meaning for Ansible: its groups, a key of its inventories, and hosts that it takes for its own machine. */
const ansibleWords: ReadonlySet<string> = new Set(["all", "ungrouped", "_meta", "localhost", "127.0.0.1", "::1"]);

/** Names of groups have letters, digits and _. */
function ansibleGroup({ template }: InventoryNode): string {
  const name = template.replaceAll(/\W/g, "_");
  return ansibleWords.has(name) ? `template_${name}` : name;
}

/**
 * https://docs.ansible.com/ansible/latest/inventory_guide/intro_inventory.html. One group for each template. A node with the name of a group, or with one of
 * Ansible's own names, is named with its lab.
 */
function ansible(nodes: readonly InventoryNode[], means: SshMeans): string {
  const children: Record<string, { hosts: Record<string, unknown> }> = {};
  const reachable = nodes.filter((node) => isReachable(node, means));
  const groups = new Set(reachable.map(ansibleGroup));
  for (const node of reachable) {
    const ssh = sshOf(node);
    const group = ansibleGroup(node);
    children[group] ??= { hosts: {} };
    const host = ansibleWords.has(node.name) || groups.has(node.name) ? sshName(node.name, node.lab) : node.name;
    const labels = Object.fromEntries(Object.entries(node.labels).map(([name, value]) => [name, noTemplate(value)]));
    children[group].hosts[host] = {
      ...(ssh !== undefined && { ansible_host: ssh.address, ansible_port: ssh.port }),
      ...(ssh === undefined && ansibleProxy(node, means)),
      ...(node.user !== "root" && { ansible_user: node.user }),
      ...(means.identity !== undefined && { ansible_ssh_private_key_file: noTemplate(means.identity) }),
      ...(Object.keys(node.labels).length > 0 && { labels }),
    };
  }
  return stringify({ all: { vars: { ansible_user: "root", ansible_ssh_common_args: withoutHostKeys }, children } });
}

function ansibleProxy({ name, lab }: InventoryNode, means: SshMeans): object {
  const proxy = shellWord(`ProxyCommand=${proxyCommand(name, means)}`);
  // Many connections at once, each with a program of its own, may take longer than the 10 s of Ansible.
  return {
    ansible_host: sshName(name, lab),
    ansible_ssh_timeout: 60,
    ansible_ssh_common_args: noTemplate(`${withoutHostKeys} -o ${proxy}`),
  };
}

/** Marks a text that has a brace: otherwise Ansible would run templates in labels, which may be of another user's lab. */
function noTemplate(text: string): string | Scalar {
  if (!text.includes("{")) return text;
  const value = new Scalar(text);
  value.tag = "!unsafe";
  return value;
}

/** The hosts file of Nornir's SimpleInventory. Nodes without a port are named as in ssh-config. */
function nornir(nodes: readonly InventoryNode[], means: SshMeans): string {
  const entries = nodes.flatMap((node) => {
    const ssh = sshOf(node);
    if (!isReachable(node, means)) return [];
    const data = { lab: node.lab, template: node.template, labels: node.labels };
    const place = ssh === undefined ? { hostname: sshName(node.name, node.lab) } : { hostname: ssh.address, port: ssh.port };
    return [[node.name, { ...place, username: node.user, platform: "linux", data }] as const];
  });
  return stringify(Object.fromEntries(entries));
}

/** A testbed of pyATS, with its topology. */
function pyats(nodes: readonly InventoryNode[], means: SshMeans): string {
  const reachable = nodes.filter((node) => isReachable(node, means));
  const devices = reachable.map((node) => [
    node.name,
    { os: "linux", type: node.type, credentials: { default: { username: node.user } }, connections: { cli: pyatsConnection(node, means) } },
  ]);
  const topology = reachable.map((node) => [
    node.name,
    {
      interfaces: Object.fromEntries(
        node.interfaces.map(({ name, addresses, peer }) => {
          const of = (family: RegExp) => addresses.find((address) => family.test(address));
          const [ipv4, ipv6] = [of(/^\d+\./), of(/^(?!fe80:)[\da-f]*:/)];
          const link = peer === undefined ? {} : { link: [`${node.name}:${name}`, peer].sort().join(" -- ") };
          return [name, { type: "ethernet", ...link, ...(ipv4 && { ipv4 }), ...(ipv6 && { ipv6 }) }];
        }),
      ),
    },
  ]);
  return stringify({
    testbed: { name: nodes[0]?.lab ?? "lab" },
    devices: Object.fromEntries(devices),
    topology: Object.fromEntries(topology),
  });
}

function pyatsConnection(node: InventoryNode, means: SshMeans): object {
  const ssh = sshOf(node);
  if (ssh === undefined) return { command: shellCommand(node.name, means) };
  return { protocol: "ssh", ip: ssh.address, port: ssh.port, ssh_options: withoutHostKeys };
}

/** https://man.openbsd.org/ssh_config */
function sshConfig(nodes: readonly InventoryNode[], means: SshMeans): string {
  const hosts = nodes.flatMap((node) => {
    const ssh = sshOf(node);
    if (!isReachable(node, means)) return [];
    const place = ssh === undefined ? { ProxyCommand: proxyCommand(node.name, means) } : { HostName: ssh.address, Port: ssh.port };
    const lines = Object.entries({ ...place, ...sshOptions(means, node.user) }).map(([key, value]) => `${key} ${value}`);
    return [[`Host ${sshName(node.name, node.lab)}`, ...lines].join("\n  ")];
  });
  return `${hosts.join("\n")}\n`;
}

/** Lines of /etc/hosts: management addresses, for the machine. A node without has its addresses inside the lab, for the other nodes. */
function hosts(nodes: readonly InventoryNode[]): string {
  const lines = nodes.flatMap(({ name, lab, management, managementIpv6, interfaces }) => {
    // Without a second name: a node may be called as a host that the machine knows.
    if (management !== undefined) {
      const own = managementIpv6 === undefined ? [management] : [management, managementIpv6];
      return /^[\w.-]+$/.test(name) ? own.map((address) => `${address} ${name}.${lab}`) : [];
    }
    return interfaces.flatMap(({ addresses }) =>
      addresses.filter((address) => !address.startsWith("fe80:")).map((address) => `${address.replace(/\/.*/, "")} ${name}.${lab} ${name}`),
    );
  });
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** A file of Prometheus' file_sd_configs: each published port except that of SSH. */
function prometheus(nodes: readonly InventoryNode[]): string {
  const targets = nodes.flatMap((node) =>
    node.ports
      .filter(({ nodePort }) => nodePort !== sshPort)
      .map(({ address, port, nodePort }) => ({
        targets: [`${address.includes(":") ? `[${address}]` : address}:${port}`],
        labels: { lab: node.lab, node: node.name, template: node.template, node_port: String(nodePort) },
      })),
  );
  return `${JSON.stringify(targets, null, 2)}\n`;
}
