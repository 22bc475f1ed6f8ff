import { nodeKey } from "../../base/node-key.ts";
import type { InspectedNode, LiveNodeData } from "../../contract/schemas/observe.ts";

/** A node in the table of all nodes. */
export interface NodeRow {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly template: string;
  readonly status: string;
  /** undefined: not known, or the node does not run. */
  readonly cpu: number | undefined;
  readonly memory: number | undefined;
  readonly disk: number | undefined;
  readonly uptime: number | undefined;
  readonly links: number;
  readonly addresses: readonly string[];
}

export const columns = ["name", "status", "cpu", "memory", "disk", "uptime", "template", "links", "addresses"] as const;
export type Column = (typeof columns)[number];

export interface Sorting {
  readonly column: Column;
  readonly isDescending: boolean;
}

export function nodeRows(nodes: readonly InspectedNode[], live: ReadonlyMap<string, LiveNodeData>): readonly NodeRow[] {
  return nodes.map((node) => {
    const now = live.get(node.id);
    return {
      id: node.id,
      key: nodeKey(node),
      name: node.name,
      template: node.template,
      status: now?.status ?? node.status,
      cpu: now?.cpu_percent,
      memory: now?.memory_bytes,
      disk: now?.disk_bytes,
      uptime: now?.uptime_ms,
      links: node.interfaces.filter(({ link }) => link !== undefined).length,
      addresses: addressesOf(node),
    };
  });
}

/** Returns those that lead to the node from the machine first: its management addresses. */
function addressesOf({ management, management_ipv6: management6, interfaces }: InspectedNode): readonly string[] {
  const own = interfaces.flatMap(({ addresses = [] }) => addresses.filter((address) => !isLinkLocal(address)));
  return [management, management6, ...own].filter((one) => one !== undefined);
}

/** Each interface has such an address; the panel of the node shows it. */
function isLinkLocal(address: string): boolean {
  return /^fe80:/i.test(address);
}

/** A click on a column sorts by it, and a second click turns the order around. */
export function sortedBy(before: Sorting, column: Column): Sorting {
  return { column, isDescending: before.column === column ? !before.isDescending : false };
}

/** Returns the rows in their order; rows without a value are last, and equal rows are ordered by name. */
export function sortedRows(rows: readonly NodeRow[], { column, isDescending }: Sorting): readonly NodeRow[] {
  const value = (row: NodeRow): string | number | undefined => {
    if (column === "addresses") return row.addresses[0];
    return row[column];
  };
  const factor = isDescending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [one, other] = [value(a), value(b)];
    if (one === undefined || other === undefined) return one === other ? byName(a, b) : one === undefined ? 1 : -1;
    const order = typeof one === "number" && typeof other === "number" ? one - other : inOrder(String(one), String(other));
    return order * factor || byName(a, b);
  });
}

function byName(a: NodeRow, b: NodeRow): number {
  return inOrder(a.name, b.name) || inOrder(a.key, b.key);
}

/** r2 comes before r10. */
function inOrder(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
