import type { Step } from "../../../engine/model/plan.ts";
import type { LabText, Position } from "../../../intent/lab/lab.ts";
import type { NativeIds } from "../../host.ts";
import { editText, readText, textKey, writeText } from "../lab-file/texts.ts";
import type { UnlLab, UnlTextObject } from "../lab-file/unl.ts";
import type { TakenIds } from "../labs/other-labs.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import type { InterfaceLists } from "../templates/interface-list.ts";
import { deleteLink, putLink } from "./edit-link.ts";
import { deleteNetwork, putNetwork } from "./edit-network.ts";
import { deleteNode, putNode, updateNode } from "./edit-node.ts";
import { LabDraft } from "./lab-draft.ts";

export interface LabEdit {
  /** Applies the step to the lab, or throws host_error without a change. A repeated step changes nothing. */
  step(step: Step): void;
  readonly lab: UnlLab;
  readonly ids: NativeIds;
  /** Returns the node of the key. */
  nodeId(key: string): number | undefined;
}

/**
 * Applies steps to a lab file. Pure: the caller writes the result. @param coming positions that these steps set: objects without a position are not
 * placed there
 */
export function editLab(
  before: UnlLab,
  given: NativeIds,
  about: {
    readonly catalogue: EveCatalogue;
    readonly lists: InterfaceLists;
    readonly taken: TakenIds;
    readonly newUuid: () => string;
    readonly coming?: readonly Position[];
  },
): LabEdit {
  const draft = new LabDraft(before, given, about);
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
  draft.lab = { ...draft.lab, textObjects: editedTexts(draft.lab.textObjects, step.texts) };
}

/** Returns the drawings with these texts. A moved or changed text keeps its object, and so its look. */
function editedTexts(objects: readonly UnlTextObject[], texts: readonly LabText[]): readonly UnlTextObject[] {
  const free = new Map(objects.flatMap((object) => (readText(object) === undefined ? [] : [[object, readText(object)] as const])));
  const made = new Map<UnlTextObject, UnlTextObject>();
  let wanted = texts;
  const pair = (fits: (now: LabText | undefined, text: LabText) => boolean) => {
    wanted = wanted.filter((text) => {
      const found = [...free].find(([, now]) => fits(now, text))?.[0];
      if (found === undefined) return true;
      made.set(found, textKey(readText(found) ?? text) === textKey(text) ? found : editText(found, text));
      free.delete(found);
      return false;
    });
  };
  pair((now, text) => now !== undefined && textKey(now) === textKey(text));
  pair((now, { text }) => now?.text === text);
  pair((now, { x, y }) => now?.x === x && now.y === y);
  if (free.size === 1 && wanted.length === 1) pair(() => true);
  const kept = objects.flatMap((object) => (free.has(object) ? [] : (made.get(object) ?? object)));
  let id = Math.max(0, ...objects.map((object) => object.id ?? 0));
  return [...kept, ...wanted.map((text) => writeText(++id, text))];
}
