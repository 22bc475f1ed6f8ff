import { useState } from "preact/hooks";
import { opacityOf } from "../../intent/shapes/color.ts";
import { canonicalShape, type LabBox, type LabShape, lineEnds, lineStyles, shapeDefaults, shapeLimits } from "../../intent/shapes/shape.ts";
import { type GraphShape, shapeText } from "../topology/shapes/shapes.ts";
import type { DrawActions } from "./edits/draw-actions.ts";

interface ShapePanelProps {
  /** At least one. The fields show the values of the first, and a change applies to all. */
  readonly shapes: readonly GraphShape[];
  readonly actions: DrawActions;
  readonly onClose: () => void;
}

type LabLine = Extract<LabShape, { type: "line" }>;
/** Changes all selected shapes. */
type ChangeShapes = (changed: (shape: LabShape) => LabShape) => void;

/** The fill of a shape that had none, in a colour that leaves texts on it readable. */
const usualFill = "#93c5fd66";

/** The place, size and style of the selected shapes. Each change is an edit of the text. */
export default function ShapePanel({ shapes, actions, onClose }: ShapePanelProps) {
  const first = shapes[0]!.shape;
  const ids = new Set(shapes.map(({ id }) => id));
  const title = shapes.length === 1 ? shapeText(first) : `${shapes.length} shapes`;
  const change = (changed: (shape: LabShape) => LabShape) => actions.setShapes(ids, changed);
  return (
    <aside class="panel shape-panel" tabIndex={-1} aria-label={title}>
      <h2>
        {title}
        <button type="button" class="close" onClick={onClose} aria-label="Close">
          ×
        </button>
      </h2>
      <div class="fields">
        {shapes.length === 1 &&
          placesOf(first).map(([name, value, set, least]) => (
            <NumberField
              key={name}
              label={name}
              value={value}
              min={least}
              max={shapeLimits.place.max}
              onValue={(next) => change((shape) => set(shape, next))}
            />
          ))}
        <label>
          {first.type === "line" ? "Color" : "Border"}
          <input
            type="color"
            value={opacityOf(first.color ?? shapeDefaults.color).color}
            onChange={(event) => {
              const color = event.currentTarget.value;
              change((shape) => ({ ...shape, color }));
            }}
          />
        </label>
        <label>
          Line style
          <select
            value={first.style ?? shapeDefaults.style}
            onChange={(event) => {
              const style = lineStyles.find((one) => one === event.currentTarget.value) ?? shapeDefaults.style;
              change((shape) => ({ ...shape, style }));
            }}
          >
            {lineStyles.map((style) => (
              <option key={style}>{style}</option>
            ))}
          </select>
        </label>
        <NumberField
          label="Thickness"
          value={first.thickness ?? shapeDefaults.thickness}
          {...shapeLimits.thickness}
          onValue={(thickness) => change((shape) => ({ ...shape, thickness }))}
        />
        {first.type === "line" ? <LineFields line={first} change={change} /> : <BoxFields box={first} change={change} />}
        <NumberField
          label="Layer"
          value={first.layer ?? shapeDefaults.layer}
          {...shapeLimits.layer}
          onValue={(layer) => change((shape) => ({ ...shape, layer: Math.round(layer) }))}
        />
      </div>
      <div class="buttons">
        <button type="button" onClick={() => actions.raise(ids, "front")}>
          To the front
        </button>
        <button type="button" onClick={() => actions.raise(ids, "back")}>
          To the back
        </button>
        <button type="button" class="danger" onClick={() => actions.remove(ids)}>
          Delete
        </button>
      </div>
    </aside>
  );
}

/** The marks at the ends of lines. */
function LineFields({ line, change }: { readonly line: LabLine; readonly change: ChangeShapes }) {
  return (
    <>
      {(["start", "end"] as const).map((side) => (
        <label key={side}>
          {side === "start" ? "Start" : "End"}
          <select
            value={line[side] ?? "none"}
            onChange={(event) => {
              const mark = lineEnds.find((one) => one === event.currentTarget.value);
              change((shape) => {
                if (shape.type !== "line") return shape;
                const { [side]: _before, ...rest } = shape;
                return mark === undefined ? rest : { ...rest, [side]: mark };
              });
            }}
          >
            {["none", ...lineEnds].map((mark) => (
              <option key={mark}>{mark}</option>
            ))}
          </select>
        </label>
      ))}
    </>
  );
}

/** The rotation and the fill of rectangles and ellipses. */
function BoxFields({ box, change }: { readonly box: LabBox; readonly change: ChangeShapes }) {
  const { fill, rotation = 0 } = box;
  const setFill = (value: string | undefined) =>
    change((shape) => {
      if (shape.type === "line") return shape;
      const { fill: _before, ...rest } = shape;
      return value === undefined ? rest : { ...rest, fill: value };
    });
  return (
    <>
      <NumberField
        label="Rotation, °"
        value={rotation}
        {...shapeLimits.rotation}
        onValue={(next) => change((shape) => (shape.type === "line" ? shape : canonicalShape({ ...shape, rotation: next })))}
      />
      <label class="choice">
        <input
          type="checkbox"
          checked={fill !== undefined}
          onChange={(event) => setFill(event.currentTarget.checked ? usualFill : undefined)}
        />
        Filled
      </label>
      {fill !== undefined && <FillFields fill={fill} onFill={setFill} />}
    </>
  );
}

function FillFields({ fill, onFill }: { readonly fill: string; readonly onFill: (fill: string) => void }) {
  const { color, opacity } = opacityOf(fill);
  const percent = Math.round(opacity * 100);
  return (
    <>
      <label>
        Fill
        <input type="color" value={color} onChange={(event) => onFill(withOpacity(event.currentTarget.value, percent))} />
      </label>
      <NumberField label="Opacity, %" value={percent} min={1} max={100} onValue={(value) => onFill(withOpacity(color, value))} />
    </>
  );
}

function withOpacity(color: string, percent: number): string {
  const alpha = Math.round((percent / 100) * 255);
  return alpha >= 255 ? color : `${color}${alpha.toString(16).padStart(2, "0")}`;
}

type PlaceField = readonly [label: string, value: number, set: (shape: LabShape, value: number) => LabShape, min: number];

function placesOf(shape: LabShape): readonly PlaceField[] {
  const { place, size } = shapeLimits;
  const field = (label: string, key: string, value: number, min: number): PlaceField => [
    label,
    value,
    (one, next) => ({ ...one, [key]: next }),
    min,
  ];
  const at = [field("X", "x", shape.x, place.min), field("Y", "y", shape.y, place.min)];
  if (shape.type === "line") return [...at, field("To X", "x2", shape.x2, place.min), field("To Y", "y2", shape.y2, place.min)];
  return [...at, field("Width", "width", shape.width, size.min), field("Height", "height", shape.height, size.min)];
}

interface NumberFieldProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly onValue: (value: number) => void;
}

/** A number that is taken when the field is left, or at Enter. A value beyond the limits is not taken. */
function NumberField({ label, value, min, max, onValue }: NumberFieldProps) {
  // The panel is rendered again while the user types: what is typed stays.
  const [typed, setTyped] = useState<string>();
  return (
    <label>
      {label}
      <input
        type="number"
        value={typed ?? value}
        min={min}
        max={max}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onBlur={() => setTyped(undefined)}
        onChange={(event) => {
          const { valueAsNumber } = event.currentTarget;
          setTyped(undefined);
          if (Number.isFinite(valueAsNumber) && valueAsNumber >= min && valueAsNumber <= max) onValue(valueAsNumber);
          else event.currentTarget.value = String(value);
        }}
      />
    </label>
  );
}
