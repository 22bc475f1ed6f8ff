import { probeControlGroups } from "./control-groups.ts";
import type { MachineMeans } from "./lab-resources.ts";
import { capacityRules, machineMemory } from "./machine-capacity.ts";

/** Probes the resources of this machine and the settings of its administrator. Throws Error for an invalid variable. */
export async function probeMachine(): Promise<MachineMeans> {
  const groups = await probeControlGroups();
  return { groups, rules: capacityRules(process.env, machineMemory(groups).total) };
}

/** Warnings for the administrator about limits that this machine cannot enforce. */
export function limitProblems({ groups: { why } }: MachineMeans): readonly string[] {
  if (process.env["LABWRIGHT_CGROUP"] === "none") return [];
  const words = { cpu: "CPU", memory: "memory", pids: "processes" } as const;
  return (["cpu", "memory", "pids"] as const).flatMap((name) =>
    why[name] === undefined ? [] : [`nodes have no limit of ${words[name]} on this machine: ${why[name]}`],
  );
}
