import { opacityOf } from "../../../intent/shapes/color.ts";
import { dashesOf, type LabShape, lineEndPaths, shapeDefaults } from "../../../intent/shapes/shape.ts";
import { type GraphShape, handlesOf, shapeText } from "../shapes/shapes.ts";
import type { OnSelectShape } from "./select-how.ts";

interface ShapeMarkProps {
  readonly shape: GraphShape;
  readonly selected: boolean;
  /** Absent: the shape cannot be changed. */
  readonly edit?: { readonly onSelect: OnSelectShape; readonly onOpen: (id: string) => void } | undefined;
}

/** A rectangle, an ellipse or a line on the drawing. With `edit`, it is selected and moved as a node is. */
export function ShapeMark({ shape: { id, shape, at }, selected, edit }: ShapeMarkProps) {
  const transform = transformOf(shape, at);
  const drawn = (
    <>
      <Outline shape={shape} look={lookOf(shape)} />
      {shape.type === "line" && lineEndPaths(shape).map((path) => <path key={path} d={path} {...markLook(shape)} />)}
    </>
  );
  if (edit === undefined) {
    return (
      // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it cannot have the focus
      <g aria-hidden="true" transform={transform}>
        {drawn}
      </g>
    );
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button element
    <g
      class={`shape-part${selected ? " selected" : ""}`}
      data-node={id}
      transform={transform}
      tabindex={0}
      role="button"
      aria-label={`${shapeText(shape)}, at ${at.x}, ${at.y}`}
      aria-pressed={selected}
      onClick={(event) => edit.onSelect(id, { add: event.ctrlKey || event.metaKey || event.shiftKey })}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        edit.onSelect(id, { byKeyboard: true });
      }}
    >
      {drawn}
      <Outline shape={shape} look={{ class: "edge" }} />
    </g>
  );
}

/** The points of a selected shape that resize it. They are above the nodes. */
export function ShapeHandles({ shape: { id, shape, at } }: { readonly shape: GraphShape }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it cannot have the focus; Alt, Shift and the arrow keys resize a shape
    <g class="handles" data-handles={id} aria-hidden="true" transform={transformOf(shape, at)}>
      {handlesOf(shape).map(({ handle, x, y }) => (
        <circle key={handle} class={`handle ${handle}`} data-handle={handle} cx={x} cy={y} />
      ))}
    </g>
  );
}

function transformOf(shape: LabShape, { x, y }: GraphShape["at"]): string {
  if (shape.type === "line" || shape.rotation === undefined) return `translate(${x} ${y})`;
  return `translate(${x} ${y}) rotate(${shape.rotation} ${shape.width / 2} ${shape.height / 2})`;
}

function markLook(shape: LabShape): Look {
  const { color, opacity } = opacityOf(shape.color ?? shapeDefaults.color);
  return { class: "line-mark", ...(shape.color !== undefined && { fill: color }), "fill-opacity": opacity };
}

type Look = Readonly<Record<string, string | number | undefined>>;

function lookOf(shape: LabShape): Look {
  const stroke = shape.color === undefined ? undefined : opacityOf(shape.color);
  const fill = shape.type === "line" || shape.fill === undefined ? undefined : opacityOf(shape.fill);
  return {
    class: "outline",
    ...(stroke !== undefined && { stroke: stroke.color, "stroke-opacity": stroke.opacity }),
    "stroke-width": shape.thickness ?? shapeDefaults.thickness,
    "stroke-dasharray": dashesOf(shape)?.join(" "),
    fill: fill?.color ?? "none",
    ...(fill !== undefined && { "fill-opacity": fill.opacity }),
  };
}

function Outline({ shape, look }: { readonly shape: LabShape; readonly look: Look }) {
  if (shape.type === "line") return <path d={`M0 0L${shape.x2 - shape.x} ${shape.y2 - shape.y}`} {...look} />;
  const { width, height } = shape;
  if (shape.type === "rectangle") return <rect width={width} height={height} {...look} />;
  return <ellipse cx={width / 2} cy={height / 2} rx={width / 2} ry={height / 2} {...look} />;
}
