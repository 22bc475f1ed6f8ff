import { useState } from "preact/hooks";
import type { Template } from "../../contract/schemas/catalogue.ts";
import { type LabShape, shapeTypes } from "../../intent/shapes/shape.ts";
import { type IconName, iconOf } from "../topology/graph/icons.ts";
import { Glyph } from "../topology/parts/glyph.tsx";
import { followPointer } from "../topology/stage/follow-pointer.ts";
import type { NewPart } from "./edits/draw-actions.ts";

interface PaletteProps {
  readonly templates: readonly Template[];
  readonly networkTypes: readonly string[];
  /** Adds a part, at a point of the window if it was dragged there. */
  readonly onAdd: (part: NewPart, at?: { readonly x: number; readonly y: number }) => void;
  /** The shape that is drawn next in the drawing. */
  readonly pen: LabShape["type"] | undefined;
  readonly onPen: (type: LabShape["type"] | undefined) => void;
  readonly onClose: () => void;
}

const newText: NewPart = { kind: "text", text: "Note" };

/** The parts that can be added to a lab: a click adds one in the middle of the drawing, and dragging adds it where it is dropped. */
export default function Palette({ templates, networkTypes, onAdd, pen, onPen, onClose }: PaletteProps) {
  const [wanted, setWanted] = useState("");
  const matches = (text: string) => text.toLowerCase().includes(wanted.trim().toLowerCase());
  const found = templates.filter(({ id, description, type }) => matches(`${id} ${description} ${type}`));
  const networks = networkTypes.filter((type) => matches(`${type} network`));
  const shapes = shapeTypes.filter((type) => matches(`shape ${type}`));
  const hasText = matches("text note");
  const [first]: readonly NewPart[] = [
    ...found.map(({ id }) => ({ kind: "node", template: id }) as const),
    ...networks.map((type) => ({ kind: "network", type }) as const),
    ...shapes.map((type) => ({ kind: "shape", type }) as const),
    ...(hasText ? [newText] : []),
  ];
  return (
    <section class="palette" aria-label="Add to the lab">
      <h2>
        Add
        <button type="button" class="close" onClick={onClose} aria-label="Close">
          ×
        </button>
      </h2>
      <input
        type="search"
        aria-label="Find a template"
        placeholder="Find a template"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && wanted.trim() !== "" && first !== undefined) onAdd(first);
        }}
      />
      <p class="hint" role="status">
        {first === undefined && "Nothing has this in its name or description."}
      </p>
      <ul>
        {found.map(({ id, description, type }) => (
          <li key={id}>
            <PaletteButton
              part={{ kind: "node", template: id }}
              label={id}
              icon={iconOf({ template: id, type })}
              hint={description}
              onAdd={onAdd}
            />
          </li>
        ))}
        {networks.map((type) => (
          <li key={`net ${type}`}>
            <PaletteButton
              part={{ kind: "network", type }}
              label={`${type} network`}
              icon="cloud"
              hint={`A network of type ${type}`}
              onAdd={onAdd}
            />
          </li>
        ))}
        {shapes.map((type) => (
          <li key={`shape ${type}`}>
            <PaletteButton
              part={{ kind: "shape", type }}
              label={type}
              shape={type}
              hint={`Draw a${type === "ellipse" ? "n" : ""} ${type} by dragging in the drawing`}
              isPressed={pen === type}
              onAdd={onAdd}
              // A key has no place to begin at: the shape gets the usual size.
              onClick={(event) => (event.detail === 0 ? onAdd({ kind: "shape", type }) : onPen(pen === type ? undefined : type))}
            />
          </li>
        ))}
        {hasText && (
          <li>
            <PaletteButton part={newText} label="text" hint="A text on the drawing" onAdd={onAdd} />
          </li>
        )}
      </ul>
      <p class="hint">
        Click, or drag into the drawing. Drag from the dot at the right of a node to another node to link them. Click a shape, and draw it
        by dragging in the drawing.
      </p>
    </section>
  );
}

const shapeGlyphs = {
  rectangle: "M-12 -8h24v16h-24z",
  ellipse: "M-13 0a13 9 0 0 1 26 0a13 9 0 0 1 -26 0z",
  line: "M-12 10L12 -10",
} as const;

interface PaletteButtonProps {
  readonly part: NewPart;
  readonly label: string;
  /** Absent: a text. */
  readonly icon?: IconName;
  readonly shape?: LabShape["type"];
  /** Absent: the button is not a switch. */
  readonly isPressed?: boolean;
  /** Default: adds the part. */
  readonly onClick?: (event: MouseEvent) => void;
  readonly hint: string;
  readonly onAdd: PaletteProps["onAdd"];
}

function PaletteButton({ part, label, icon, shape, hint, isPressed, onAdd, onClick = () => onAdd(part) }: PaletteButtonProps) {
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const { currentTarget } = event;
    const ghost = (currentTarget as HTMLElement).cloneNode(true) as HTMLElement;
    ghost.classList.add("ghost");
    followPointer(event, {
      onMove: ({ clientX, clientY }) => {
        if (ghost.parentNode === null) document.body.append(ghost);
        ghost.style.left = `${clientX}px`;
        ghost.style.top = `${clientY}px`;
      },
      onDrop: ({ clientX, clientY }) => {
        ghost.remove();
        onAdd(part, { x: clientX, y: clientY });
      },
      onCancel: () => ghost.remove(),
    });
  };
  return (
    <button type="button" class="palette-part" title={hint} aria-pressed={isPressed} onPointerDown={onPointerDown} onClick={onClick}>
      {icon !== undefined && (
        <svg viewBox="-15 -15 30 30" aria-hidden="true">
          <Glyph icon={icon} />
        </svg>
      )}
      {shape !== undefined && (
        <svg viewBox="-15 -15 30 30" aria-hidden="true">
          <path class="glyph" d={shapeGlyphs[shape]} />
        </svg>
      )}
      {label}
    </button>
  );
}
