import { Component } from "preact";
import type { CapturePacketRow } from "../../../contract/schemas/captures.ts";
import { packetKind, protocolName } from "./packet-kind.ts";

interface PacketLineProps {
  readonly index: number;
  /** Px. */
  readonly top: number;
  /** undefined: not loaded yet. */
  readonly row: CapturePacketRow | undefined;
  readonly selected: boolean;
  readonly formatTime: (at: string) => string;
  readonly onSelect: (index: number) => void;
}

/** One packet of the list. A class component, because scrolling must not render rows that did not change. */
export class PacketLine extends Component<PacketLineProps> {
  override shouldComponentUpdate({ row, top, selected, formatTime }: PacketLineProps): boolean {
    return row !== this.props.row || top !== this.props.top || selected !== this.props.selected || formatTime !== this.props.formatTime;
  }

  override render({ index, top, row, selected, formatTime }: PacketLineProps) {
    const cells =
      row === undefined
        ? ["", "", "", "", "", "", "…"]
        : [String(row.number), formatTime(row.at), row.from, row.to, protocolName(row), String(row.length), row.summary];
    return (
      // biome-ignore lint/a11y/useSemanticElements: as the grid
      // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
      // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles keys
      <div
        id={`packet-${index}`}
        class={`packet-line ${row === undefined ? "coming" : `kind-${packetKind(row)}`}${selected ? " selected" : ""}`}
        style={{ top: `${top}px` }}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={selected}
        onClick={() => this.props.onSelect(index)}
      >
        {cells.map((text, column) => (
          // biome-ignore lint/a11y/useSemanticElements: as the grid
          // biome-ignore lint/a11y/useFocusableInteractive: as the row
          <span key={column} role="gridcell">
            {text}
          </span>
        ))}
      </div>
    );
  }
}
