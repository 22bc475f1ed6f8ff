import { randomUUID } from "node:crypto";
import type { Step } from "../../../engine/model/plan.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { ApplyContext } from "./context.ts";

export function newLab({ path, user, definitions }: ApplyContext, { lab }: Step & { do: "create-lab" }): LabDefinition {
  const kept = definitions.kept.find(path, user);
  return {
    version: 1,
    id: kept?.id ?? randomUUID(),
    path,
    name: lab.name,
    ...(lab.description === undefined ? {} : { description: lab.description }),
    ...(lab.management === undefined ? {} : { management: lab.management }),
    owner: user,
    locked: false,
    next: kept?.next ?? { node: 1, network: 1, link: 1 },
    nodes: [],
    networks: [],
    links: [],
    texts: lab.texts,
    trafficFilters: lab.trafficFilters,
    ...(kept === undefined ? {} : { disks: Object.fromEntries(kept.nodes.map((node) => [node.name, node.id])) }),
  };
}

export function renewedLab(definition: LabDefinition, { lab }: Step & { do: "create-lab" }): LabDefinition {
  const { description: _old, management: _network, ...rest } = definition;
  const management = lab.management === undefined ? {} : { management: lab.management };
  const description = lab.description === undefined ? {} : { description: lab.description };
  return { ...rest, name: lab.name, ...description, ...management, texts: lab.texts, trafficFilters: lab.trafficFilters };
}

export async function deleteLab({ path, definitions, lab, forget }: ApplyContext, definition: LabDefinition, wipe: boolean): Promise<void> {
  await lab(definition.id).destroy();
  await definitions.remove(path, { keepDisks: !wipe });
  forget(definition.id);
}
