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

/** Returns why nodes of a template cannot have a field; undefined: they can. */
export function whyWithout(template: string, field: string): string | undefined {
  return missing[template]?.[field];
}

/** Number of interfaces that a node of a template can have. */
export function maxInterfaces(template: string): number {
  if (template === "qemu" || template === "vm") return 23;
  return template === "pc" ? 8 : 64;
}

/** Whether nodes of the template get files at their start. */
export function takesFiles(template: string): boolean {
  return whyWithout(template, "files") === undefined;
}
