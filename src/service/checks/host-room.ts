import type { Operation } from "../../engine/model/plan.ts";
import type { HostSession } from "../../hosts/host.ts";
import { byPlace, type Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { WorkPart } from "../context/parts.ts";
import type { Intent } from "../work/intents.ts";

/** Returns a warning if the host's other labs leave no room for the new nodes to run beside them. @param count of the new nodes */
export async function newNodeProblems(
  { work }: WorkPart,
  { checkNewNodes }: Pick<HostSession, "checkNewNodes">,
  { yaml, files }: Pick<Intent, "yaml" | "files">,
  path: string,
  count: number,
): Promise<readonly Diagnostic[]> {
  const message = count === 0 ? undefined : await checkNewNodes?.(path, count);
  if (message === undefined) return [];
  const places = await work.fieldPlaces(yaml, files, [{ kind: "lab", key: path, field: "name" }]);
  return places.map((place) => ({ severity: "warning", code: "few_numbers", message, ...place }));
}

export function countNewNodes(operations: readonly Operation[]): number {
  return operations.filter(({ step }) => step.do === "create-node").length;
}

/** Problems of a lab that are reported at most. */
const maxProblems = 200;

/**
 * Returns a warning for each declared port that the host would refuse now.
 * @param nodes keys of the nodes to check; absent: all
 */
export async function portProblems(
  { work }: WorkPart,
  { checkPorts }: Pick<HostSession, "checkPorts">,
  { lab, yaml, files }: Pick<Intent, "lab" | "yaml" | "files">,
  path: string,
  nodes?: ReadonlySet<string>,
): Promise<readonly Diagnostic[]> {
  const publishing = lab.nodes.flatMap(({ key, name, ports = [] }) =>
    ports.length > 0 && nodes?.has(key) !== false ? [{ key, name, ports }] : [],
  );
  if (checkPorts === undefined || publishing.length === 0) return [];
  const some = (await checkPorts(path, publishing)).slice(0, maxProblems);
  if (some.length === 0) return [];
  const places = await work.fieldPlaces(
    yaml,
    files,
    some.map(({ key }) => ({ kind: "node", key, field: "ports" })),
  );
  return some
    .map(({ problem, hint }, i): Diagnostic => ({ severity: "warning", code: "port_unavailable", message: problem, hint, ...places[i]! }))
    .sort(byPlace);
}

/**
 * Returns a warning for each path of the machine that the host would not give its node now.
 * @param nodes keys of the nodes to check; absent: all
 */
export async function bindProblems(
  { work }: WorkPart,
  { checkBinds }: Pick<HostSession, "checkBinds">,
  { lab, yaml, files }: Pick<Intent, "lab" | "yaml" | "files">,
  path: string,
  nodes?: ReadonlySet<string>,
): Promise<readonly Diagnostic[]> {
  const bound = lab.nodes.flatMap(({ key, name, binds = [] }) =>
    binds.length > 0 && nodes?.has(key) !== false ? [{ key, name, binds }] : [],
  );
  if (checkBinds === undefined || bound.length === 0) return [];
  const some = (await checkBinds(path, bound)).slice(0, maxProblems);
  if (some.length === 0) return [];
  const places = await work.fieldPlaces(
    yaml,
    files,
    some.map(({ key }) => ({ kind: "node", key, field: "binds" })),
  );
  return some
    .map(({ problem }, i): Diagnostic => ({ severity: "warning", code: "bind_unavailable", message: problem, ...places[i]! }))
    .sort(byPlace);
}

/** Returns the keys of the nodes that the steps create, change or start. */
export function startingNodes(operations: readonly Operation[]): ReadonlySet<string> {
  return new Set(
    operations.flatMap(({ step }) =>
      step.do === "create-node" || step.do === "update-node" ? [step.node.key] : step.do === "start" ? [step.node] : [],
    ),
  );
}
