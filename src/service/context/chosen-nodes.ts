import { compareNatural } from "../../base/natural-order.ts";
import { shellWord } from "../../base/shell-word.ts";
import { Failure } from "../../contract/errors.ts";
import type { InspectionData, LiveData } from "../../contract/schemas/observe.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import type { JoinedIds } from "../../engine/compare/join.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import { didYouMean } from "../../intent/diagnostics/nearest.ts";
import type { Target } from "./target.ts";

/** Returns the keys of the nodes that a call names, `undefined` if it applies to all nodes. An empty list means no node. */
export function chosenNodes({ node, nodes }: Pick<ProjectPayload, "node" | "nodes">): ReadonlySet<string> | undefined {
  const single = node === undefined || node === "" ? [] : [node];
  if (nodes === undefined && single.length === 0) return undefined;
  return new Set([...single, ...(nodes ?? [])]);
}

/** A node that the host has: its key in calls, and its name on the host. */
export interface KeyedNode {
  readonly key: string;
  readonly name: string;
}

/** Returns the nodes of the host with the keys that calls use for them. */
export function keyedNodes({ nodes }: Pick<ObservedLab, "nodes">, ids: Pick<JoinedIds, "nodes">): readonly KeyedNode[] {
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  return Object.entries(ids.nodes).flatMap(([key, id]) => {
    const name = names.get(id);
    return name === undefined ? [] : [{ key, name }];
  });
}

/** Throws node_not_found for the first key that neither the rows nor the intent have. */
export function refuseUnknown(
  chosen: ReadonlySet<string>,
  rows: readonly { readonly unique_key?: string; readonly name: string }[],
  { path, intent }: Target,
): void {
  const known = new Set([...rows.map(({ unique_key }) => unique_key), ...(intent?.lab.nodes ?? []).map(({ key }) => key)]);
  const nodes = rows.flatMap(({ unique_key: key, name }) => (key === undefined ? [] : [{ key, name }]));
  for (const key of chosen) if (!known.has(key)) throw nodeNotFound(path, key, nodes);
}

/** Returns the failure for a key that no node of the lab has. If it is the name of a node on the host, the failure contains that node's key. */
export function nodeNotFound(path: string, key: string, nodes: readonly KeyedNode[]): Failure {
  const text = `${path} has no node ${key}`;
  const same = keysOfName(key, nodes);
  const [only] = same;
  if (only === undefined) {
    const keys = nodes.map((node) => node.key);
    const meant = didYouMean(key, keys, { left: 1_000_000 });
    return new Failure("node_not_found", meant === undefined ? text : `${text}; ${meant}`);
  }
  const hint = same.length === 1 ? `use --node ${shellWord(only)}` : `use --node with one of ${same.join(", ")}`;
  return new Failure("node_not_found", `${text}: ${key} is the name of ${same.join(" and ")} on the host`, { data: { hint } });
}

/** Returns the keys of the nodes that have this name on the host and another key. */
export function keysOfName(name: string, nodes: readonly KeyedNode[]): readonly string[] {
  return nodes.flatMap((node) => (node.name === name && node.key !== name ? [node.key] : [])).sort(compareNatural);
}

/** Returns the rows of these nodes, and of links that end at one of them. */
export function liveOf(live: LiveData, chosen: ReadonlySet<string>): LiveData {
  if (live.nodes === undefined) return live;
  const nodes = live.nodes.filter(({ unique_key }) => unique_key !== undefined && chosen.has(unique_key));
  return {
    available: live.available,
    joined: nodes.every(({ node }) => node !== null),
    nodes,
    netem: (live.netem ?? []).filter(({ endpoints }) => endsAt(endpoints, chosen)),
  };
}

/** Returns these nodes, the links that end at one of them, and the networks of these links. */
export function inspectionOf(data: InspectionData, chosen: ReadonlySet<string>): InspectionData {
  const links = (data.links ?? []).filter(({ endpoints }) => endsAt(endpoints, chosen));
  const ends = new Set(links.flatMap(({ endpoints }) => endpoints));
  return {
    ...data,
    nodes: (data.nodes ?? []).filter(({ unique_key }) => unique_key !== undefined && chosen.has(unique_key)),
    networks: (data.networks ?? []).filter(({ unique_key }) => unique_key !== undefined && ends.has(unique_key)),
    links,
  };
}

/** Endpoints are "node:interface", or the key of a network. */
function endsAt(endpoints: readonly string[], chosen: ReadonlySet<string>): boolean {
  return endpoints.some((end) => {
    const colon = end.indexOf(":");
    return colon > 0 && chosen.has(end.slice(0, colon));
  });
}
