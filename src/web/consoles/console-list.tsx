import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { LayoutEvent } from "./console-layout.ts";
import { shellTile } from "./shell-tile.ts";

/** A node with a text console. */
export interface ConsoleNode {
  readonly key: string;
  readonly name: string;
  readonly status: string;
}

interface ConsoleListProps {
  readonly rows: readonly ConsoleNode[];
  /** Whether the host runs shells in nodes. */
  readonly hasShells: boolean;
  readonly open: readonly ConsoleNode[];
  /** Key of the node whose console is shown. */
  readonly current: string | undefined;
  readonly dispatch: (event: LayoutEvent) => void;
  readonly children: ComponentChildren;
}

/** Maximum number of consoles that one button opens. */
const maxAtOnce = 12;

/** Lists the nodes with a text console, with a search, and opens their consoles. */
export function ConsoleList({ rows, hasShells, open, current, dispatch, children }: ConsoleListProps) {
  const [query, setQuery] = useState("");
  const isOpen = (key: string) => open.some((one) => one.key === key);
  const found = rows.filter(({ name }) => name.toLowerCase().includes(query.toLowerCase()));
  const closed = found.filter(({ key, status }) => status === "running" && !isOpen(key)).slice(0, maxAtOnce);
  return (
    <nav class="console-list" aria-label="Consoles">
      <input
        type="search"
        placeholder="Find a node"
        aria-label="Find a node"
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
      />
      <ul>
        {found.map(({ key, name, status }) => (
          <li key={key} class="console-item">
            <button
              type="button"
              class={`console-row${isOpen(key) ? " open" : ""}`}
              aria-current={key === current}
              onClick={() => dispatch({ type: "shown", node: key })}
            >
              <span class={`dot ${status}`} aria-hidden="true" /> {name} <small>{status}</small>
            </button>
            {hasShells && status === "running" && (
              <button
                type="button"
                class="shell-button"
                aria-label={`Open a shell in ${name}`}
                aria-current={shellTile(key) === current}
                onClick={() => dispatch({ type: "shown", node: shellTile(key) })}
              >
                Shell
              </button>
            )}
          </li>
        ))}
      </ul>
      {closed.length > 1 && (
        <button type="button" onClick={() => dispatch({ type: "all-opened", nodes: closed.map(({ key }) => key) })}>
          Open {closed.length} side by side
        </button>
      )}
      {children}
    </nav>
  );
}
