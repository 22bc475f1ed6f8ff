import { Failure } from "../../../contract/errors.ts";
import type { BindProblem, BindsToCheck } from "../../host.ts";
import type { BindPolicy } from "./bind-policy.ts";

/** The lab as it is on the host. Its binds stay allowed. */
interface BoundLab {
  readonly owner: string;
  readonly nodes: readonly { readonly name: string; readonly binds?: readonly string[] }[];
}

/**
 * Returns the paths of the machine that this user may not give a node, or that the node could not get now. Without any open directory there are none: the plan
 * names all binds as unsupported.
 * @param before absent: the lab does not exist yet
 */
export async function checkBinds(
  policy: BindPolicy,
  { name, role }: { readonly name: string; readonly role: string },
  before: BoundLab | undefined,
  nodes: readonly BindsToCheck[],
): Promise<readonly BindProblem[]> {
  if (!policy.isOpen) return [];
  const bound = new Set(before?.nodes.flatMap((node) => (node.binds ?? []).map((text) => `${node.name} ${text}`)));
  const problems: BindProblem[] = [];
  for (const { key, name: node, binds } of nodes) {
    for (const bind of binds) {
      const isNew = !bound.has(`${node} ${bind}`);
      const problem = isNew && role !== "admin" ? adminText(node, bind) : await refusal(policy.check(before?.owner ?? name, node, [bind]));
      if (problem !== undefined) problems.push({ key, bind, problem });
    }
  }
  return problems;
}

/** Returns the refusal of a new bind for a user without the role admin. */
export function adminText(node: string, bind: string): string {
  return `node ${node}: bind ${bind}: only an admin gives nodes paths of the machine`;
}

async function refusal(check: Promise<void>): Promise<string | undefined> {
  try {
    await check;
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}
