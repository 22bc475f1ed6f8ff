import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SelectHow } from "../../topology/parts/select-how.ts";
import { isShapeId } from "../../topology/shapes/shapes.ts";
import { isTextId } from "../../topology/shapes/texts.ts";

export interface Selection {
  /** Ids of nodes, and "link:" and the id of links. */
  readonly selected: ReadonlySet<string>;
  /** The only selected part; undefined if none or several are selected. */
  readonly single: string | undefined;
  /** The element that contains the drawing and the open panel. */
  readonly container: RefObject<HTMLDivElement | null>;
  readonly select: (id: string | undefined, how: SelectHow) => void;
  readonly selectAll: (ids: Iterable<string>) => void;
  /** Closes the panel, and moves the focus back to the shape. */
  readonly close: () => void;
}

const nothing: ReadonlySet<string> = new Set();

/**
 * The selected nodes and links of the drawing, and the focus of the panel that shows the only one.
 * @param part of the address: the selected node or link; a change of the address selects another one
 * @param setPart called with the selected node or link, if it is another one than `part`
 */
export function useSelection(part: string | undefined, setPart: (part: string | undefined) => void): Selection {
  const [selected, setSelected] = useState(() => setOf(part));
  const single = selected.size === 1 ? [...selected][0] : undefined;
  const container = useRef<HTMLDivElement>(null);
  const byKeyboard = useRef(false);
  useLayoutEffect(() => {
    // The focus goes to the panel: otherwise keyboard users would have to pass all further nodes to reach it.
    if (byKeyboard.current) container.current?.querySelector<HTMLElement>(".panel")?.focus();
    byKeyboard.current = false;
  }, [single]);
  const chosen = single !== undefined && !isShapeId(single) && !isTextId(single) ? single : undefined;
  // Layout effects: otherwise a click before the next frame would meet an address that does not have the selection of the click before.
  useLayoutEffect(() => {
    if (chosen !== part) setPart(chosen);
  }, [chosen]);
  useLayoutEffect(() => {
    if (chosen !== part) setSelected(setOf(part));
  }, [part]);
  return {
    selected,
    single,
    container,
    select: (id, how) => {
      byKeyboard.current = how.byKeyboard === true && id !== undefined;
      if (id === undefined) setSelected(nothing);
      else setSelected((before) => (how.add === true ? toggled(before, id) : new Set([id])));
    },
    selectAll: (ids) => setSelected(new Set(ids)),
    close: () => {
      const shape = [...document.querySelectorAll(".stage [data-node], .stage [data-link]")].find(
        (one) => one.getAttribute("data-node") === single || `link:${one.getAttribute("data-link")}` === single,
      );
      setSelected(nothing);
      (shape?.querySelector<SVGElement>(".link-button") ?? (shape as SVGElement | undefined))?.focus();
    },
  };
}

const setOf = (part: string | undefined) => (part === undefined ? nothing : new Set([part]));

function toggled(before: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(before);
  if (!next.delete(id)) next.add(id);
  return next;
}
