import { Failure } from "../../../contract/errors.ts";
import type { HostProcesses } from "../../host-processes.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { LocalState } from "./local-state.ts";
import { notRunning } from "./not-running.ts";

/** A user's rights in this host's labs. Each member throws for a user without the right. */
interface Rights {
  readonly lab: (path: string) => Promise<LabDefinition>;
  readonly mayChange: () => void;
}

/** Programs in nodes, for one user. */
export function localProcesses(state: LocalState, { lab, mayChange }: Rights): HostProcesses {
  return {
    start: async (path, nodeId, program, signal) => {
      mayChange();
      const definition = await lab(path);
      const node = definition.nodes.find(({ id }) => String(id) === nodeId);
      if (node === undefined) throw new Failure("node_not_found", `the lab has no node with id ${nodeId}`);
      const offered = await state.catalogue();
      refuseWithoutPrograms(offered, node);
      const live = state.lab(definition.id);
      const power = async () => (await live.life(definition, offered)).get(node.id)?.power;
      // The first use after a start of the service adopts the lab.
      if (live.sandbox === null) await power();
      await live.refuseForeign();
      if (live.sandbox === null) throw notRunning(node.name, await power());
      try {
        return await live.sandbox.process(node.id, program, signal);
      } catch (error) {
        const gone = error instanceof Failure && (error.code === "node_not_running" || error.code === "node_not_found");
        throw gone ? notRunning(node.name, await power()) : error;
      }
    },
  };
}

function refuseWithoutPrograms(offered: Catalogue, { name, template }: { readonly name: string; readonly template: string }): void {
  const backend = offered.template(template)?.backend;
  const reason =
    backend === "vm" ? "a virtual machine has only its console" : backend === "bridge" ? "a switch has no programs" : undefined;
  if (reason !== undefined) throw new Failure("unsupported", `${name} runs no program: ${reason}`, { data: { feature: "nodeExec" } });
}
