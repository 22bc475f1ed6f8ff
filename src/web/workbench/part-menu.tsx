import { useState } from "preact/hooks";
import type { InspectedLink, InspectionData } from "../../contract/schemas/observe.ts";
import { Problem } from "../parts/problem.tsx";
import { call } from "../service/api.ts";
import { menuItems } from "./menu-items.ts";
import { ShapeMenu } from "./shape-menu.tsx";
import type { DrawActions } from "./use-draw-actions.ts";
import type { NodesPower } from "./use-nodes-power.ts";
import type { Selection } from "./use-selection.ts";

interface PartMenuProps {
  readonly lab: string;
  readonly inspection: InspectionData;
  readonly menu: { readonly id: string | undefined; readonly x: number; readonly y: number };
  readonly selection: Selection;
  readonly actions: DrawActions | undefined;
  readonly power: NodesPower | undefined;
  readonly onConsole: (id: string) => void;
  readonly onAdd: () => void;
  /** Called after a change of a link. */
  readonly onChanged: () => void;
  readonly allIds: readonly string[];
  readonly onClose: () => void;
}

/** The context menu of a node, a link or the empty drawing. */
export function PartMenu({ lab, inspection, menu, onChanged, onClose, ...rest }: PartMenuProps) {
  const [error, setError] = useState<unknown>();
  const suspend = async ({ endpoints: [a = "", b = ""], suspended }: InspectedLink) => {
    try {
      await call("setLinkSuspend", { lab, endpoints: [a, b], suspended: !suspended });
    } catch (problem) {
      setError(problem);
    }
    onChanged();
  };
  const { id, x, y } = menu;
  const node = inspection.nodes.find((one) => one.id === id);
  const link = inspection.links.find((one) => `link:${one.id}` === id);
  const items = menuItems({ ...rest, id, node, link, onSuspend: (one) => void suspend(one) });
  if (error !== undefined) return <Problem error={error} />;
  return <ShapeMenu label={node?.name ?? link?.key ?? "Drawing"} x={x} y={y} items={items} onClose={onClose} />;
}
