import { useState } from "preact/hooks";
import { hostNames, isOnHost, textIndexes } from "../../drawing/gestures.ts";
import { type Graph, newPartId } from "../../topology/graph/graph.ts";
import type { Selection } from "../actions/use-selection.ts";
import type { DrawActions, Renamed } from "./draw-actions.ts";
import type { GraphEditor } from "./use-graph-edits.ts";

/** The question for the new name of a part, or for the new content of a text. */
export function useRenaming(
  graph: Graph,
  { attempt }: GraphEditor,
  selection: Selection,
): Pick<DrawActions, "renaming" | "beginRename" | "rename"> {
  const [id, setId] = useState<string>();
  const part: Renamed | undefined = [...graph.nodes, ...graph.texts].find((one) => one.id === id);
  return {
    // A part that only the host has is not in the text.
    renaming: part !== undefined && "key" in part && part.key === null ? undefined : part,
    beginRename: setId,
    rename: async (renamed, name) => {
      const refused = await attempt(({ graph: shown }) => {
        if ("text" in renamed)
          return [...textIndexes(shown, new Set([renamed.id]))].map((index) => ({ kind: "set-text", index, text: name }));
        const { key } = shown.nodes.find((one) => one.id === renamed.id) ?? renamed;
        return [{ kind: "rename", key: key!, to: name, keepsKey: isOnHost(renamed), taken: hostNames(shown, renamed.id) }];
      });
      if (refused !== undefined) return refused;
      setId(undefined);
      // The id of a part that the host does not have yet contains its key.
      if ("kind" in renamed && !isOnHost(renamed) && selection.selected.has(renamed.id)) {
        selection.selectAll([...selection.selected].map((one) => (one === renamed.id ? newPartId(renamed.kind, name) : one)));
      }
      return undefined;
    },
  };
}
