import { useState } from "preact/hooks";
import type { GraphNode } from "./graph/graph.ts";

interface SearchProps {
  readonly nodes: readonly GraphNode[];
  /** Each time another one is looked at; undefined: none any more. */
  readonly onFound: (id: string | undefined) => void;
  /** Enter on the only one that is found. */
  readonly onChosen: (id: string) => void;
}

/** Finds nodes and networks by what their labels contain; Enter goes to the next, and opens the only one. */
export function Search({ nodes, onFound, onChosen }: SearchProps) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const word = query.trim().toLowerCase();
  const hits = word === "" ? [] : nodes.filter(({ label }) => label.toLowerCase().includes(word));
  const look = (next: number, among = hits) => {
    setAt(next);
    onFound(among[next]?.id);
  };
  return (
    <div class="search">
      <input
        type="search"
        placeholder="Find a node"
        aria-label="Find a node"
        value={query}
        onInput={(event) => {
          const text = event.currentTarget.value;
          const next = text.trim().toLowerCase();
          setQuery(text);
          // The one that is exactly this first, then those that begin with it.
          const first = next === "" ? -1 : best(nodes, next);
          const among = next === "" ? [] : nodes.filter(({ label }) => label.toLowerCase().includes(next));
          look(Math.max(0, first), among);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || hits.length === 0) return;
          if (hits.length === 1 && hits[0]!.kind === "node") onChosen(hits[0]!.id);
          else look((at + (event.shiftKey ? hits.length - 1 : 1)) % hits.length);
        }}
      />
      <output>{word === "" ? "" : hits.length === 0 ? "none" : `${at + 1} of ${hits.length}`}</output>
    </div>
  );
}

/** Where among those that contain the word the best is: the word itself, else one that begins with it. */
function best(nodes: readonly GraphNode[], word: string): number {
  const labels = nodes.map(({ label }) => label.toLowerCase()).filter((label) => label.includes(word));
  const exact = labels.indexOf(word);
  return exact >= 0 ? exact : labels.findIndex((label) => label.startsWith(word));
}
