import { Failure } from "../../../contract/errors.ts";

/** Maximum number of node names in a message. Of more nodes it contains only the number. */
const maxNames = 5;

/** "a, b and 3 more". */
export function someNames(names: readonly string[]): string {
  const shown = names.slice(0, maxNames);
  const more = names.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/**
 * Returns the failure of a power change in which some nodes failed: the message of the first, and all with their native ids in data.nodes. @param
 * failures not empty, by id
 */
export function nodesFailed(failures: ReadonlyMap<number, Failure>, nameOf: (id: number) => string): Failure {
  const sorted = [...failures].sort(([a], [b]) => a - b);
  const [[, first] = [0, new Failure("host_error", "a node failed")], ...others] = sorted;
  const more = others.length === 0 ? "" : `; ${someNames(others.map(([other]) => nameOf(other)))} failed, too`;
  const nodes = sorted.map(([node, { message }]) => ({ id: node, message }));
  return new Failure(first.code, first.message + more, { data: { ...first.data, nodes }, cause: first });
}

/** Returns the reasons in such a failure, by native id of the node. */
export function failedNodes(error: unknown): ReadonlyMap<number, string> {
  const nodes = error instanceof Failure ? (error.data?.nodes ?? []) : [];
  return new Map(nodes.flatMap((node) => (typeof node === "string" ? [] : [[node.id, node.message]])));
}
