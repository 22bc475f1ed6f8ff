import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { rowWindow, scrollTo } from "../rows/row-window.ts";
import type { ByteRange } from "./tree-rows.ts";

interface PacketBytesProps {
  /** Hexadecimal. */
  readonly hex: string;
  /** Name of the source of the bytes, for screen readers. */
  readonly label: string;
  /** Bytes of the selected field. */
  readonly marked: ByteRange | undefined;
  readonly onByte: (byte: number) => void;
}

/** Px; as in captures.css. */
const rowHeight = 20;
const perLine = 16;

/** Shows bytes as hexadecimal and as text, and marks those of the selected field. Only the visible lines are in the page. */
export function PacketBytes({ hex, label, marked, onByte }: PacketBytesProps) {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ scrollTop: 0, viewHeight: 400 });
  const size = hex.length / 2;
  const view = { count: Math.ceil(size / perLine), rowHeight, ...scroll };
  const { first, end, top, height } = rowWindow(view);
  const measure = () => setScroll({ scrollTop: box.current!.scrollTop, viewHeight: Math.max(rowHeight, box.current!.clientHeight) });
  useLayoutEffect(() => {
    const watch = new ResizeObserver(measure);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (marked !== undefined) box.current!.scrollTop = scrollTo(Math.floor(marked.offset / perLine), view);
  }, [hex, marked?.offset]);
  const isMarked = (byte: number) => marked !== undefined && byte >= marked.offset && byte < marked.offset + marked.length;
  const onClick = (event: MouseEvent) => {
    const byte = (event.target as Element).getAttribute("data-byte");
    if (byte !== null) onByte(Number(byte));
  };
  const lines: preact.VNode[] = [];
  for (let line = first; line < end; line++) {
    const bytes = Array.from({ length: Math.min(perLine, size - line * perLine) }, (_, at) => line * perLine + at);
    lines.push(
      <div key={line} class="byte-line">
        <span class="byte-offset">{(line * perLine).toString(16).padStart(4, "0")}</span>
        <span class="byte-hex">
          {bytes.map((byte) => (
            <span key={byte} data-byte={byte} class={isMarked(byte) ? "marked" : undefined}>
              {hex.slice(byte * 2, byte * 2 + 2)}
            </span>
          ))}
        </span>
        <span class="byte-text">
          {bytes.map((byte) => (
            <span key={byte} data-byte={byte} class={isMarked(byte) ? "marked" : undefined}>
              {letter(Number.parseInt(hex.slice(byte * 2, byte * 2 + 2), 16))}
            </span>
          ))}
        </span>
      </div>,
    );
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a section would be a landmark
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it
    // biome-ignore lint/a11y/useKeyWithClickEvents: with the keyboard, fields are selected in the tree
    <div ref={box} class="packet-bytes" role="group" tabIndex={0} aria-label={`Bytes: ${label}`} onScroll={measure} onClick={onClick}>
      <div style={{ height: `${height}px` }}>
        <div style={{ transform: `translateY(${top}px)` }}>{lines}</div>
      </div>
    </div>
  );
}

function letter(byte: number): string {
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·";
}
