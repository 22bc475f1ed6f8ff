import type { GraphNode } from "../graph/graph.ts";
import { shortLabel } from "../graph/labels.ts";
import { networkHalf } from "../graph/link-shape.ts";
import { markText } from "../graph/plan-marks.ts";
import { Glyph } from "./glyph.tsx";
import type { OnSelectShape } from "./select-how.ts";

interface NodeShapeProps {
  readonly node: GraphNode;
  readonly status: string | undefined;
  readonly selected: boolean;
  readonly found: boolean;
  readonly hasPlug: boolean;
  readonly onSelect: OnSelectShape;
  readonly onOpen: (id: string) => void;
}

/** Draws a node or a network of the lab. */
export function NodeShape({ node, status, selected, found, hasPlug, onSelect, onOpen }: NodeShapeProps) {
  const { id, label, kind, type, icon, at, mark } = node;
  const markClass = mark === undefined ? "" : ` plan-${mark}`;
  const markLabel = mark === undefined ? "" : `, ${markText[mark]}`;
  if (kind === "network") {
    const half = networkHalf(label);
    return (
      // biome-ignore lint/a11y/useSemanticElements: SVG has no button element
      <g
        class={`network${selected ? " selected" : ""}${found ? " found" : ""}${markClass}`}
        data-node={id}
        transform={`translate(${at.x} ${at.y})`}
        tabindex={0}
        role="button"
        aria-label={`Network ${label}, ${type}${markLabel}`}
        aria-pressed={selected}
        onClick={(event) => onSelect(id, { add: adds(event) })}
        onKeyDown={(event) => {
          if (event.key !== " ") return;
          event.preventDefault();
          onSelect(id, { add: adds(event) });
        }}
      >
        <rect x={-half} y={-16} width={2 * half} height={32} rx={16} />
        {type === "nat" && (
          <g class="cloud" transform="translate(0 -26) scale(0.8)">
            <Glyph icon="cloud" />
          </g>
        )}
        <text y={4}>{label}</text>
        {hasPlug && <circle class="plug" cx={half} r={7} />}
      </g>
    );
  }
  return (
    // SVG attributes are case-sensitive: "tabIndex" would have no effect.
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button element
    <g
      class={`node ${status ?? "unknown"}${selected ? " selected" : ""}${found ? " found" : ""}${markClass}`}
      data-node={id}
      transform={`translate(${at.x} ${at.y})`}
      role="button"
      tabindex={0}
      aria-label={`${label}, ${type}, ${status ?? (mark === "created" ? "not created yet" : "state unknown")}${markLabel}`}
      aria-pressed={selected}
      onClick={(event) => onSelect(id, { add: adds(event) })}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        if (event.key === "Enter") onOpen(id);
        else onSelect(id, adds(event) ? { add: true } : { byKeyboard: true });
      }}
    >
      <rect x={-22} y={-22} width={44} height={44} rx={10} />
      <Glyph icon={icon} />
      <circle class="state" cx={20} cy={-20} r={6} />
      <text class="label" y={26}>
        {shortLabel(label)}
        {shortLabel(label) !== label && <title>{label}</title>}
      </text>
      {hasPlug && <circle class="plug" cx={28} r={7} />}
    </g>
  );
}

function adds({ ctrlKey, metaKey, shiftKey }: MouseEvent | KeyboardEvent): boolean {
  return ctrlKey || metaKey || shiftKey;
}
