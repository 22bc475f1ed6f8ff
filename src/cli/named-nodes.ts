import type { Arguments } from "./arguments.ts";

/** The nodes that --node names, as a payload has them: one in `node`, more in `nodes`; nothing for all. */
export function namedNodes(args: Arguments): { readonly node?: string; readonly nodes?: string[] } {
  const nodes = args.list("node");
  const [only] = nodes;
  if (only === undefined) return {};
  return nodes.length === 1 ? { node: only } : { nodes: [...nodes] };
}
