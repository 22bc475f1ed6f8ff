import type { LabNode } from "../../intent/lab/lab.ts";
import { kindOf } from "./kinds.ts";

/** Container images with the programs of Labwright's own templates, for tools that run containers. */
export const containerImages = {
  frr: "quay.io/frrouting/frr:10.2.1",
  linux: "ghcr.io/srl-labs/network-multitool:latest",
} as const;

/** How other tools run a node: an FRR router or a host as a container, a PC of VPCS, a switch, a container or a virtual machine of its own image. */
export type Role = "frr" | "linux" | "pc" | "switch" | "container" | "vm" | "other";

const roles: Readonly<Record<string, Role>> = {
  frr: "frr",
  linux: "linux",
  pc: "pc",
  switch: "switch",
  container: "container",
  vm: "vm",
  qemu: "vm",
};

/** Returns the role of a node; `other` for templates of the host that Labwright does not ship. */
export function roleOf({ template }: Pick<LabNode, "template">): Role {
  if (kindOf({ template, attributes: {} }) !== undefined) return "container";
  return Object.hasOwn(roles, template) ? (roles[template] as Role) : "other";
}

/** Path of FRR's configuration in its container. */
export const frrConfig = "/etc/frr/frr.conf";
export const frrDaemonsPath = "/etc/frr/daemons";

/** The daemons of an FRR container: all that a lab may use. The image starts none by default. */
export const frrDaemons = `${["bgpd", "ospfd", "ospf6d", "ripd", "ripngd", "isisd", "pimd", "ldpd", "eigrpd", "pbrd", "bfdd", "vrrpd"].map((daemon) => `${daemon}=yes`).join("\n")}
vtysh_enable=yes
zebra_options="  -A 127.0.0.1 -s 90000000"
`;

/** Returns a name as a file's: other characters become hyphens. */
export function fileName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, "-").replace(/^\.+/, "") || "node";
}
