import { Failure } from "../../../contract/errors.ts";
import type { HostProcesses, NodeProgram } from "../../host-processes.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { switchBridge } from "../links/fabric.ts";
import { switchingNode } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { vmOf } from "../templates/vm-template.ts";
import { startInGuest } from "../vm/guest-process.ts";
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
      const isVlanAware = offered.template(node.template)?.backend === "bridge";
      const live = state.lab(definition.id);
      const power = async () => (await live.life(definition, offered)).get(node.id)?.power;
      // The first use after a start of the service adopts the lab.
      if (live.sandbox === null) await power();
      await live.refuseForeign();
      if (live.sandbox === null) throw notRunning(node.name, await power());
      try {
        if (isVlanAware && (await power()) !== "running") throw notRunning(node.name, await power());
        if (isVlanAware) return await live.sandbox.process(switchingNode, besideSwitch(node.id, program), signal);
        if (!hasGuestAgent(offered, node)) return await live.sandbox.process(node.id, program, signal);
        return await startInGuest(live.guestAgents.of(live.sandbox, node.id), node.name, program, signal);
      } catch (error) {
        const gone = error instanceof Failure && (error.code === "node_not_running" || error.code === "node_not_found");
        throw gone ? notRunning(node.name, await power()) : error;
      }
    },
  };
}

/** Programs of a VLAN-aware switch run beside Open vSwitch, which all switches of the lab share. */
function besideSwitch(node: number, program: NodeProgram): NodeProgram {
  return { ...program, env: { LABWRIGHT_SWITCH: switchBridge(node), ...program.env } };
}

function refuseWithoutPrograms(offered: Catalogue, node: DefinedNode): void {
  const backend = offered.template(node.template)?.backend;
  if (backend === "bridge" && node.switching !== undefined) return;
  const silent = backend === "vm" && !hasGuestAgent(offered, node);
  const reason = silent
    ? "this virtual machine has only its console"
    : backend === "bridge"
      ? "a switch without VLANs has no programs"
      : undefined;
  if (reason !== undefined) throw new Failure("unsupported", `${node.name} runs no program: ${reason}`, { data: { feature: "nodeExec" } });
}

/** Returns whether the node is a virtual machine with a channel for a guest agent. */
function hasGuestAgent(offered: Catalogue, node: DefinedNode): boolean {
  const template = offered.template(node.template);
  return template?.backend === "vm" && vmOf(template, node)["guest-agent"] === "on";
}
