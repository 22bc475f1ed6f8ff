import type { Arguments } from "../command/arguments.ts";

/** The nodes that --node names, as a payload has them: one in `node`, more in `nodes`; nothing for all. */
export function namedNodes(args: Arguments): { readonly node?: string; readonly nodes?: string[] } {
  return payloadNodes(args.list("node"));
}

/** The same of any list of nodes; nothing for none, which means all. */
export function payloadNodes(nodes: readonly string[]): { readonly node?: string; readonly nodes?: string[] } {
  const [only] = nodes;
  if (only === undefined) return {};
  return nodes.length === 1 ? { node: only } : { nodes: [...nodes] };
}
