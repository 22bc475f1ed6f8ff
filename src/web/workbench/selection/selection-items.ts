import { nodeKey } from "../../../base/node-key.ts";
import type { InspectedLink, InspectedNode } from "../../../contract/schemas/observe.ts";
import { hasConsole } from "../../consoles/has-console.ts";
import type { MenuItem } from "../../menu/menu.tsx";
import type { LinkActions } from "../actions/use-link-actions.ts";
import type { NodesPower } from "../actions/use-nodes-power.ts";
import type { DrawActions } from "../edits/draw-actions.ts";

export interface SelectionInput {
  readonly selected: ReadonlySet<string>;
  /** The selected nodes of the host. */
  readonly nodes: readonly InspectedNode[];
  /** The selected links of the host, or if none is selected, the links between the selected nodes. */
  readonly links: readonly InspectedLink[];
  /** undefined: the user may not edit the lab. */
  readonly actions: DrawActions | undefined;
  /** undefined: the user may not operate the lab. */
  readonly power: NodesPower | undefined;
  readonly linkActions: LinkActions;
  /** @param ids the host's ids of nodes with a console */
  readonly onConsoles: (ids: readonly string[]) => void;
  /** undefined: the nodes have no shells for this user. */
  readonly onShells: ((ids: readonly string[]) => void) | undefined;
  /** Asks, and then wipes nodes. @param nodes unique keys */
  readonly onWipe: (nodes: readonly string[]) => void;
  /** Asks for the quality of links. */
  readonly onImpair: (links: readonly InspectedLink[]) => void;
  /** Whether the host can save configurations. */
  readonly maySave: boolean;
}

/** Returns the actions of several selected parts, for their bar and their context menu. */
export function selectionItems(input: SelectionInput): readonly MenuItem[] {
  return [...nodeItems(input), ...linkItems(input), ...drawingItems(input)];
}

/** The links that the actions of a selection apply to. */
export function linksOfSelection(
  selected: ReadonlySet<string>,
  nodes: readonly InspectedNode[],
  links: readonly InspectedLink[],
): readonly InspectedLink[] {
  const chosen = links.filter(({ id }) => selected.has(`link:${id}`));
  if (chosen.length > 0) return chosen;
  const keys = new Set(nodes.flatMap((node) => (selected.has(node.id) ? [nodeKey(node)] : [])));
  return links.filter(({ endpoints }) => endpoints.every((end) => keys.has(end.split(":")[0] ?? "")));
}

function nodeItems({ nodes, power, onConsoles, onShells, onWipe, maySave }: SelectionInput): readonly MenuItem[] {
  if (power === undefined || nodes.length === 0) return [];
  const keys = nodes.map(nodeKey);
  const consoles = nodes.filter(hasConsole).map(({ id }) => id);
  return [
    ...(consoles.length === 0 ? [] : [{ label: "Consoles", run: () => onConsoles(consoles) }]),
    ...(consoles.length === 0 || onShells === undefined ? [] : [{ label: "Shells", run: () => onShells(consoles) }]),
    { label: "Start", run: () => power.run("start", keys) },
    { label: "Stop", run: () => power.run("stop", keys) },
    { label: "Restart", run: () => power.run("restart", keys) },
    { label: "Wipe…", isDangerous: true, run: () => onWipe(keys) },
    ...(maySave ? [{ label: "Save configurations", run: () => power.run("save", keys) }] : []),
  ];
}

function linkItems({ links, power, linkActions: { captureAll, suspendAll }, onImpair }: SelectionInput): readonly MenuItem[] {
  if (power === undefined || links.length === 0) return [];
  const count = links.length === 1 ? "link" : `${links.length} links`;
  const isSuspended = links.every(({ suspended }) => suspended);
  return [
    ...(captureAll === undefined ? [] : [{ label: `Capture ${count}`, run: () => captureAll(links) }]),
    { label: `Impair ${count}…`, run: () => onImpair(links) },
    { label: `${isSuspended ? "Resume" : "Suspend"} ${count}`, run: () => suspendAll(links, !isSuspended) },
  ];
}

function drawingItems({ selected, actions }: SelectionInput): readonly MenuItem[] {
  if (actions === undefined) return [];
  const parts = [...selected].filter((id) => !id.startsWith("link:")).length;
  const place = (minimum: number, items: readonly MenuItem[]) => (parts >= minimum ? items : []);
  return [
    ...place(2, [
      { label: "Align in a row", keys: "Shift+H", run: () => actions.align("y") },
      { label: "Align in a column", keys: "Shift+V", run: () => actions.align("x") },
    ]),
    ...place(3, [
      { label: "Distribute across", keys: "Shift+A", run: () => actions.distribute("x") },
      { label: "Distribute down", keys: "Shift+D", run: () => actions.distribute("y") },
    ]),
    ...place(1, [
      { label: "Copy", keys: "Ctrl+C", run: () => actions.copy(selected) },
      { label: "Duplicate", keys: "Ctrl+D", run: () => actions.duplicate(selected) },
    ]),
    { label: "Delete", keys: "Del", isDangerous: true, run: () => actions.remove(selected) },
  ];
}
