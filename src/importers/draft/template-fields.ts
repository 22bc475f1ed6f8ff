import type { MachineTemplate } from "../mapping/machine-template.ts";

/** Fields that nodes of these templates cannot have, with the reason. docs/templates.md */
const vmHasNone = "a virtual machine sets this itself, by its startup-config";
const switchHasNone = "a switch runs no programs";

const missing: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  switch: {
    image: "a switch has no image",
    "startup-config": switchHasNone,
    files: switchHasNone,
    exec: switchHasNone,
    env: switchHasNone,
    attributes: "a switch has no attributes",
    cpu: switchHasNone,
    ram: switchHasNone,
    ports: switchHasNone,
    "mgmt-ipv4": switchHasNone,
    "mgmt-ipv6": switchHasNone,
  },
  qemu: {
    exec: vmHasNone,
    env: vmHasNone,
    files: vmHasNone,
    ports: "ports of a virtual machine are not published",
    "mgmt-ipv4": vmHasNone,
    "mgmt-ipv6": vmHasNone,
  },
  vm: {
    env: vmHasNone,
    files: vmHasNone,
    ports: "ports of a virtual machine are not published",
    "mgmt-ipv4": vmHasNone,
    "mgmt-ipv6": vmHasNone,
  },
  container: { "startup-config": "a container is configured by its image, env and files" },
  pc: { attributes: "a pc has no attributes" },
};

/** The template of a node, and its facts if it is a virtual machine. */
interface OfTemplate {
  readonly template: string;
  readonly machine: MachineTemplate | undefined;
  readonly kind: MachineTemplate | undefined;
}

/** Returns why nodes of a template cannot have a field; undefined: they can. */
export function whyWithout({ template, machine }: OfTemplate, field: string): string | undefined {
  if (machine?.startupConfig === false && field === "startup-config") return `template ${template} reads no configuration from a disk`;
  return missing[machine === undefined ? template : "qemu"]?.[field];
}

/** Number of interfaces that a node of a template can have. */
export function maxInterfaces({ template, machine, kind }: OfTemplate): number {
  const known = machine ?? kind;
  if (known !== undefined) return known.maxInterfaces;
  if (template === "qemu" || template === "vm") return 23;
  return template === "pc" ? 8 : 64;
}
