import type { LabShape } from "../../../intent/shapes/shape.ts";
import type { LayoutKind, Place } from "../../../layout/layout.ts";
import type { GraphNode } from "../../topology/graph/graph.ts";
import type { GraphText } from "../../topology/shapes/texts.ts";
import type { LinkEnd } from "./link-end.ts";

/** A part that the palette adds. */
export type NewPart =
  | { readonly kind: "node"; readonly template: string }
  | { readonly kind: "network"; readonly type: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "shape"; readonly type: LabShape["type"] };

/** A node or a network whose name changes, or a text whose content does. */
export type Renamed = GraphNode | GraphText;

export interface ChangedLink {
  readonly key: string;
  readonly isOnHost: boolean;
  readonly ends: readonly LinkEnd[];
}

/** The edits of the drawing. Parts are named by their ids in the drawing. */
export interface DrawActions {
  readonly undo: (() => void) | undefined;
  readonly redo: (() => void) | undefined;
  /** Adds a part at a point of the window, or without one in the middle of the drawing. */
  readonly add: (part: NewPart, at?: { readonly x: number; readonly y: number }) => void;
  readonly addShape: (shape: LabShape) => void;
  /** Changes shapes. */
  readonly setShapes: (ids: ReadonlySet<string>, changed: (shape: LabShape) => LabShape) => void;
  /** Puts shapes over all others, or behind them. */
  readonly raise: (ids: ReadonlySet<string>, to: "front" | "back") => void;
  readonly move: (places: ReadonlyMap<string, Place>) => void;
  /** Moves parts by a step. */
  readonly step: (ids: ReadonlySet<string>, dx: number, dy: number) => void;
  readonly link: (from: string, to: string) => void;
  readonly remove: (ids: ReadonlySet<string>) => void;
  /** The part whose new name, or the text whose new content is asked for. */
  readonly renaming: Renamed | undefined;
  readonly beginRename: (id: string | undefined) => void;
  /** Returns why the name is refused; its question stays open then. */
  readonly rename: (part: Renamed, name: string) => Promise<string | undefined>;
  /** The link whose interfaces are asked for. */
  readonly changing: ChangedLink | undefined;
  /** @param id "link:" and the id of the link */
  readonly beginInterfaces: (id: string | undefined) => void;
  readonly setInterfaces: (link: ChangedLink, interfaces: ReadonlyMap<string, string>) => void;
  readonly copy: (ids: ReadonlySet<string>) => void;
  readonly paste: () => void;
  readonly duplicate: (ids: ReadonlySet<string>) => void;
  readonly align: (axis: "x" | "y") => void;
  readonly distribute: (axis: "x" | "y") => void;
  /** Gives all parts new positions. */
  readonly arrange: (kind: LayoutKind) => void;
  /** Loads the code for edits: the user is about to edit. */
  readonly prepare: () => void;
}
