import { useState } from "preact/hooks";
import type { GraphNode } from "./graph/graph.ts";

interface SearchProps {
  readonly nodes: readonly GraphNode[];
  /** Called with each node that the search shows; undefined: none. */
  readonly onFound: (id: string | undefined) => void;
  /** Called for Enter if exactly one node is found. */
  readonly onChosen: (id: string) => void;
}

/** Finds nodes and networks by a part of their labels. Enter shows the next match, or selects the node if it is the only match. */
export function Search({ nodes, onFound, onChosen }: SearchProps) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const word = query.trim().toLowerCase();
  const hits = word === "" ? [] : nodes.filter(({ label }) => label.toLowerCase().includes(word));
  const show = (next: number, matches = hits) => {
    setAt(next);
    onFound(matches[next]?.id);
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
          const first = next === "" ? -1 : bestMatch(nodes, next);
          const matches = next === "" ? [] : nodes.filter(({ label }) => label.toLowerCase().includes(next));
          show(Math.max(0, first), matches);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || hits.length === 0) return;
          if (hits.length === 1 && hits[0]!.kind === "node") onChosen(hits[0]!.id);
          else show((at + (event.shiftKey ? hits.length - 1 : 1)) % hits.length);
        }}
      />
      <output>{word === "" ? "" : hits.length === 0 ? "none" : `${at + 1} of ${hits.length}`}</output>
    </div>
  );
}

/** Returns the index of the best match among the labels that contain the word: an equal label, otherwise one that begins with the word, otherwise -1. */
function bestMatch(nodes: readonly GraphNode[], word: string): number {
  const labels = nodes.map(({ label }) => label.toLowerCase()).filter((label) => label.includes(word));
  const exact = labels.indexOf(word);
  return exact >= 0 ? exact : labels.findIndex((label) => label.startsWith(word));
}
