import { useState } from "preact/hooks";
import type { InspectedLink, InspectionData } from "../../../contract/schemas/observe.ts";
import { Menu } from "../../menu/menu.tsx";
import { useFeature } from "../../parts/use-feature.ts";
import type { Graph } from "../../topology/graph/graph.ts";
import { shapeText } from "../../topology/shapes/shapes.ts";
import type { LinkActions } from "../actions/use-link-actions.ts";
import type { NodesPower } from "../actions/use-nodes-power.ts";
import type { DrawActions } from "../edits/draw-actions.ts";
import { ImpairDialog } from "./impair-dialog.tsx";
import { SelectionBar } from "./selection-bar.tsx";
import { linksOfSelection, selectionItems } from "./selection-items.ts";

interface SelectedPartsProps {
  readonly inspection: InspectionData;
  readonly graph: Graph;
  readonly selected: ReadonlySet<string>;
  /** undefined: the user may not edit the lab. */
  readonly actions: DrawActions | undefined;
  /** undefined: the user may not operate the lab. */
  readonly power: NodesPower | undefined;
  readonly links: LinkActions;
  /** Where the context menu of the selection is open; undefined: it is closed. */
  readonly menu: { readonly x: number; readonly y: number } | undefined;
  readonly onConsoles: (ids: readonly string[]) => void;
  readonly onShells: (ids: readonly string[]) => void;
  readonly onWipe: (nodes: readonly string[]) => void;
  readonly onMenuClose: () => void;
}

/** The bar and the context menu of several selected parts, and the dialog that impairs links. */
export function SelectedParts({ inspection, graph, selected, links, menu, onShells, onMenuClose, ...rest }: SelectedPartsProps) {
  const hasShells = useFeature("nodeExec").data === true;
  const maySave = useFeature("saveConfigs").data === true;
  const [impairing, setImpairing] = useState<readonly InspectedLink[]>();
  const items = selectionItems({
    ...rest,
    selected,
    nodes: inspection.nodes.filter(({ id }) => selected.has(id)),
    links: linksOfSelection(selected, inspection.nodes, inspection.links),
    linkActions: links,
    onShells: hasShells ? onShells : undefined,
    onImpair: setImpairing,
    maySave,
  });
  return (
    <>
      <SelectionBar names={namesOf(graph, selected)} items={items} notice={rest.power?.notice} />
      {menu !== undefined && <Menu label="Selected parts" {...menu} items={items} onClose={onMenuClose} />}
      {impairing !== undefined && (
        <ImpairDialog
          links={impairing}
          onCancel={() => setImpairing(undefined)}
          onQuality={(quality) => {
            links.impairAll(impairing, quality);
            setImpairing(undefined);
          }}
        />
      )}
    </>
  );
}

function namesOf({ nodes, links, texts, shapes }: Graph, selected: ReadonlySet<string>): readonly string[] {
  return [
    ...nodes.flatMap(({ id, label }) => (selected.has(id) ? [label] : [])),
    ...links.flatMap(({ id, key }) => (selected.has(`link:${id}`) ? [key] : [])),
    ...texts.flatMap(({ id, text }) => (selected.has(id) ? [text] : [])),
    ...shapes.flatMap(({ id, shape }) => (selected.has(id) ? [shapeText(shape)] : [])),
  ];
}
