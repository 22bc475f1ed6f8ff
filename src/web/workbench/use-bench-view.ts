import { useState } from "preact/hooks";
import type { InspectionData } from "../../contract/schemas/observe.ts";
import type { LabShape } from "../../intent/shapes/shape.ts";
import type { ShownTraffic } from "../traffic/shown-traffic.ts";

/** The position of the open context menu. `id` is that of its part, undefined for the empty drawing. */
export interface OpenMenu {
  readonly id: string | undefined;
  readonly x: number;
  readonly y: number;
}

/** The menus, questions and tools that are open over the drawing. The address names the rest. */
export interface BenchView {
  /** Whether the palette is open. */
  readonly isAdding: boolean;
  readonly setAdding: (adding: boolean) => void;
  readonly menu: OpenMenu | undefined;
  readonly setMenu: (menu: OpenMenu | undefined) => void;
  /** Keys of the nodes for which the question before a wipe is shown. */
  readonly wiping: readonly string[] | undefined;
  readonly setWiping: (nodes: readonly string[] | undefined) => void;
  /** The shape that is drawn next. */
  readonly pen: LabShape["type"] | undefined;
  readonly setPen: (pen: LabShape["type"] | undefined) => void;
  readonly showsKeys: boolean;
  readonly setShowsKeys: (shows: boolean) => void;
  readonly traffic: ShownTraffic | undefined;
  readonly setTraffic: (traffic: ShownTraffic | undefined) => void;
  /** The section of the node's panel that a menu opened; a new object each time. */
  readonly section: { readonly section: string } | undefined;
  readonly showSection: (section: string) => void;
}

export function useBenchView({ nodes, networks }: InspectionData): BenchView {
  // An empty lab is about to be drawn. At the size of a phone the palette would cover the drawing.
  const [isAdding, setAdding] = useState(nodes.length + networks.length === 0 && matchMedia("(min-width: 50.01rem)").matches);
  const [menu, setMenu] = useState<OpenMenu>();
  const [wiping, setWiping] = useState<readonly string[]>();
  const [pen, setPen] = useState<LabShape["type"]>();
  const [showsKeys, setShowsKeys] = useState(false);
  const [traffic, setTraffic] = useState<ShownTraffic>();
  const [section, setSection] = useState<{ readonly section: string }>();
  return {
    ...{ isAdding, setAdding, menu, setMenu, wiping, setWiping, pen, setPen, showsKeys, setShowsKeys, traffic, setTraffic, section },
    showSection: (name) => setSection({ section: name }),
  };
}
