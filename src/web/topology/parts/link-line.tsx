import type { Place } from "../../../layout/layout.ts";
import type { GraphLink } from "../graph/graph.ts";
import type { LinkShape } from "../graph/link-shape.ts";
import { markText } from "../graph/plan-marks.ts";
import type { OnSelectShape } from "./select-how.ts";

interface LinkLineProps {
  readonly link: GraphLink;
  readonly shape: LinkShape;
  readonly selected: boolean;
  readonly onSelect: OnSelectShape;
  /** Whether a capture of the link is running. */
  readonly isCaptured: boolean;
  /** Shows the packets of the link; absent: the user cannot capture. */
  readonly onPackets: ((id: string) => void) | undefined;
}

/** Draws a link with the names of its interfaces, its quality, and whether it is suspended. */
export function LinkLine({ link, shape, selected, onSelect, isCaptured, onPackets }: LinkLineProps) {
  const { suspended, quality, mark } = link;
  const parts = [
    link.endpoints.join(" to "),
    suspended ? "suspended" : "",
    quality,
    isCaptured ? "captured" : "",
    mark === undefined ? "" : markText[mark],
  ];
  const title = parts.filter(Boolean).join(", ");
  const id = `link:${link.id}`;
  return (
    <g
      class={`link${suspended ? " suspended" : ""}${quality === "" ? "" : " shaped"}${selected ? " selected" : ""}${mark === undefined ? "" : ` plan-${mark}`}`}
      data-link={link.id}
    >
      {/* The texts are outside of the button: its name contains them already. */}
      {/* biome-ignore lint/a11y/useSemanticElements: SVG has no button element */}
      <g
        class="link-button"
        role="button"
        tabindex={0}
        aria-label={`Link ${title}`}
        aria-pressed={selected}
        onClick={(event) => onSelect(id, { add: event.ctrlKey || event.metaKey || event.shiftKey })}
        onKeyDown={(event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          onSelect(id, { byKeyboard: true });
        }}
      >
        <path class="hit" d={shape.line} />
        <path class="line" d={shape.line}>
          <title>{title}</title>
        </path>
      </g>
      <text class={`port${shape.fromPort.isCrowded ? " crowded" : ""}`} x={shape.fromPort.x} y={shape.fromPort.y}>
        {link.fromInterface}
      </text>
      <text class={`port${shape.toPort.isCrowded ? " crowded" : ""}`} x={shape.toPort.x} y={shape.toPort.y}>
        {link.toInterface}
      </text>
      {(suspended || quality !== "") && (
        <g class="sign" transform={`translate(${shape.middle.x} ${shape.middle.y})`}>
          <circle r={8} />
          <path d={suspended ? "M-4-4L4 4M-4 4L4-4" : "M-5-1.500q2.500-3 5 0t5 0M-5 2.500q2.500-3 5 0t5 0"} />
        </g>
      )}
      {(suspended || quality !== "") && (
        <text class={`quality ${shape.noteAnchor}`} transform={`translate(${shape.note.x} ${shape.note.y})`}>
          {[...(suspended ? ["suspended"] : []), ...quality.split(", ")].filter(Boolean).map((text, row) => (
            <tspan key={text} x={0} dy={row === 0 ? 0 : 13}>
              {text}
            </tspan>
          ))}
        </text>
      )}
      {(isCaptured || onPackets !== undefined) && (
        <PacketsButton link={link} at={shape.packets} isCaptured={isCaptured} onPackets={onPackets} />
      )}
    </g>
  );
}

interface PacketsButtonProps {
  readonly link: GraphLink;
  readonly at: Place;
  readonly isCaptured: boolean;
  readonly onPackets: ((id: string) => void) | undefined;
}

/**
 * The mark of a link that is captured; a click shows its packets. Without a capture it appears when the link is pointed at or selected. The keyboard has
 * the link's menu for that.
 */
function PacketsButton({ link: { id, endpoints }, at, isCaptured, onPackets }: PacketsButtonProps) {
  const text = `${isCaptured ? "Captured: show the" : "Capture and show the"} packets of ${endpoints.join(" to ")}`;
  const mark = (
    <>
      <circle r={9} />
      <path d={isCaptured ? "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z" : "M-5-3H5M-5 0.500H5M-5 4H2"} />
      <title>{text}</title>
    </>
  );
  const transform = `translate(${at.x} ${at.y})`;
  if (onPackets === undefined) {
    return (
      <g class="packets captured" transform={transform}>
        {mark}
      </g>
    );
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button element
    <g
      class={`packets${isCaptured ? " captured" : ""}`}
      transform={transform}
      role="button"
      tabindex={isCaptured ? 0 : -1}
      aria-label={text}
      onClick={(event) => {
        event.stopPropagation();
        onPackets(id);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        onPackets(id);
      }}
    >
      {mark}
    </g>
  );
}
