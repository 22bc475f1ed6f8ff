import { Failure } from "../../../contract/errors.ts";
import type { NodeRunOptions, NodeRunResult } from "../../host.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";

interface RunningLab {
  readonly sandbox: Pick<Sandbox, "exec"> | null;
  life(definition: LabDefinition, offered: Catalogue): Promise<ReadonlyMap<number, { readonly power: string }>>;
  /** Throws if the lab's processes belong to another service. */
  refuseForeign(): Promise<void>;
}

/** Runs a program inside a running node that is processes of this machine: not in a virtual machine or a switch. */
export async function runInNode(
  live: RunningLab,
  definition: LabDefinition,
  offered: Catalogue,
  run: { readonly nodeId: string; readonly argv: readonly string[]; readonly options: NodeRunOptions },
): Promise<NodeRunResult> {
  const node = definition.nodes.find(({ id }) => String(id) === run.nodeId);
  if (node === undefined) throw new Failure("node_not_found", `the lab has no node with id ${run.nodeId}`);
  const backend = offered.template(node.template)?.backend;
  if (backend !== "namespace" && backend !== "container") {
    const why = backend === "vm" ? "is a virtual machine" : "has no processes";
    throw new Failure("unsupported", `${node.name} ${why}: programs cannot be run in it from outside`, { data: { feature: "nodeExec" } });
  }
  const life = (await live.life(definition, offered)).get(node.id);
  await live.refuseForeign();
  const { sandbox } = live;
  if (sandbox === null || life?.power !== "running") {
    throw new Failure("node_not_running", `${node.name} is ${life?.power ?? "stopped"}`);
  }
  return sandbox.exec(node.id, run.argv, run.options);
}
