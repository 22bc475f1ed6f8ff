import { Failure } from "../../../contract/errors.ts";
import { shortage } from "../../../engine/admission.ts";
import type { Catalogue } from "../catalogue.ts";
import type { DefinedNode } from "../definition.ts";
import type { Definitions } from "../definitions.ts";
import type { MachineMeans } from "./lab-resources.ts";
import { freeMemory, machineMemory } from "./machine-capacity.ts";
import { nodeNeed } from "./node-limits.ts";

/** MiB that nodes which are started may still have: what the machine has, less what nodes of all labs that run were promised. */
export async function roomFor(definitions: Definitions, means: MachineMeans, catalogue: Catalogue): Promise<number> {
  const labs = await definitions.all();
  const up = labs.flatMap(({ nodes }) => nodes.filter(({ power }) => power !== "stopped"));
  const promised = up.reduce((sum, node) => sum + nodeNeed(node, catalogue.template(node.template)), 0);
  return freeMemory(machineMemory(means.groups), means.rules, promised);
}

/** Throws host_error with both figures where these nodes do not fit. */
export async function refuseOverload(starting: readonly DefinedNode[], room: () => Promise<number>, catalogue: Catalogue): Promise<void> {
  const needs = starting.reduce((sum, node) => sum + nodeNeed(node, catalogue.template(node.template)), 0);
  if (needs === 0) return;
  const free = await room();
  if (needs <= free) return;
  const message = shortage(needs, free);
  throw new Failure("host_error", message, { data: { host: { message, needs_mib: needs, free_mib: free } } });
}
