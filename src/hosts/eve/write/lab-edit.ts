import { interfaceNaming } from "../../../engine/model/interface-names.ts";
import type { Step } from "../../../engine/model/plan.ts";
import type { LabLink } from "../../../intent/lab/lab.ts";
import type { NativeIds } from "../../host.ts";
import { readText, textKey, writeText } from "../lab-file/texts.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import type { TakenIds } from "../labs/other-labs.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import type { InterfaceLists } from "../templates/interface-list.ts";
import { deleteLink, putLink } from "./edit-link.ts";
import { deleteNetwork, putNetwork } from "./edit-network.ts";
import { deleteNode, putNode, updateNode } from "./edit-node.ts";
import { LabDraft } from "./lab-draft.ts";

export interface LabEdit {
  /** Changes the lab as the step says, or throws host_error and leaves it as it was. Running a step again changes nothing. */
  step(step: Step): void;
  readonly lab: UnlLab;
  readonly ids: NativeIds;
  /** The node that the key stands for. */
  nodeId(key: string): number | undefined;
}

/**
 * Plays steps on a lab file. Pure: what becomes of it is the caller's.
 * @param coming links that these steps will make: nodes of IOL are made with room for them
 */
export function editLab(
  before: UnlLab,
  given: NativeIds,
  about: {
    readonly catalogue: EveCatalogue;
    readonly lists: InterfaceLists;
    readonly taken: TakenIds;
    readonly newUuid: () => string;
    readonly coming: readonly LabLink[];
  },
): LabEdit {
  const draft = new LabDraft(before, given, about);
  for (const { endpoints } of about.coming) {
    for (const end of endpoints) {
      if (!("node" in end)) continue;
      const index = interfaceNaming("e{0}/{0-4}").index(end.interface);
      if (index !== undefined) draft.groups.set(end.node, Math.max(draft.groups.get(end.node) ?? 0, Math.floor(index / 4) + 1));
    }
  }
  return {
    step: (step) => {
      const saved = draft.lab;
      try {
        play(draft, step);
      } catch (error) {
        draft.lab = saved;
        throw error;
      }
    },
    get lab() {
      return draft.lab;
    },
    get ids() {
      return draft.nativeIds();
    },
    nodeId: (key) => draft.goingNode(key)?.id,
  };
}

function play(draft: LabDraft, step: Step): void {
  switch (step.do) {
    case "create-lab":
      updateLab(draft, { do: "update-lab", description: step.lab.description ?? "", texts: step.lab.texts });
      return;
    case "update-lab":
      updateLab(draft, step);
      return;
    case "create-network":
    case "update-network":
      putNetwork(draft, step.network);
      return;
    case "delete-network":
      deleteNetwork(draft, step.network);
      return;
    case "create-node":
      putNode(draft, step.node);
      return;
    case "update-node":
      updateNode(draft, step.node, step.fields);
      return;
    case "delete-node":
      deleteNode(draft, step.node);
      return;
    case "create-link":
    case "update-link":
      putLink(draft, step.link);
      return;
    case "delete-link":
      deleteLink(draft, step.link);
      return;
    default:
      throw new Error(`${step.do} does not change the lab's file`);
  }
}

function updateLab(draft: LabDraft, step: Step & { do: "update-lab" }): void {
  if (step.description !== undefined) draft.lab = { ...draft.lab, description: step.description };
  if (step.texts === undefined) return;
  const wanted = step.texts.map((text) => ({ text, key: textKey(text) }));
  const kept = draft.lab.textObjects.filter((object) => {
    const text = readText(object);
    if (text === undefined) return true;
    const found = wanted.findIndex(({ key }) => key === textKey(text));
    if (found < 0) return false;
    wanted.splice(found, 1);
    return true;
  });
  let id = Math.max(0, ...draft.lab.textObjects.map((object) => object.id ?? 0));
  draft.lab = { ...draft.lab, textObjects: [...kept, ...wanted.map(({ text }) => writeText(++id, text))] };
}
