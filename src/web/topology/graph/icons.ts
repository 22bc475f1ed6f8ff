/** The drawings of nodes, by their role. */
export const iconNames = [
  "router",
  "switch",
  "firewall",
  "server",
  "pc",
  "vm",
  "container",
  "cloud",
  "printer",
  "phone",
  "wireless",
  "balancer",
] as const;
export type IconName = (typeof iconNames)[number];

/** Words in the names of icons, templates and types, in any case; the first match counts. */
const words: readonly (readonly [RegExp, IconName])[] = [
  [/firewall|\basa|fortigate|palo|pfsense|opnsense|checkpoint|srx|ftd|vmx-fw/i, "firewall"],
  [/load.?balanc|\bf5|bigip|haproxy/i, "balancer"],
  [/wireless|wifi|wlc|access.?point|\bap\b/i, "wireless"],
  [/printer/i, "printer"],
  [/phone|voip|mobile/i, "phone"],
  [/cloud|internet|\bnat\b|pnet/i, "cloud"],
  [/switch|l2|bridge|ovs|nexus|nxos|veos|ceos|cumulus|sonic/i, "switch"],
  [/router|frr|vios|iol|csr|xrv|xrd|vmx|vjunos|crpd|vyos|mikrotik|srlinux|srl\b|sros|bird|quagga|c7200|c3725|dynamips/i, "router"],
  [/desktop|laptop|\bpc\b|vpcs|workstation|client|windows|win-?\d/i, "pc"],
  [/container|docker|podman/i, "container"],
  [/qemu|\bvm\b/i, "vm"],
  [/server|linux|host|ubuntu|debian|alpine/i, "server"],
];

interface IconInput {
  /** The icon that the intent names, such as Printer.png. */
  readonly icon?: string | undefined;
  readonly template?: string | undefined;
  readonly type: string;
}

/** Returns the drawing of a node: from its icon, else its template, else its type. */
export function iconOf({ icon = "", template = "", type }: IconInput): IconName {
  for (const text of [icon, template, type]) {
    const found = words.find(([pattern]) => pattern.test(text));
    if (found !== undefined) return found[1];
  }
  return "server";
}
