import type { SwitchState } from "../../host-switches.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import { switchStates } from "../switching/switch-states.ts";
import type { LocalState } from "./local-state.ts";

/** Returns the states of a lab's running VLAN-aware switches, by node id. */
export function localSwitches(
  state: LocalState,
  lab: (path: string) => Promise<LabDefinition>,
): (path: string) => Promise<ReadonlyMap<string, SwitchState>> {
  return async (path) => {
    const definition = await lab(path);
    const offered = await state.catalogue();
    const live = state.lab(definition.id);
    // The first use after a start of the service adopts the lab.
    const life = await live.life(definition, offered);
    await live.refuseForeign();
    const isUp = definition.nodes.some((node) => node.switching !== undefined && life.get(node.id)?.power === "running");
    if (live.sandbox === null || !isUp) return new Map();
    const states = await switchStates(live.sandbox, definition, offered.template);
    return new Map([...states].map(([id, one]) => [String(id), one]));
  };
}
