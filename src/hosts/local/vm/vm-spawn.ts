import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { LocalImage } from "../images/images.ts";
import type { NodeSpawn } from "../sandbox/sandbox.ts";
import { type LocalTemplate, nameFile } from "../templates/template.ts";
import type { ConfigDriveSource, VmNode } from "../templates/vm-template.ts";
import { supervisor, uefiFirmware, vmOf } from "../templates/vm-template.ts";
import { networkConfig } from "./network-config.ts";
import { usesKvm, vmConfig } from "./vm-config.ts";

export interface SpawnedVm extends VmNode {
  readonly id: number;
  readonly startupConfig?: string;
  readonly exec: readonly string[];
  /** Public keys for cloud-init. */
  readonly sshKeys?: readonly string[];
  /** Its addresses in the management network, with their prefixes. Absent: the lab has none. */
  readonly managed?: readonly string[];
}

/**
 * Returns the holder's request for this node: the hypervisor in its own root, which also contains the files of the VM's image. @param lab id of the
 * lab @param image the VM's image @param hypervisor `undefined` if set-up did not build it @param kvm whether hardware virtualisation works here
 */
export function vmSpawn(
  lab: string,
  node: SpawnedVm,
  place: { readonly hostname: string; readonly disk: string },
  template: LocalTemplate,
  image: LocalImage,
  hypervisor: LocalImage | undefined,
  kvm: boolean,
): NodeSpawn {
  if (hypervisor === undefined || image.vm === undefined) {
    const message = `node ${node.name}: ${hypervisor === undefined ? "there is no hypervisor on this host: labwright setup builds it" : `image ${image.name} is not an image of a virtual machine`}`;
    throw new Failure("host_error", message, { data: { host: { message } } });
  }
  const vm = vmOf(template, node);
  if (vm.firmware === "uefi" && !hypervisor.layers.some((layer) => existsSync(join(layer, uefiFirmware)))) {
    const message = `node ${node.name}: the hypervisor on this host has no UEFI firmware: labwright setup builds it again`;
    throw new Failure("host_error", message, { data: { host: { message } } });
  }
  const identity = `instance-id: ${lab}-${node.id}\nlocal-hostname: ${place.hostname}\n`;
  const text: Readonly<Record<ConfigDriveSource, () => string>> = {
    "startup-config": () => node.startupConfig ?? "",
    // The same format as /etc/labwright/exec of a namespace node.
    exec: () => node.exec.map((command) => `${command.trim().replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n`).join(""),
    network: () => (node.managed === undefined ? "" : networkConfig(lab, node.id, node.managed)),
    identity: () => identity,
    "identity-keys": () => `${identity}${publicKeys(node.sshKeys)}`,
  };
  // Without a management network, there is no file: cloud-init then configures the first interface by itself.
  const sources = Object.entries(vm.configDrive?.files ?? {}).filter(([, source]) => source !== "network" || node.managed !== undefined);
  const files = sources.map(([name, source]) => ({ path: `/etc/labwright/config-drive/${name}`, mode: 0o600, text: text[source]() }));
  return {
    id: node.id,
    hostname: place.hostname,
    lower: [...image.layers, ...hypervisor.layers],
    disk: place.disk,
    files: [nameFile(node.name), { path: "/etc/labwright/vm", mode: 0o600, text: vmConfig(vm, image.vm, kvm) }, ...files],
    env: {},
    boot: [],
    console: [supervisor, "boot"],
    main: { workdir: "/", uid: 0, gids: [0] },
    ...(usesKvm(vm, kvm) ? { devices: ["kvm"] } : {}),
  };
}

/** Returns the lines of meta-data by which cloud-init lets these keys log in as the image's usual user. */
function publicKeys(keys: readonly string[] = []): string {
  return keys.length === 0 ? "" : `public-keys:\n${keys.map((key) => `  - ${JSON.stringify(key)}\n`).join("")}`;
}
