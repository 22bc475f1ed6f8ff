import { interfaceNaming } from "../../base/names/interface-names.ts";
import type { LabNode } from "../../intent/lab/lab.ts";

/** How containerlab runs the nodes of a template for container images (templates/kinds). */
interface Kind {
  /** Absent: the template's own name. */
  readonly kind?: string;
  /** The formats of its interface names, those of containerlab first. Absent: eth0, eth1 … */
  readonly format?: string;
  /** For a node without an image. */
  readonly image?: string;
  /** The file in the node that receives the startup-config, if the kind has no startup-config of its own. */
  readonly config?: string;
  readonly cmd?: string;
  readonly exec?: readonly string[];
}

const vrnetlab =
  "eth{0}|Gi1,Gi{2}|GigabitEthernet1,GigabitEthernet{2}|Gi0/0,Gi0/{1}|Mg0,Gi0/0/0/{0}|Mg0,GigabitEthernet0/0/0/{0}|Ma0,Ethernet{1}|Ma0,Et{1}|mgmt0,Ethernet1/{1}|fxp0,ge-0/0/{0}|fxp0,xe-0/0/{0}|fxp0,et-0/0/{0}|ether1,ether{2}|mgmt,1/1/{1}|port1,port{2}";
const ofLinux = "linux";

const kinds: Readonly<Record<string, Kind>> = {
  nokia_srlinux: { format: "e1-{1}|ethernet-1/{1}", image: "ghcr.io/nokia/srlinux:latest" },
  arista_ceos: { format: "eth{0}|Management0,Ethernet{1}|Ma0,Et{1}" },
  juniper_crpd: {},
  cisco_xrd: { format: "Gi0-0-0-{0}|Gi0/0/0/{0}|GigabitEthernet0/0/0/{0}" },
  "sonic-vs": { format: "eth{0}|eth0,Ethernet{0+4}" },
  vyosnetworks_vyos: {},
  cumulus_cvx: { format: "eth0,swp{1}", image: "docker.io/networkop/cx:4.4.0" },
  bird: { kind: ofLinux, image: "ghcr.io/srl-labs/bird:2.13", config: "/etc/bird.conf" },
  gobgp: {
    kind: ofLinux,
    image: "docker.io/osrg/gobgp:latest",
    config: "/etc/gobgp/gobgp.conf",
    cmd: "gobgpd -f /etc/gobgp/gobgp.conf",
  },
  openbgpd: { kind: ofLinux, image: "docker.io/openbgpd/openbgpd:latest", config: "/etc/bgpd/bgpd.conf" },
  holo: {
    kind: ofLinux,
    image: "ghcr.io/holo-routing/holo:latest",
    config: "/etc/holo.startup",
    exec: ["holo-cli --file /etc/holo.startup"],
  },
  "frr-container": { kind: ofLinux, image: "quay.io/frrouting/frr:10.2.1", config: "/etc/frr/frr.conf" },
  vrnetlab: { format: vrnetlab },
};

/** Other ids of these templates. */
const others: Readonly<Record<string, string>> = {
  srl: "nokia_srlinux",
  srlinux: "nokia_srlinux",
  ceos: "arista_ceos",
  crpd: "juniper_crpd",
  xrd: "cisco_xrd",
  cvx: "cumulus_cvx",
};

/** Kinds of containerlab that are images of vrnetlab, and other ids of template vrnetlab. */
const machines: ReadonlySet<string> = new Set([
  ...["cisco_asav", "cisco_c8000v", "cisco_cat9kv", "cisco_csr1000v", "cisco_ftdv", "cisco_n9kv", "cisco_vios", "cisco_viosl2"],
  ...["cisco_xrv", "cisco_xrv9k", "arista_veos", "aruba_aoscx", "dell_sonic", "fortinet_fortigate", "freebsd", "juniper_vjunosevolved"],
  ...["juniper_vjunosrouter", "juniper_vjunosswitch", "juniper_vmx", "juniper_vqfx", "juniper_vsrx", "mikrotik_ros", "nokia_sros"],
  ...["openbsd", "paloalto_panos", "sonic-vm"],
]);

/** The template id under which its file has it: for tests. */
export const exportedKinds: ReadonlyMap<string, string> = new Map([
  ...Object.entries(kinds).map(([id, { format = "eth{0}" }]) => [id, format] as const),
  ...Object.entries(others).map(([id, own]) => [id, kinds[own]?.format ?? "eth{0}"] as const),
  ...[...machines].map((id) => [id, vrnetlab] as const),
]);

/** Returns how containerlab runs a node of a container template; undefined for nodes of other templates. */
export function kindOf({ template, attributes }: Pick<LabNode, "template" | "attributes">): (Kind & { readonly kind: string }) | undefined {
  if (machines.has(template)) return { ...kinds["vrnetlab"], kind: template };
  const id = Object.hasOwn(others, template) ? others[template]! : template;
  if (!Object.hasOwn(kinds, id)) return undefined;
  const own = attributes["kind"];
  return { ...kinds[id], kind: kinds[id]?.kind ?? (id === "vrnetlab" && own !== undefined && own !== "" ? String(own) : id) };
}

/** Returns the name by which containerlab calls an interface. */
export function interfaceOf(node: Pick<LabNode, "template" | "attributes">, name: string): string {
  const format = kindOf(node)?.format;
  if (format === undefined) return name;
  const naming = interfaceNaming(format);
  const index = naming.index(name);
  return index === undefined ? name : naming.name(index);
}
