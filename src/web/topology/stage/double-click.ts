/**
 * Calls `open` for a double click on a node. The first click opens a panel, which moves the drawing, so that the second click hits another element.
 * The second click therefore counts for the node of the first click, and is not passed to the element that it hits. Returns a function that removes
 * the listeners.
 */
export function onDoubleClick(stage: HTMLElement, open: (id: string) => void): () => void {
  const ended = new AbortController();
  const options = { signal: ended.signal, capture: true };
  let first: string | undefined;
  const nodeAt = (target: Element) =>
    stage.contains(target) ? (target.closest("[data-node]")?.getAttribute("data-node") ?? undefined) : undefined;
  addEventListener(
    "click",
    (event) => {
      const id = nodeAt(event.target as Element);
      if (event.detail === 1) first = id;
      if (event.detail !== 2 || first === undefined || id === first) return;
      event.stopPropagation();
      event.preventDefault();
    },
    options,
  );
  addEventListener("dblclick", () => first !== undefined && open(first), options);
  return () => ended.abort();
}
