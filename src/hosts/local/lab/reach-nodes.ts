import { Failure } from "../../../contract/errors.ts";
import { managementInterface } from "../../../intent/lab/lab.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { type ManagedNode, managementAddresses } from "../management/management.ts";
import { guestAddresses } from "../reach/guest-addresses.ts";
import { type InterfaceAddresses, interfaceAddresses } from "../reach/interface-addresses.ts";
import { connectManaged, datagramsManaged } from "../reach/management-port.ts";
import { connectGuest } from "../reach/port-of-guest.ts";
import type { ConnectNode, PublishedPorts } from "../reach/published-ports.ts";
import type { NodeState } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { LabSandbox } from "./lab-sandbox.ts";

/** Returns node → its addresses, for running nodes. Those of a virtual machine are in its own kernel: only its management address is known. */
export async function runningAddresses(
  lab: LabSandbox,
  program: string,
  definition: LabDefinition,
  catalogue: Catalogue,
): Promise<ReadonlyMap<number, InterfaceAddresses>> {
  const { nodes } = definition;
  const states = await lab.states();
  const { sandbox } = lab;
  const running = nodes.filter((node) => states.get(node.id)?.state === "running" && isManaged(node, catalogue));
  if (sandbox === null || running.length === 0) return new Map();
  const managed = await managementAddresses(lab.directory, definition);
  const systems = running.filter((node) => hasSystem(node, catalogue));
  const own = systems.filter(({ kernel }) => kernel === "own");
  const shared = systems.flatMap(({ id, kernel }) => (kernel === "own" ? [] : [[id, states.get(id)?.pid ?? 0] as const]));
  const [found, inGuests] = await Promise.all([
    shared.length === 0 ? new Map<number, InterfaceAddresses>() : interfaceAddresses(sandbox, program, new Map(shared)),
    guestAddresses(
      sandbox,
      own.map(({ id }) => id),
    ),
  ]);
  return new Map(
    running.flatMap(({ id }) => {
      const interfaces = new Map(found.get(id) ?? inGuests.get(id));
      // The recorded address, not one that the root of the node has set: inventories lead users there.
      interfaces.delete(managementInterface);
      const address = managed.get(id);
      if (address !== undefined) interfaces.set(managementInterface, address);
      return interfaces.size === 0 ? [] : [[id, interfaces] as const];
    }),
  );
}

export interface PublishOptions {
  readonly starting?: ReadonlySet<number>;
  readonly strict: boolean;
}

/**
 * Opens the declared ports of running nodes on the machine, and closes the lab's others. A port that cannot be opened is tried again until it is open.
 * @param starting nodes that are about to run
 * @param strict throw host_error for a port that cannot be opened, unless it could not be opened before
 */
export async function publishPorts(
  published: PublishedPorts,
  lab: LabSandbox,
  definition: LabDefinition,
  catalogue: Catalogue,
  { starting = new Set(), strict }: PublishOptions,
): Promise<void> {
  const { id, owner, nodes } = definition;
  const isMachine = (node: DefinedNode) => !hasSystem(node, catalogue);
  // A virtual machine is reached by its management address alone, so it publishes nothing without one.
  const canPublish = (node: DefinedNode) =>
    hasSystem(node, catalogue) || (isManaged(node, catalogue) && definition.management !== undefined);
  const declared = nodes.filter((node) => (node.ports ?? []).length > 0 && canPublish(node));
  const states = declared.length === 0 ? new Map<number, NodeState>() : await lab.states();
  const up = declared.filter((node) => starting.has(node.id) || (states.get(node.id)?.pid ?? 0) > 0);
  const publishing = up.map(({ id: node, name, ports = [] }) => ({ id: node, name, ports }));
  const byId = new Map(up.map((node) => [node.id, node]));
  const connect: ConnectNode = async (node, { protocol, nodePort }) => {
    const { sandbox } = lab;
    const found = byId.get(node);
    if (sandbox === null || found === undefined) throw new Failure("node_not_running", "the lab does not run");
    const hasOwnKernel = found.kernel === "own" || isMachine(found);
    if (protocol === "udp" && !hasOwnKernel) return await sandbox.datagrams(node, nodePort);
    if (isMachine(found) || (protocol === "udp" && definition.management !== undefined)) {
      const address = (await managementAddresses(lab.directory, definition)).get(node)?.[0]?.replace(/\/.*/, "");
      if (address === undefined) throw new Failure("host_error", `node ${found.name} has no management address`);
      return protocol === "udp" ? await datagramsManaged(address, nodePort) : await connectManaged(address, nodePort);
    }
    return hasOwnKernel ? await connectGuest(sandbox, node, nodePort) : await sandbox.connect(node, nodePort);
  };
  await published.set({ id, owner }, publishing, connect, strict);
}

/** Returns the nodes with an interface in the management network: all but switches. */
export function managedNodes({ nodes }: LabDefinition, catalogue: Catalogue): readonly ManagedNode[] {
  return nodes.flatMap((node) => {
    if (!isManaged(node, catalogue)) return [];
    const { id, name, mgmtIpv4, mgmtIpv6 } = node;
    const isGuest = node.kernel === "own" || !hasSystem(node, catalogue);
    return [{ id, name, isGuest, ...(mgmtIpv4 !== undefined && { mgmtIpv4 }), ...(mgmtIpv6 !== undefined && { mgmtIpv6 }) }];
  });
}

/** Returns the nodes whose hosts files get the names of the lab's nodes: a virtual machine's is inside its own disk. */
export function namedNodes({ nodes }: LabDefinition, catalogue: Catalogue): readonly DefinedNode[] {
  return nodes.filter((node) => hasSystem(node, catalogue));
}

function isManaged(node: DefinedNode, catalogue: Catalogue): boolean {
  return hasSystem(node, catalogue) || catalogue.template(node.template)?.backend === "vm";
}

/** Returns whether the node has processes of its own in the sandbox, and addresses that can be asked for. */
function hasSystem({ template }: DefinedNode, catalogue: Catalogue): boolean {
  const backend = catalogue.template(template)?.backend;
  return backend === "namespace" || backend === "container";
}
