import type { GraphText } from "../shapes/texts.ts";
import type { OnSelectShape } from "./select-how.ts";

interface NoteShapeProps {
  readonly note: GraphText;
  readonly selected: boolean;
  /** Absent: the text cannot be changed. */
  readonly edit?: { readonly onSelect: OnSelectShape; readonly onOpen: (id: string) => void } | undefined;
}

/** A text on the drawing. With `edit`, it is selected, moved and edited as a node is. */
export function NoteShape({ note: { id, text, at }, selected, edit }: NoteShapeProps) {
  const shown = <text class="note">{text}</text>;
  if (edit === undefined) return <g transform={`translate(${at.x} ${at.y})`}>{shown}</g>;
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button element
    <g
      class={`text-part${selected ? " selected" : ""}`}
      data-node={id}
      transform={`translate(${at.x} ${at.y})`}
      tabindex={0}
      role="button"
      aria-label={`Text: ${text}`}
      aria-pressed={selected}
      onClick={(event) => edit.onSelect(id, { add: event.ctrlKey || event.metaKey || event.shiftKey })}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        if (event.key === "Enter") edit.onOpen(id);
        else edit.onSelect(id, {});
      }}
    >
      {shown}
    </g>
  );
}
