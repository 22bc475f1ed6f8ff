import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { machineBind } from "../../../intent/lab/machine-bind.ts";
import type { DefinedNode } from "../definitions/definition.ts";
import { nodeDisk } from "../files/node-disk.ts";
import { runDirectories } from "../images/run-directories.ts";
import { ownKernelSpawn } from "../own-kernel/own-kernel-spawn.ts";
import type { NodeSpawn } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { ownKernelRam } from "../templates/node-needs.ts";
import { bootEnv, bootFiles, nodeImage } from "../templates/template.ts";
import { hypervisorImage, kernelImage, supervisor } from "../templates/vm-template.ts";
import { vmSpawn } from "../vm/vm-spawn.ts";
import { addressLines } from "./addresses.ts";
import { containerSpawn } from "./container-node.ts";
import { hostname } from "./hostname.ts";

/**
 * The holder's request for this node. Throws host_error if its template or image is not on this host.
 * @param managed its addresses in the management network; absent: the lab has none
 */
export function nodeSpawn(lab: string, node: DefinedNode, disk: string, catalogue: Catalogue, managed?: readonly string[]): NodeSpawn {
  const { env, ...spawn } = spawnOf(lab, node, disk, catalogue, managed);
  // Only the template may set this variable: the env of an intent or image, or an attribute of this name, may not.
  const { [systemCalls]: _calls, [guestClient]: _client, ...given } = env;
  const wide = catalogue.template(node.template)?.systemCalls === "wide";
  const own = node.kernel === "own" ? { [guestClient]: supervisor } : {};
  const binds = node.binds === undefined ? {} : { binds: node.binds.map(machineBind) };
  return { ...spawn, ...binds, env: { ...given, ...(wide && { [systemCalls]: "wide" }), ...own } };
}

/** Read by the node's init (native/holder/confine.c); holders of earlier releases ignore it. */
const systemCalls = "LABWRIGHT_SYSTEM_CALLS";

/** Read by the holder (native/holder/jobs.c): the program that runs the programs of a node with a kernel of its own. */
const guestClient = "LABWRIGHT_GUEST";

function spawnOf(lab: string, node: DefinedNode, disk: string, catalogue: Catalogue, managed: readonly string[] | undefined): NodeSpawn {
  const template = catalogue.template(node.template);
  if (template === undefined) throw refused(`node ${node.name}: the host has no template ${node.template}`);
  const image = nodeImage(template, catalogue.images, node.image);
  if (image === undefined) throw refused(`node ${node.name}: image ${node.image ?? template.images[0]} is not on this host`);
  if (template.backend === "vm") {
    const hypervisor = catalogue.images.find(({ name, vm }) => name === hypervisorImage && vm === undefined);
    const vm = { ...node, ...(managed !== undefined && { managed }) };
    return vmSpawn(lab, vm, { hostname: hostname(node.name), disk }, template, image, hypervisor, catalogue.features.kvm);
  }
  const wanted = { ...node, key: node.name };
  const made = { id: node.id, hostname: hostname(node.name), lower: image.layers, disk };
  if (image.container !== undefined) {
    try {
      const parts = {
        template,
        config: image.container,
        trees: [join(disk, "upper"), ...image.layers],
        disk: nodeDisk(disk),
        runDirectories: () => runDirectories(image.layers),
      };
      const devices = template.needs.some(({ what }) => "kvm" in what) && catalogue.features.kvm ? { devices: ["kvm"] as const } : {};
      return { ...made, ...containerSpawn(node, parts), ...devices };
    } catch (error) {
      throw refused(`node ${node.name}: ${(error as Error).message}`);
    }
  }
  const settings = { files: bootFiles(wanted), env: bootEnv(template, wanted), boot: template.boot, console: template.console.argv };
  if (node.kernel !== "own") return { ...made, ...settings };
  const [hypervisor, kernel] = [hypervisorImage, kernelImage].map((name) => catalogue.images.find((one) => one.name === name));
  if (hypervisor === undefined || kernel === undefined)
    throw refused(`node ${node.name}: this host has no kernel for nodes: labwright setup builds it, on x86-64 machines`);
  const own = { ...settings, hostname: made.hostname, ram: ownKernelRam(node) };
  return { ...made, ...ownKernelSpawn(own, { image, hypervisor, kernel }, catalogue.features.kvm) };
}

/**
 * Returns lines for `ip -batch` in the net namespace of a container: the addresses and routes of its attributes. "" for other nodes. Throws
 * host_error if they are invalid.
 */
export function nodeAddresses(node: DefinedNode, catalogue: Catalogue): string {
  if (catalogue.template(node.template)?.backend !== "container") return "";
  const text = (name: string) => String(node.attributes[name] ?? "");
  try {
    return addressLines(text("addresses"), text("gateway"));
  } catch (error) {
    throw refused(`node ${node.name}: ${(error as Error).message}`);
  }
}

function refused(message: string): Failure {
  return new Failure("host_error", message, { data: { host: { message } } });
}
