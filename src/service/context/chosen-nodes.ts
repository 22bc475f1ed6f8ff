import { Failure } from "../../contract/errors.ts";
import type { InspectionData, LiveData } from "../../contract/schemas/observe.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import type { Target } from "./target.ts";

/** Returns the keys of the nodes that a call names, `undefined` if it applies to all nodes. An empty list means no node. */
export function chosenNodes({ node, nodes }: Pick<ProjectPayload, "node" | "nodes">): ReadonlySet<string> | undefined {
  const single = node === undefined || node === "" ? [] : [node];
  if (nodes === undefined && single.length === 0) return undefined;
  return new Set([...single, ...(nodes ?? [])]);
}

/** Throws node_not_found for the first name that neither the rows nor the intent have. Rows without a key cannot be named. */
export function refuseUnknown(
  chosen: ReadonlySet<string>,
  rows: readonly { readonly node: string | null }[],
  { path, intent }: Target,
): void {
  const known = new Set([...rows.map(({ node }) => node), ...(intent?.lab.nodes ?? []).map(({ key }) => key)]);
  for (const name of chosen) {
    if (!known.has(name)) throw new Failure("node_not_found", `${path} has no node ${name}`);
  }
}

/** Returns the rows of these nodes, and of links that end at one of them. */
export function liveOf(live: LiveData, chosen: ReadonlySet<string>): LiveData {
  if (live.nodes === undefined) return live;
  return {
    available: live.available,
    joined: true,
    nodes: live.nodes.filter(({ node }) => node !== null && chosen.has(node)),
    netem: (live.netem ?? []).filter(({ endpoints }) => endsAt(endpoints, chosen)),
  };
}

/** Returns these nodes, the links that end at one of them, and the networks of these links. */
export function inspectionOf(data: InspectionData, chosen: ReadonlySet<string>): InspectionData {
  const links = (data.links ?? []).filter(({ endpoints }) => endsAt(endpoints, chosen));
  const ends = new Set(links.flatMap(({ endpoints }) => endpoints));
  return {
    ...data,
    nodes: (data.nodes ?? []).filter(({ node }) => node !== null && chosen.has(node)),
    networks: (data.networks ?? []).filter(({ key, name }) => ends.has(key ?? name)),
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
