import type { InspectionData } from "../../contract/schemas/observe.ts";
import { Menu } from "../menu/menu.tsx";
import { useFeature } from "../parts/use-feature.ts";
import { isShapeId } from "../topology/shapes/shapes.ts";
import type { LinkActions } from "./actions/use-link-actions.ts";
import type { NodesPower } from "./actions/use-nodes-power.ts";
import type { Selection } from "./actions/use-selection.ts";
import type { DrawActions } from "./edits/draw-actions.ts";
import { menuItems } from "./menu-items.ts";

interface PartMenuProps {
  readonly inspection: InspectionData;
  readonly menu: { readonly id: string | undefined; readonly x: number; readonly y: number };
  readonly selection: Selection;
  readonly actions: DrawActions | undefined;
  readonly power: NodesPower | undefined;
  readonly links: LinkActions;
  readonly onConsole: (id: string) => void;
  readonly onShell: (id: string) => void;
  readonly onWipe: (nodes: readonly string[]) => void;
  readonly onConfig: (id: string) => void;
  readonly onAdd: () => void;
  readonly allIds: readonly string[];
  readonly onClose: () => void;
}

/** The context menu of a node, a link or the empty drawing. */
export function PartMenu({ inspection, menu, onShell, onClose, ...rest }: PartMenuProps) {
  const hasShells = useFeature("nodeExec").data === true;
  const { id, x, y } = menu;
  const node = inspection.nodes.find((one) => one.id === id);
  const link = inspection.links.find((one) => `link:${one.id}` === id);
  const items = menuItems({ ...rest, id, node, link, onShell: hasShells ? onShell : undefined });
  return (
    <Menu
      label={node?.name ?? link?.key ?? (id !== undefined && isShapeId(id) ? "Shape" : "Drawing")}
      x={x}
      y={y}
      items={items}
      onClose={onClose}
    />
  );
}
