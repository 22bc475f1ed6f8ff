import type { LiveLink, LiveNode, LiveStatus } from "../../hosts/host.ts";

/** The last read state of a lab. Changes are found by comparing with it. */
export interface LabView {
  readonly live: "available" | "unavailable" | "absent";
  /** By native id. Kept while the lab cannot be read. */
  readonly nodes: ReadonlyMap<string, LiveNode>;
  readonly links: ReadonlyMap<string, LiveLink>;
}

export type LabChange =
  | { readonly of: "live"; readonly live: LabView["live"] }
  /** `now` undefined: the node was deleted. */
  | { readonly of: "node"; readonly before?: LiveNode; readonly now?: LiveNode }
  /** `now` undefined: the link has no impairment any more. */
  | { readonly of: "link"; readonly id: string; readonly now?: LiveLink };

export const emptyView: LabView = { live: "available", nodes: new Map(), links: new Map() };

export function viewOf({ nodes, links }: LiveStatus): LabView {
  return {
    live: "available",
    nodes: new Map(nodes.map((node) => [node.id, node])),
    links: new Map(links.map((link) => [link.id, link])),
  };
}

/** Returns the changes in a fixed order: the lab, nodes, links, each by id. Measured values (uptime, CPU, memory) do not count as changes. */
export function changesBetween(before: LabView, now: LabView): readonly LabChange[] {
  const changes: LabChange[] = before.live === now.live ? [] : [{ of: "live", live: now.live }];
  for (const id of idsOf(before.nodes, now.nodes)) {
    const [was, is] = [before.nodes.get(id), now.nodes.get(id)];
    if (was !== undefined && is !== undefined && sameNode(was, is)) continue;
    changes.push({ of: "node", ...(was !== undefined && { before: was }), ...(is !== undefined && { now: is }) });
  }
  for (const id of idsOf(before.links, now.links)) {
    const is = now.links.get(id);
    if (JSON.stringify(before.links.get(id)) === JSON.stringify(is)) continue;
    changes.push({ of: "link", id, ...(is !== undefined && { now: is }) });
  }
  return changes;
}

function sameNode(a: LiveNode, b: LiveNode): boolean {
  return (
    a.status === b.status &&
    a.ready === b.ready &&
    a.exit_code === b.exit_code &&
    a.forced === b.forced &&
    a.disk_full === b.disk_full &&
    a.closed_ports?.join() === b.closed_ports?.join() &&
    a.name === b.name
  );
}

function idsOf(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].sort();
}
