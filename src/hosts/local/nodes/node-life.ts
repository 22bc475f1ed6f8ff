import type { Power } from "../../../engine/model/observed.ts";
import type { DefinedNode } from "../definitions/definition.ts";
import type { LiveNodes, NodePlace } from "../links/fabric.ts";
import { type NodeState, switchingNode } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { hasSavedState } from "../vm/suspend.ts";

/** The running processes of a node, as the lab's holder reports them. */
export interface NodeLife {
  readonly power: Power;
  readonly startedAt?: number;
  readonly exitCode?: number;
  /** The node did not end in time at its last stop, and was switched off. */
  readonly forced?: true;
  /** The node should run, but its lab ended: failed if the lab was killed, stopped if the machine was shut down. */
  readonly lost?: "host_restart" | "lab_killed";
}

/** The data of a lab that determine the states of its nodes. */
export interface LifeOfLab {
  /** `<state>/labs/<id>`. */
  readonly directory: string;
  /** The current boot of the machine (boot-epoch.ts). */
  readonly bootId: string;
  /** Its sandbox is there. */
  readonly stands: boolean;
}

/** Returns the state of a node from its definition and its holder's report. */
export function nodeLife(lab: LifeOfLab, node: DefinedNode, state: NodeState | undefined, backend: Backend): NodeLife {
  if (node.power === "suspended" && !((state?.pid ?? 0) > 0)) return hibernatedLife(lab, node, state, backend);
  const before = node.bootId !== lab.bootId;
  if (state !== undefined && (state.pid > 0 || node.power === "running")) {
    const power = state.state === "waiting" || state.state === "booting" ? "starting" : state.state;
    return {
      power,
      startedAt: state.startedAt,
      ...((power === "failed" || power === "stopped") && state.exitCode !== undefined ? { exitCode: state.exitCode } : {}),
      // A node without a process that should run could not be restarted after the reboot.
      ...(before && state.pid === 0 ? { lost: "host_restart" as const } : {}),
    };
  }
  if (node.power === "stopped") return { power: "stopped", ...(node.forced === true && { forced: true }) };
  // A switch runs if its sandbox does. Any other node should run and does not: lost, or not restored after a reboot.
  if (backend === "bridge" && lab.stands) return { power: "running" };
  return before ? { power: "stopped", lost: "host_restart" } : { power: "failed", lost: "lab_killed" };
}

/**
 * Returns the state of a VLAN-aware switch.
 * @param daemons the place of Open vSwitch, which all of them share
 */
export function switchLife(lab: LifeOfLab, node: DefinedNode, daemons: NodeState | undefined): NodeLife {
  const runs = daemons !== undefined && daemons.pid > 0;
  if (node.power !== "running" || !lab.stands || !runs) {
    const life = nodeLife(lab, node, undefined, "bridge");
    // The daemons of a lab that runs have ended: its switches pass no frames.
    return life.power === "running"
      ? { power: "failed", ...(daemons?.exitCode === undefined ? {} : { exitCode: daemons.exitCode }) }
      : life;
  }
  if (daemons.state === "suspended") return { power: "suspended", startedAt: daemons.startedAt };
  const isBooting = daemons.state === "waiting" || daemons.state === "booting";
  return { power: isBooting ? "starting" : "running", startedAt: daemons.startedAt };
}

/** Returns the state of a hibernated node without a process. The state of a VM is saved on its disk; any other node has lost its memory. */
function hibernatedLife(lab: LifeOfLab, node: DefinedNode, state: NodeState | undefined, backend: Backend): NodeLife {
  if (backend === "bridge") return { power: lab.stands ? "suspended" : "stopped" };
  if (backend === "vm") return { power: hasSavedState(lab.directory, node.id) ? "suspended" : "stopped" };
  return state?.state === "failed"
    ? { power: "failed", ...(state.exitCode === undefined ? {} : { exitCode: state.exitCode }) }
    : { power: "stopped" };
}

export type Backend = LocalTemplate["backend"] | undefined;

export function backendOf(node: DefinedNode, catalogue: Catalogue): Backend {
  return catalogue.template(node.template)?.backend;
}

/** Returns whether the node's processes are a hypervisor: a virtual machine, or a node with a kernel of its own. */
export function runsHypervisor(node: DefinedNode, catalogue: Catalogue): boolean {
  return node.kernel === "own" || backendOf(node, catalogue) === "vm";
}

export function isSwitch(node: DefinedNode, catalogue: Catalogue): boolean {
  return backendOf(node, catalogue) === "bridge";
}

/** Returns the live nodes: nodes with a process, and switches that should run and, if they know VLANs, whose Open vSwitch runs. */
export function liveNodes(nodes: readonly DefinedNode[], states: ReadonlyMap<number, NodeState>, catalogue: Catalogue): LiveNodes {
  const live = new Map<number, NodePlace>();
  const switches = states.get(switchingNode)?.pid ?? 0;
  for (const node of nodes) {
    const pid = states.get(node.id)?.pid ?? 0;
    if (pid > 0) live.set(node.id, pid);
    else if (!isSwitch(node, catalogue) || node.power !== "running") continue;
    else if (node.switching === undefined) live.set(node.id, "bridge");
    else if (switches > 0) live.set(node.id, { switches });
  }
  return live;
}
