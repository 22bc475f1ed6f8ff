import { compareNatural } from "../../base/natural-order.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import type { SwitchData, SwitchesData } from "../../contract/schemas/switches.ts";
import { joinIds } from "../../engine/compare/join.ts";
import type { SwitchState } from "../../hosts/host-switches.ts";
import type { Caller } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressExisting } from "../context/address.ts";
import { chosenNodes, keyedNodes, nodeNotFound } from "../context/chosen-nodes.ts";
import type { LookupParts } from "../context/parts.ts";

/** Returns the state of a lab's VLAN-aware switches, or of those that the call names. */
export async function listSwitches(context: LookupParts, caller: Caller, payload: ProjectPayload): Promise<SwitchesData> {
  const target = await addressExisting(context, caller, payload);
  const { host, path } = target;
  if (!(await host.capabilities()).features.switching || host.switches === undefined) throw unsupported("switching");
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  const ids = joinIds(target.intent?.lab ?? null, observed, target.ids);
  const chosen = chosenNodes(payload);
  for (const key of chosen ?? []) if (ids.nodes[key] === undefined) throw nodeNotFound(path, key, keyedNodes(observed, ids));
  const nodes = new Map(observed.nodes.map((node) => [node.id, node]));
  const rows = Object.entries(ids.nodes).filter(([key, id]) => nodes.get(id)?.switching !== undefined && chosen?.has(key) !== false);
  const states = rows.length === 0 ? new Map<string, SwitchState>() : await host.switches(path);
  const switches = rows.map(([key, id]) => switchData(key, states.get(id)));
  return { lab: path, switches: switches.sort((a, b) => compareNatural(a.node, b.node)) };
}

function switchData(node: string, state: SwitchState | undefined): SwitchData {
  if (state === undefined) return { node, running: false, ports: [], addresses: [], more_addresses: 0 };
  const { ports, spanningTree, addresses, moreAddresses } = state;
  return {
    node,
    running: true,
    ...(spanningTree !== undefined && { spanning_tree: { ...spanningTree, is_root: spanningTree.bridge === spanningTree.root } }),
    ports: ports.map(({ name, interfaces, vlans, ...port }) => ({
      port: name,
      ...port,
      ...(vlans !== undefined && { vlans: vlans.map(String) }),
      interfaces: interfaces.map(({ name: one, isUp, lacpCurrent }) => ({
        interface: one,
        up: isUp,
        ...(lacpCurrent !== undefined && { lacp_current: lacpCurrent }),
      })),
    })),
    addresses: [...addresses],
    more_addresses: moreAddresses,
  };
}
