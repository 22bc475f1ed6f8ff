import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Lab } from "../../../intent/lab/lab.ts";
import { type LabShape, shapeLimits } from "../../../intent/shapes/shape.ts";
import type { LayoutKind, Place } from "../../../layout/layout.ts";
import { readCopied, storeCopied } from "../../drawing/clipboard.ts";
import {
  aligned,
  arranged,
  distributed,
  freePlace,
  hostNames,
  isOnHost,
  keptPlaces,
  linkOf,
  movableParts,
  movesOf,
  pasteOf,
  removalOf,
  shapeMovesOf,
  shapeRemovalOf,
  textIndex,
  textMovesOf,
  textRemovalOf,
} from "../../drawing/gestures.ts";
import type { KnownInterfaces } from "../../drawing/interface-names.ts";
import type { Drawing, DrawTools, EditsOf } from "../../drawing/use-drawing.ts";
import type { IntentText } from "../../intent/intent-text.ts";
import type { PlanControl } from "../../plan/control/use-plan.ts";
import { call } from "../../service/api.ts";
import type { Graph, GraphNode, GraphText } from "../../topology/graph/graph.ts";
import { isShapeId, usualShape } from "../../topology/shapes/shapes.ts";
import type { DrawingPlaces } from "../../topology/topology.tsx";
import type { LinkEnd } from "./link-end.ts";
import type { Selection } from "./use-selection.ts";

export interface DrawInput {
  readonly graph: Graph;
  readonly drawing: Drawing;
  readonly control: PlanControl;
  readonly selection: Selection;
  readonly places: RefObject<DrawingPlaces | null>;
}

/** A part that the palette adds. */
export type NewPart =
  | { readonly kind: "node"; readonly template: string }
  | { readonly kind: "network"; readonly type: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "shape"; readonly type: LabShape["type"] };

export interface DrawActions {
  readonly undo: (() => void) | undefined;
  readonly redo: (() => void) | undefined;
  /** Adds a part at a point of the window, or without one in the middle of the drawing. */
  readonly add: (part: NewPart, at?: { readonly x: number; readonly y: number }) => void;
  readonly addShape: (shape: LabShape) => void;
  /** Changes shapes, by their ids. */
  readonly setShapes: (changes: ReadonlyMap<string, LabShape>) => void;
  /** Puts shapes over all others, or behind them. */
  readonly raise: (ids: ReadonlySet<string>, to: "front" | "back") => void;
  readonly move: (places: ReadonlyMap<string, Place>) => void;
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
}

/** A node or a network whose name changes, or a text whose content does. */
export type Renamed = GraphNode | GraphText;

export interface ChangedLink {
  readonly key: string;
  readonly isOnHost: boolean;
  readonly ends: readonly LinkEnd[];
}

