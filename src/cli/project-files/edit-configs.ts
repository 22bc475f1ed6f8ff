import { Failure } from "../../contract/errors.ts";
import { editIntent } from "../../intent/edit/edit.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import type { IntentText } from "../../intent/write/print.ts";
import type { ProjectFile } from "../command/project.ts";

export interface EditedConfigs {
  readonly intent: IntentText;
  /** Node → why its configuration cannot be written into the lab's files. */
  readonly refused: ReadonlyMap<string, string>;
}

/**
 * Gives nodes of the lab these startup configurations. A node whose configuration the text makes, for example from a template for many nodes, is refused
 * by itself: the others are written.
 */
export function editConfigs(file: ProjectFile, lab: Lab, texts: ReadonlyMap<string, string>): EditedConfigs {
  const changed = lab.nodes.filter(({ key, startupConfig = "" }) => texts.has(key) && texts.get(key) !== startupConfig);
  const refused = new Map<string, string>();
  const edited = (keys: readonly string[]) => editIntent(file.yaml, file.files, withConfigs(lab, texts, new Set(keys)));
  /** Returns those of the nodes that can be written together. Halves find few refused nodes among many in few edits. */
  const possible = (keys: readonly string[]): readonly string[] => {
    try {
      edited(keys);
      return keys;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (keys.length === 1) refused.set(keys[0]!, error.message);
      const middle = keys.length >> 1;
      return keys.length <= 1 ? [] : [...possible(keys.slice(0, middle)), ...possible(keys.slice(middle))];
    }
  };
  const keys = possible(changed.map(({ key }) => key));
  return { intent: edited(keys), refused };
}

function isRefusal(error: unknown): error is Failure {
  return error instanceof Failure && error.code === "invalid_intent";
}

function withConfigs(lab: Lab, texts: ReadonlyMap<string, string>, keys: ReadonlySet<string>): Lab {
  const nodes = lab.nodes.map((node) => (keys.has(node.key) ? { ...node, startupConfig: texts.get(node.key)! } : node));
  return { ...lab, nodes };
}
