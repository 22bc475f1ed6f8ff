import type { ComponentChildren } from "preact";
import type { Graph } from "./graph/graph.ts";
import { NoteShape } from "./parts/note-shape.tsx";
import type { OnSelectShape } from "./parts/select-how.ts";
import { ShapeHandles, ShapeMark } from "./parts/shape-mark.tsx";
import type { ShapePreview } from "./topology.tsx";
import type { Stage } from "./use-stage.ts";

interface PictureProps {
  readonly graph: Graph;
  readonly stage: Stage;
  /** The nodes and links. */
  readonly shapes: { readonly nodes: ComponentChildren; readonly links: ComponentChildren };
  readonly selected: ReadonlySet<string>;
  readonly preview: ShapePreview | undefined;
  /** Whether selected shapes have handles that resize them. */
  readonly hasHandles: boolean;
  /** Absent: texts and shapes cannot be changed. */
  readonly edit: { readonly onSelect: OnSelectShape; readonly onOpen: (id: string) => void } | undefined;
}

/** The layer of the stage that is panned and zoomed: texts and nodes over links over shapes. */
export function Picture({ graph, stage, shapes, selected, preview, hasHandles, edit }: PictureProps) {
  const drawn = graph.shapes.map((one) =>
    preview !== undefined && preview.id === one.id
      ? { id: one.id, shape: preview.shape, at: { x: preview.shape.x, y: preview.shape.y } }
      : one,
  );
  return (
    <div ref={stage.layer} class="layer">
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: its shapes have names; a title would be a tooltip over all of them */}
      <svg class="nodes">
        {graph.texts.map((note) => (
          <NoteShape key={note.id} note={note} selected={selected.has(note.id)} edit={edit} />
        ))}
        {shapes.nodes}
        {hasHandles && drawn.map((one) => selected.has(one.id) && <ShapeHandles key={one.id} shape={one} />)}
      </svg>
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: the same */}
      <svg ref={stage.svg} class="links">
        {shapes.links}
      </svg>
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: the same */}
      <svg class="shapes">
        {drawn.map((one) => (
          <ShapeMark key={one.id} shape={one} selected={selected.has(one.id)} edit={edit} />
        ))}
        {preview !== undefined && preview.id === undefined && (
          <ShapeMark shape={{ id: "new", shape: preview.shape, at: preview.shape }} selected={false} />
        )}
      </svg>
    </div>
  );
}
