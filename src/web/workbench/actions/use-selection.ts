import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SelectHow } from "../../topology/use-shapes.tsx";

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

/** The selected nodes and links of the drawing, and the focus of the panel that shows the only one. */
export function useSelection(): Selection {
  const [selected, setSelected] = useState(nothing);
  const single = selected.size === 1 ? [...selected][0] : undefined;
  const container = useRef<HTMLDivElement>(null);
  const byKeyboard = useRef(false);
  useLayoutEffect(() => {
    // The focus goes to the panel: otherwise keyboard users would have to pass all further nodes to reach it.
    if (byKeyboard.current) container.current?.querySelector<HTMLElement>(".panel")?.focus();
    byKeyboard.current = false;
  }, [single]);
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

function toggled(before: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(before);
  if (!next.delete(id)) next.add(id);
  return next;
}
