import type { ObservedEndpoint, ObservedLab, ObservedLink, ObservedNetwork, ObservedNode, Power } from "../../engine/model/observed.ts";
import { sameValue } from "../../engine/shared/canonical.ts";
import type { LabText, Management, TrafficFilter } from "../../intent/lab/lab.ts";
import type { EchoShell } from "./echo-shell.ts";

/** A lab as the memory host keeps it. */
export interface MemoryLab {
  readonly path: string;
  readonly id: string;
  readonly owner: string;
  name: string;
  description: string | undefined;
  management: Management | undefined;
  locked: boolean;
  texts: readonly LabText[];
  trafficFilters: readonly TrafficFilter[];
  readonly nodes: Map<string, MemoryNode>;
  readonly networks: Map<string, ObservedNetwork>;
  readonly links: Map<string, ObservedLink>;
  /** Ids of the links at each end, by endpointWord. */
  readonly linksByEnd: Map<string, Set<string>>;
  /** By link id: quality that was changed live only. */
  readonly liveQuality: Map<string, NonNullable<ObservedLink["quality"]>>;
  /** No id is ever used twice. */
  nextId: number;
}

export interface MemoryNode {
  definition: Omit<ObservedNode, "power" | "interfaces" | "type" | "consoleType">;
  power: Power;
  /** While it runs or is suspended. */
  shell: EchoShell | undefined;
  /** The output of the shell that ended last. */
  lastLog: string;
  /** By the host's clock, ms. */
  startedAt: number;
}

export interface TemplateFacts {
  readonly type: string;
  readonly consoleType: ObservedNode["consoleType"];
  readonly interfaceName: (index: number) => string;
}

export function observeMemoryLab(lab: MemoryLab, facts: (template: string) => TemplateFacts): ObservedLab {
  return structuredClone({
    path: lab.path,
    id: lab.id,
    name: lab.name,
    ...(lab.description !== undefined && { description: lab.description }),
    ...(lab.management !== undefined && { management: lab.management }),
    locked: lab.locked,
    lock: lab.locked ? 1 : 0,
    nodes: [...lab.nodes.values()].map(({ definition, power }): ObservedNode => {
      const { type, consoleType, interfaceName } = facts(definition.template);
      const interfaces = Array.from({ length: definition.ethernet }, (_, index) => ({
        index,
        name: interfaceName(index),
        type: "ethernet" as const,
        mac: macOf(lab, definition.id, index),
      }));
      return { ...definition, type, consoleType, power, interfaces };
    }),
    networks: [...lab.networks.values()],
    links: [...lab.links.values()],
    texts: lab.texts,
    trafficFilters: lab.trafficFilters,
  });
}

/** Locally administered, the same for the same interface. */
function macOf(lab: MemoryLab, node: string, index: number): string {
  const bytes = [0x02, 0x4d, Number(lab.id) & 0xff, (Number(node) >> 8) & 0xff, Number(node) & 0xff, index & 0xff];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

export function endpointWord(endpoint: ObservedEndpoint): string {
  return "nodeId" in endpoint ? `node ${endpoint.nodeId} ${endpoint.interface}` : `network ${endpoint.networkId}`;
}

/** Adds the link, or puts it in the place of the one with its id, which has the same ends. */
export function putLink(lab: MemoryLab, link: ObservedLink): void {
  if (!sameValue(lab.links.get(link.id)?.quality, link.quality)) lab.liveQuality.delete(link.id);
  lab.links.set(link.id, link);
  for (const word of link.endpoints.map(endpointWord)) {
    const there = lab.linksByEnd.get(word);
    if (there === undefined) lab.linksByEnd.set(word, new Set([link.id]));
    else there.add(link.id);
  }
}

export function dropLink(lab: MemoryLab, link: ObservedLink): void {
  lab.links.delete(link.id);
  lab.liveQuality.delete(link.id);
  for (const word of link.endpoints.map(endpointWord)) {
    const there = lab.linksByEnd.get(word);
    there?.delete(link.id);
    if (there?.size === 0) lab.linksByEnd.delete(word);
  }
}

export function linksAt(lab: MemoryLab, end: ObservedEndpoint): readonly ObservedLink[] {
  return [...(lab.linksByEnd.get(endpointWord(end)) ?? [])].flatMap((id) => lab.links.get(id) ?? []);
}

/** Both ends, in either order the same. */
export function linkWord(endpoints: readonly [ObservedEndpoint, ObservedEndpoint]): string {
  return endpoints.map(endpointWord).sort().join(" -- ");
}
