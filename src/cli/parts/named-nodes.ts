import type { Arguments } from "../command/arguments.ts";

/** Returns the nodes of --node as request fields: one name in `node`, several in `nodes`, no field for all nodes. */
export function namedNodes(args: Arguments): { readonly node?: string; readonly nodes?: string[] } {
  return payloadNodes(args.list("node"));
}

/** Returns request fields for a list of nodes. An empty list means all nodes. */
export function payloadNodes(nodes: readonly string[]): { readonly node?: string; readonly nodes?: string[] } {
  const [only] = nodes;
  if (only === undefined) return {};
  return nodes.length === 1 ? { node: only } : { nodes: [...nodes] };
}
