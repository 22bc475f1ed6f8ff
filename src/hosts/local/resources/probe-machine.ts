import { probeControlGroups } from "./control-groups.ts";
import type { MachineMeans } from "./lab-resources.ts";
import { capacityRules, machineMemory } from "./machine-capacity.ts";

/** What this machine gives, and what its administrator allows. Throws Error where a variable makes no sense. */
export async function probeMachine(): Promise<MachineMeans> {
  const groups = await probeControlGroups();
  return { groups, rules: capacityRules(process.env, machineMemory(groups).total) };
}
