import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Selection {
  /** A node's id, or "link:" and a link's id. */
  readonly selected: string | undefined;
  /** The element that contains the drawing and the open panel. */
  readonly container: RefObject<HTMLDivElement | null>;
  readonly select: (id: string | undefined, byKeyboard: boolean) => void;
  /** Closes the panel, and moves the focus back to the shape. */
  readonly close: () => void;
}

/** The selected node or link of the drawing, and the focus of the panel that shows it. */
export function useSelection(): Selection {
  const [selected, setSelected] = useState<string>();
  const container = useRef<HTMLDivElement>(null);
  const byKeyboard = useRef(false);
  useLayoutEffect(() => {
    const opened = container.current?.querySelector<HTMLElement>(".panel");
    // The focus goes to the panel: otherwise keyboard users would have to pass all further nodes to reach it.
    if (byKeyboard.current) opened?.focus();
    // On a narrow page the panel opens below the drawing.
    else if (matchMedia("(max-width: 50rem)").matches) opened?.scrollIntoView({ block: "nearest" });
    byKeyboard.current = false;
  }, [selected]);
  return {
    selected,
    container,
    select: (id, keyboard) => {
      byKeyboard.current = keyboard && id !== undefined;
      setSelected(id);
    },
    close: () => {
      const shape = [...document.querySelectorAll(".stage [data-node], .stage [data-link]")].find(
        (one) => one.getAttribute("data-node") === selected || `link:${one.getAttribute("data-link")}` === selected,
      );
      setSelected(undefined);
      (shape?.querySelector<SVGElement>(".link-button") ?? (shape as SVGElement | undefined))?.focus();
    },
  };
}
