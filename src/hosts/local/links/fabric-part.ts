import type { DefinedLink, LabDefinition } from "../definitions/definition.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { type LiveNodes, type WantedFabric, wantedFabric } from "./fabric.ts";

/** The part of a lab's fabric that a change concerns. */
export interface FabricPart {
  /** Nodes whose ports are all compared. Of other nodes, only the ports of the part's links are. */
  readonly nodes: ReadonlySet<number>;
  /** Ids of the links that the change adds, changes or removes. */
  readonly links: readonly number[];
}

/** A part with more nodes than this costs as much as the whole fabric. */
const maxNodes = 64;

/**
 * Returns the part that an edit of the definition concerns: nodes with more or fewer interfaces, nodes at a changed link, and those links. Returns
 * `undefined` for edits that need the whole fabric: nodes, networks or qualities change, more than `maxNodes` nodes are concerned, or no port changes.
 */
export function editedPart(before: LabDefinition, after: LabDefinition): FabricPart | undefined {
  if (before.nodes.length !== after.nodes.length || JSON.stringify(before.networks) !== JSON.stringify(after.networks)) return undefined;
  const nodes = new Set<number>();
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  for (const node of after.nodes) {
    const was = old.get(node.id);
    if (was === undefined || was.template !== node.template) return undefined;
    if ((was.switching === undefined) !== (node.switching === undefined)) return undefined;
    if (was.ethernet !== node.ethernet) nodes.add(node.id);
  }
  const changed: DefinedLink[] = [];
  const left = new Map(before.links.map((link) => [link.id, link]));
  for (const link of after.links) {
    const was = left.get(link.id);
    left.delete(link.id);
    if (was === undefined) changed.push(link);
    else if (JSON.stringify(was) !== JSON.stringify(link)) changed.push(was, link);
  }
  changed.push(...left.values());
  if (changed.some(({ quality }) => quality !== undefined)) return undefined;
  // The MTU of a tunnel follows from all links at its network.
  const tunnels = new Set(after.networks.flatMap(({ id, vxlan }) => (vxlan === undefined ? [] : [id])));
  if (changed.some(({ endpoints }) => endpoints.some((end) => "network" in end && tunnels.has(end.network)))) return undefined;
  for (const { endpoints } of changed) for (const end of endpoints) if ("node" in end) nodes.add(end.node);
  if (nodes.size === 0 || nodes.size > maxNodes) return undefined;
  return { nodes, links: [...new Set(changed.map(({ id }) => id))] };
}

/** Returns the part that a change of one link's carrier or quality concerns. */
export function linkPart(id: number): FabricPart {
  return { nodes: new Set(), links: [id] };
}

/** Returns the definition's links that belong to the part: the changed ones and all links at the part's nodes. */
export function linksOfPart({ links }: Pick<LabDefinition, "links">, part: FabricPart): readonly DefinedLink[] {
  const changed = new Set(part.links);
  return links.filter(({ id, endpoints }) => changed.has(id) || endpoints.some((end) => "node" in end && part.nodes.has(end.node)));
}

/** Returns the nodes at the ends of these links. */
export function nodesAt(links: readonly DefinedLink[]): ReadonlySet<number> {
  return new Set(links.flatMap(({ endpoints }) => endpoints.flatMap((end) => ("node" in end ? [end.node] : []))));
}

/**
 * Returns the part's share of `wantedFabric`: the ports of its nodes, and both ends of its links. Bridges are left out, because an edit that adds or removes
 * one needs the whole fabric.
 * @param live must contain the neighbours too, if they run
 */
export function wantedPart(
  definition: LabDefinition,
  part: FabricPart,
  live: LiveNodes,
  template: (id: string) => LocalTemplate | undefined,
  shapedLinks: ReadonlySet<number>,
): WantedFabric {
  const links = linksOfPart(definition, part);
  const neighbours = nodesAt(links);
  const nodes = definition.nodes.flatMap((node) => {
    if (part.nodes.has(node.id)) return [node];
    // Without ports of its own, a neighbour has only the ports of these links.
    return neighbours.has(node.id) ? [{ ...node, ethernet: 0 }] : [];
  });
  const { ports, shaped } = wantedFabric({ ...definition, nodes, networks: [], links }, live, template, shapedLinks);
  return { bridges: new Set(), ports, shaped };
}
