import type { GraphNode } from "./graph/graph.ts";
import { networkHalf } from "./graph/link-shape.ts";
import { markWords } from "./graph/plan-marks.ts";

interface NodeShapeProps {
  readonly node: GraphNode;
  readonly status: string | undefined;
  readonly selected: boolean;
  readonly found: boolean;
  readonly onSelect: (id: string, byKeys?: boolean) => void;
  readonly onOpen: (id: string) => void;
}

/** A node or a network of the lab. */
export function NodeShape({ node, status, selected, found, onSelect, onOpen }: NodeShapeProps) {
  const { id, label, kind, type, at, mark } = node;
  const marked = mark === undefined ? "" : ` plan-${mark}`;
  const told = mark === undefined ? "" : `, ${markWords[mark]}`;
  if (kind === "network") {
    const half = networkHalf(label);
    return (
      // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it can be moved by keys, and does nothing when pressed
      <g
        class={`network${found ? " found" : ""}${marked}`}
        data-node={id}
        transform={`translate(${at.x} ${at.y})`}
        tabindex={0}
        role="img"
        aria-label={`Network ${label}, ${type}${told}`}
      >
        <rect x={-half} y={-16} width={2 * half} height={32} rx={16} />
        <text y={4}>{label}</text>
      </g>
    );
  }
  return (
    // In SVG names of attributes have a case: tabIndex would be another.
    // biome-ignore lint/a11y/useSemanticElements: a button cannot stand in a picture
    <g
      class={`node ${status ?? "unknown"}${selected ? " selected" : ""}${found ? " found" : ""}${marked}`}
      data-node={id}
      transform={`translate(${at.x} ${at.y})`}
      role="button"
      tabindex={0}
      aria-label={`${label}, ${type}, ${status ?? (mark === "comes" ? "not there yet" : "state unknown")}${told}`}
      aria-pressed={selected}
      onClick={() => onSelect(id)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        if (event.key === "Enter") onOpen(id);
        else onSelect(id, true);
      }}
    >
      <rect x={-22} y={-22} width={44} height={44} rx={10} />
      <Glyph type={type} />
      <circle class="state" cx={20} cy={-20} r={6} />
      <text y={40}>{label}</text>
    </g>
  );
}

/** What kind of node it is, drawn by us: pictures of a host's own would come from elsewhere. */
function Glyph({ type }: { readonly type: string }) {
  if (type === "router") return <path class="glyph" d="M-12 0H12M-12 0l5-5M-12 0l5 5M12 0l-5-5M12 0l-5 5M0-12v6M0 12v-6" />;
  if (type === "switch") return <path class="glyph" d="M-12-5H10l-5-5M12 5H-10l5 5" />;
  if (type === "pc") return <path class="glyph" d="M-11-10H11V4H-11ZM0 4v6M-6 10H6" />;
  return <path class="glyph" d="M-11-11H11V-2H-11ZM-11 2H11v9H-11ZM-7-6.500h.1M-7 6.500h.1" />;
}
