import { Failure } from "../../../contract/errors.ts";
import type { DefinedNode } from "../definitions/definition.ts";

/** Adds the native id of the node that caused the failure, as data.host.node_id: many nodes start in one batch. */
export function nodeTrouble({ id }: Pick<DefinedNode, "id">, failure: Failure): Failure {
  const { code, message, data, cause } = failure;
  const given = typeof data?.host === "object" ? data.host : {};
  const host = { message, ...given, node_id: String(id) };
  return new Failure(code, message, { data: { ...data, host }, cause });
}

/** Runs the work for one node. Its Failures contain the node's id. */
export function naming<T>(node: Pick<DefinedNode, "id">, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Failure ? nodeTrouble(node, error) : error;
  }
}

/** Returns the native id of the node in a failure, `undefined` if there is none. */
export function troubledNode(error: unknown): number | undefined {
  const host = error instanceof Failure ? error.data?.host : undefined;
  return typeof host === "object" && host.node_id !== undefined ? Number(host.node_id) : undefined;
}