/** The edits of the drawing by the pointer, the keyboard, menus and buttons. */
export function useDrawActions({ graph, drawing, control, selection, places }: DrawInput): DrawActions {
  const [renaming, setRenaming] = useState<Renamed>();
  const [changing, setChanging] = useState<ChangedLink>();
  const { draw, attempt } = drawing;
  const { state, dispatch } = control;
  const partAt = (id: string) => graph.nodes.find((one) => one.id === id);
  const keysOf = (ids: ReadonlySet<string>) => new Set(graph.nodes.flatMap(({ id, key }) => (ids.has(id) && key !== null ? [key] : [])));
  /** The ids before parts were added that are selected as soon as they are drawn, and whether the content of a new text is asked for. */
  const before = useRef<{ readonly ids: ReadonlySet<string>; readonly asksText: boolean }>(undefined);
  const parts = [...graph.nodes, ...graph.texts, ...graph.shapes];
  useEffect(() => {
    if (before.current === undefined) return;
    const { ids, asksText } = before.current;
    const added = parts.filter(({ id }) => !ids.has(id));
    if (added.length === 0) return;
    before.current = undefined;
    selection.selectAll(added.map(({ id }) => id));
    if (asksText) setRenaming(graph.texts.find(({ id }) => id === added[0]!.id));
  }, [graph]);
  const drawAndSelect = (edits: EditsOf, asksText = false) => {
    before.current = { ids: new Set(parts.map(({ id }) => id)), asksText };
    void draw(edits).then((refused) => {
      if (refused !== undefined) before.current = undefined;
    });
  };
  const addShape = (shape: LabShape) => drawAndSelect(() => [{ kind: "add-shapes", shapes: [shape] }]);
  const setShapes = (wanted: ReadonlyMap<string, LabShape>) => {
    const changes = graph.shapes.flatMap(({ id, shape }) => (wanted.has(id) ? [[shape, wanted.get(id)] as const] : []));
    if (changes.length > 0) void draw(() => [{ kind: "set-shapes", changes }]);
  };
  const copyOf = (lab: Lab, { copied }: Pick<DrawTools, "copied">, ids: ReadonlySet<string>) => {
    const texts = new Set([...ids].flatMap((id) => textIndex(id) ?? []));
    const shapes = graph.shapes.flatMap(({ id, shape }) => (ids.has(id) ? [shape] : []));
    return copied(lab, keysOf(ids), texts, shapes);
  };
  const add = (part: NewPart, at?: { readonly x: number; readonly y: number }) => {
    const dropped = at === undefined ? undefined : places.current?.placeAt(at.x, at.y);
    if (at !== undefined && dropped === undefined) return;
    const wanted = rounded(dropped ?? places.current?.middle() ?? { x: 0, y: 0 });
    if (part.kind === "shape") return addShape(usualShape(part.type, wanted));
    const taken = hostNames(graph);
    const put = part.kind === "text" ? (edits: EditsOf) => drawAndSelect(edits, true) : draw;
    void put((lab) => {
      // A part stays where the user drops it.
      const at = dropped === undefined ? freePlace(graph, wanted, lab) : wanted;
      return [
        keptPlaces(graph),
        part.kind === "node"
          ? { kind: "add-node", template: part.template, at, taken }
          : part.kind === "network"
            ? { kind: "add-network", type: part.type, at, taken }
            : { kind: "add-text", text: part.text, at },
      ];
    });
  };
  const move = (moved: ReadonlyMap<string, Place>) => {
    const shapes = shapeMovesOf(graph, moved);
    const others = [...moved.keys()].some((id) => !isShapeId(id));
    void draw(() => (others ? [keptPlaces(graph), movesOf(graph, moved), textMovesOf(moved), shapes] : [shapes]));
  };
  return {
    undo: state.past.length === 0 ? undefined : () => dispatch({ type: "undone" }),
    redo: state.future.length === 0 ? undefined : () => dispatch({ type: "redone" }),
    add,
    addShape,
    setShapes,
    raise: (ids, to) => {
      const layers = graph.shapes.flatMap(({ id, shape }) => (ids.has(id) ? [] : [shape.layer ?? 0]));
      const { min, max } = shapeLimits.layer;
      const layer = to === "front" ? Math.min(max, Math.max(-1, ...layers) + 1) : Math.max(min, Math.min(1, ...layers) - 1);
      setShapes(new Map(graph.shapes.flatMap(({ id, shape }) => (ids.has(id) ? [[id, { ...shape, layer }] as const] : []))));
    },
    move,
    link: (from, to) => {
      const [a, b] = [partAt(from), partAt(to)];
      if (a === undefined || b === undefined) return;
      void draw(async (lab, _tools, text) => [linkOf(lab, await freeInterfaces(text), a.key ?? a.label, b.key ?? b.label)]);
    },
    remove: (ids) => {
      const [removal, texts, shapes] = [removalOf(graph, ids), textRemovalOf(ids), shapeRemovalOf(graph, ids)];
      if (removal.parts.size + removal.links.size + texts.indexes.size + shapes.changes.length === 0) return;
      // The choice to delete on the host is needed only for parts that are there.
      const hostHas =
        graph.nodes.some((one) => ids.has(one.id) && isOnHost(one)) ||
        graph.links.some((one) => ids.has(`link:${one.id}`) && isOnHost(one));
      void draw(() => [removal, texts, shapes], hostHas);
      selection.select(undefined, {});
    },
    renaming,
    beginRename: (id) => {
      const part = id === undefined ? undefined : (partAt(id) ?? graph.texts.find((one) => one.id === id));
      // A part that only the host has is not in the text.
      setRenaming(part !== undefined && "key" in part && part.key === null ? undefined : part);
    },
    rename: async (part, name) => {
      const refused = await attempt(() => [
        "text" in part
          ? { kind: "set-text", index: textIndex(part.id)!, text: name }
          : { kind: "rename", key: part.key!, to: name, keepsKey: isOnHost(part), taken: hostNames(graph, part.id) },
      ]);
      if (refused === undefined) setRenaming(undefined);
      return refused;
    },
    changing,
    beginInterfaces: (id) => {
      const link = graph.links.find((one) => `link:${one.id}` === id);
      if (link === undefined) return setChanging(undefined);
      // No edit yet: the lab is read for the interfaces that the ends may have.
      return void draw(async (lab, _tools, text) => {
        const free = await freeInterfaces(text);
        const { endpoints = [] } = lab.links.find((one) => one.key === link.key) ?? {};
        const ends = endpoints.flatMap((end) => {
          if (!("node" in end)) return [];
          const choices = [...new Set([end.interface, ...(free.get(end.node) ?? [])])];
          return [{ node: end.node, interface: end.interface, choices }];
        });
        setChanging({ key: link.key, isOnHost: isOnHost(link), ends });
        return [];
      });
    },
    setInterfaces: ({ key, isOnHost: isThere }, interfaces) => {
      setChanging(undefined);
      void draw(() => [{ kind: "set-interfaces", link: key, interfaces }], isThere);
    },
    copy: (ids) =>
      void draw((lab, tools) => {
        storeCopied(copyOf(lab, tools, ids));
        return [];
      }),
    paste: () => {
      const copied = readCopied();
      if (copied !== undefined) drawAndSelect(() => [keptPlaces(graph), pasteOf(copied, graph)]);
    },
    duplicate: (ids) => drawAndSelect((lab, tools) => [keptPlaces(graph), pasteOf(copyOf(lab, tools, ids), graph)]),
    align: (axis) => move(aligned(movableParts(graph, selection.selected), axis)),
    distribute: (axis) => move(distributed(movableParts(graph, selection.selected), axis)),
    arrange: (kind) => {
      places.current?.fitNext();
      move(arranged(graph, kind));
    },
  };
}

/** Reads the free interfaces of the nodes of a text, as its host names them. */
async function freeInterfaces({ yaml, files }: IntentText): Promise<KnownInterfaces> {
  const { items = [] } = await call("completeLinkInterfaces", { yaml, files, excludeUsed: true });
  const names = new Map<string, string[]>();
  for (const { node, name, type } of items) if (type === "ethernet") names.set(node, [...(names.get(node) ?? []), name]);
  return names;
}

function rounded({ x, y }: Place): Place {
  return { x: Math.round(x), y: Math.round(y) };
}
