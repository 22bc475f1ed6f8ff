import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PacketNode } from "../../../contract/schemas/captures.ts";
import { rowsOfTree, type TreeRow } from "./tree-rows.ts";

interface PacketTreeProps {
  readonly tree: readonly PacketNode[];
  /** Path of the selected field. */
  readonly selected: string | undefined;
  readonly onSelect: (row: TreeRow) => void;
  /** Kinds of fields that are open; kept from one packet to the next. */
  readonly open: ReadonlySet<string>;
  readonly onOpen: (open: ReadonlySet<string>) => void;
}

/** Shows the fields of a packet as a tree. Arrow keys move, open and close; Home and End go to the first and the last field. */
export function PacketTree({ tree, selected, onSelect, open, onOpen }: PacketTreeProps) {
  const list = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState(0);
  const rows = rowsOfTree(tree, open);
  // The field that Tab focuses.
  const at = Math.max(
    0,
    rows.findIndex(({ path }) => path === selected),
  );
  useLayoutEffect(() => {
    if (moved > 0) list.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }, [moved]);
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  const go = (row: TreeRow | undefined) => {
    if (row === undefined) return;
    onSelect(row);
    setMoved((count) => count + 1);
  };
  const toggle = ({ kind, expanded }: TreeRow) => {
    const next = new Set(open);
    if (expanded) next.delete(kind);
    else next.add(kind);
    onOpen(next);
  };
  const key = (event: KeyboardEvent) => {
    const row = rows[at];
    if (row === undefined) return;
    const acts: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(rows[at + 1]),
      ArrowUp: () => go(rows[at - 1]),
      Home: () => go(rows[0]),
      End: () => go(rows.at(-1)),
      ArrowRight: () => (row.expanded === false ? toggle(row) : row.expanded === true ? go(rows[at + 1]) : undefined),
      ArrowLeft: () => (row.expanded === true ? toggle(row) : go(rows.find(({ path }) => path === row.parent))),
      Enter: () => (row.expanded === undefined ? go(row) : toggle(row)),
      " ": () => go(row),
    };
    const act = acts[event.key];
    if (act === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  };
  return (
    <div ref={list} class="packet-tree" role="tree" aria-label="Fields of the packet" onKeyDown={key}>
      {rows.map((row, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles keys
        <div
          key={row.path}
          role="treeitem"
          tabIndex={index === at ? 0 : -1}
          class={`field level-${Math.min(row.level, 12)}${row.severity === undefined ? "" : ` severity-${row.severity.toLowerCase()}`}${row.level === 1 ? " protocol" : ""}`}
          aria-level={row.level}
          aria-posinset={row.position}
          aria-setsize={row.siblings}
          aria-expanded={row.expanded}
          aria-selected={row.path === selected}
          onClick={() => go(row)}
          onDblClick={() => row.expanded !== undefined && toggle(row)}
        >
          <span
            class={row.expanded === undefined ? "twist none" : row.expanded ? "twist open" : "twist"}
            aria-hidden="true"
            onClick={(event) => {
              if (row.expanded === undefined) return;
              event.stopPropagation();
              toggle(row);
            }}
          />
          {row.label}
        </div>
      ))}
    </div>
  );
}
