import type { DefinedLink, LabDefinition } from "../definitions/definition.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { type LiveNodes, type WantedFabric, wantedFabric } from "./fabric.ts";

/** What of a fabric an edit of its definition is about. */
export interface FabricPart {
  /** Nodes with other interfaces than before, or at an end of a link that is new, gone or another. */
  readonly nodes: ReadonlySet<number>;
  /** Those links. */
  readonly links: readonly number[];
}

/** More would cost as much as all of it. */
const mostNodes = 64;

/** undefined: it is about all of it, because nodes come or go, networks or qualities change, no link does, or too many do. */
export function editedPart(before: LabDefinition, after: LabDefinition): FabricPart | undefined {
  if (before.nodes.length !== after.nodes.length || JSON.stringify(before.networks) !== JSON.stringify(after.networks)) return undefined;
  const nodes = new Set<number>();
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  for (const node of after.nodes) {
    const was = old.get(node.id);
    if (was === undefined || was.template !== node.template) return undefined;
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
  for (const { endpoints } of changed) for (const end of endpoints) if ("node" in end) nodes.add(end.node);
  return nodes.size === 0 || nodes.size > mostNodes ? undefined : { nodes, links: changed.map(({ id }) => id) };
}

/** The links at these nodes. */
export function linksAt({ links }: Pick<LabDefinition, "links">, nodes: ReadonlySet<number>): readonly DefinedLink[] {
  return links.filter(({ endpoints }) => endpoints.some((end) => "node" in end && nodes.has(end.node)));
}

/** The nodes and their neighbours. */
export function withNeighbours(links: readonly DefinedLink[], nodes: ReadonlySet<number>): ReadonlySet<number> {
  const ends = links.flatMap(({ endpoints }) => endpoints.flatMap((end) => ("node" in end ? [end.node] : [])));
  return new Set([...nodes, ...ends]);
}

/** What of wantedFabric belongs to these nodes: their ports, and both ends of their links. The bridges stand already. `live` knows the neighbours too. */
export function wantedPart(
  definition: LabDefinition,
  nodes: ReadonlySet<number>,
  live: LiveNodes,
  template: (id: string) => LocalTemplate | undefined,
  shapes: ReadonlySet<number>,
): WantedFabric {
  const links = linksAt(definition, nodes);
  const near = withNeighbours(links, nodes);
  // Of a neighbour only the ports of these links count.
  const those = definition.nodes.filter(({ id }) => near.has(id)).map((node) => (nodes.has(node.id) ? node : { ...node, ethernet: 0 }));
  const { ports, shaped } = wantedFabric({ ...definition, nodes: those, networks: [], links }, live, template, shapes);
  return { bridges: new Set(), ports, shaped };
}
