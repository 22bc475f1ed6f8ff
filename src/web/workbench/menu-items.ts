import { nodeKey } from "../../base/node-key.ts";
import type { InspectedLink, InspectedNode } from "../../contract/schemas/observe.ts";
import { hasConsole } from "../consoles/has-console.ts";
import type { MenuItem } from "../menu/menu.tsx";
import { isShapeId } from "../topology/shapes/shapes.ts";
import { isTextId } from "../topology/shapes/texts.ts";
import type { LinkActions } from "./actions/use-link-actions.ts";
import type { NodesPower } from "./actions/use-nodes-power.ts";
import type { Selection } from "./actions/use-selection.ts";
import type { DrawActions } from "./edits/draw-actions.ts";

interface MenuInput {
  /** The id of the part: of a node, or "link:" and that of a link; undefined for the empty drawing. */
  readonly id: string | undefined;
  readonly node: InspectedNode | undefined;
  readonly link: InspectedLink | undefined;
  readonly selection: Selection;
  /** undefined: the user may not edit the lab. */
  readonly actions: DrawActions | undefined;
  /** undefined: the user may not operate the lab. */
  readonly power: NodesPower | undefined;
  readonly onConsole: (id: string) => void;
  /** undefined: the node has no shell for this user. */
  readonly onShell: ((id: string) => void) | undefined;
  /** Asks, and then wipes nodes. @param nodes unique keys */
  readonly onWipe: (nodes: readonly string[]) => void;
  /** Shows the configuration of a node in its panel. */
  readonly onConfig: (id: string) => void;
  readonly links: LinkActions;
  /** Opens the palette. */
  readonly onAdd: () => void;
  readonly allIds: readonly string[];
}

/** Returns the entries of the context menu of a part, or of the empty drawing. */
export function menuItems(input: MenuInput): readonly MenuItem[] {
  const { id, node, link } = input;
  if (id === undefined) return drawingItems(input);
  const open: MenuItem = { label: "Details", keys: "Space", run: () => input.selection.select(id, { byKeyboard: true }) };
  if (id.startsWith("link:")) return [open, ...linkItems(input, link), ...interfaceItem(input, id), ...removeItem(input, id)];
  if (isShapeId(id)) return [...shapeItems(input, id), ...removeItem(input, id)];
  if (isTextId(id)) return [...textItem(input, id), ...removeItem(input, id)];
  return [...nodeItems(input, node), open, ...editItems(input, id), ...removeItem(input, id)];
}

function drawingItems({ actions, selection, onAdd, allIds }: MenuInput): readonly MenuItem[] {
  const all: MenuItem = { label: "Select all", keys: "Ctrl+A", run: () => selection.selectAll(allIds) };
  if (actions === undefined) return [all];
  return [{ label: "Add…", run: onAdd }, { label: "Paste", keys: "Ctrl+V", run: actions.paste }, all];
}

function textItem({ actions }: MenuInput, id: string): readonly MenuItem[] {
  return actions === undefined ? [] : [{ label: "Change the text…", keys: "F2", run: () => actions.beginRename(id) }];
}

function shapeItems({ actions, selection }: MenuInput, id: string): readonly MenuItem[] {
  if (actions === undefined) return [];
  const one = new Set([id]);
  return [
    { label: "Style…", keys: "Space", run: () => selection.select(id, { byKeyboard: true }) },
    { label: "Bring to the front", run: () => actions.raise(one, "front") },
    { label: "Send to the back", run: () => actions.raise(one, "back") },
    { label: "Duplicate", keys: "Ctrl+D", run: () => actions.duplicate(one) },
    { label: "Copy", keys: "Ctrl+C", run: () => actions.copy(one) },
  ];
}

function interfaceItem({ actions }: MenuInput, id: string): readonly MenuItem[] {
  return actions === undefined ? [] : [{ label: "Change interfaces…", run: () => actions.beginInterfaces(id) }];
}

function nodeItems(
  { power, onConsole, onShell, onWipe, onConfig, links: { capturePort } }: MenuInput,
  node: InspectedNode | undefined,
): readonly MenuItem[] {
  if (node === undefined || power === undefined) return [];
  const key = [nodeKey(node)];
  return [
    ...(hasConsole(node) ? [{ label: "Console", keys: "Enter", run: () => onConsole(node.id) }] : []),
    ...(hasConsole(node) && onShell !== undefined ? [{ label: "Shell", run: () => onShell(node.id) }] : []),
    { label: "Start", run: () => power.run("start", key) },
    { label: "Stop", run: () => power.run("stop", key) },
    { label: "Restart", run: () => power.run("restart", key) },
    { label: "Wipe…", isDangerous: true, run: () => onWipe(key) },
    { label: "Configuration", run: () => onConfig(node.id) },
    ...(capturePort === undefined ? [] : captureItems(node, capturePort)),
  ];
}

/** Number of interfaces up to which the menu of a node has an entry for each. The panel of the node has all of them. */
const maxPorts = 4;

function captureItems(node: InspectedNode, capturePort: (node: string, port: string) => void): readonly MenuItem[] {
  const ports = node.interfaces.filter(({ link }) => link !== undefined);
  if (ports.length > maxPorts) return [];
  return ports.map(({ name }) => ({ label: `Capture ${name}`, run: () => capturePort(nodeKey(node), name) }));
}

function linkItems({ power, selection, links: { suspend, capture } }: MenuInput, link: InspectedLink | undefined): readonly MenuItem[] {
  if (link === undefined || power === undefined) return [];
  return [
    ...(capture === undefined ? [] : [{ label: "Capture", run: () => capture(link) }]),
    { label: "Impair…", run: () => selection.select(`link:${link.id}`, { byKeyboard: true }) },
    { label: link.suspended ? "Resume" : "Suspend", run: () => suspend(link) },
  ];
}

function editItems({ actions }: MenuInput, id: string): readonly MenuItem[] {
  if (actions === undefined) return [];
  const one = new Set([id]);
  return [
    { label: "Rename…", keys: "F2", run: () => actions.beginRename(id) },
    { label: "Duplicate", keys: "Ctrl+D", run: () => actions.duplicate(one) },
    { label: "Copy", keys: "Ctrl+C", run: () => actions.copy(one) },
  ];
}

function removeItem({ actions }: MenuInput, id: string): readonly MenuItem[] {
  if (actions === undefined) return [];
  return [{ label: "Delete", keys: "Del", isDangerous: true, run: () => actions.remove(new Set([id])) }];
}
