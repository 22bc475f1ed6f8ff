/**
 * Calls `open` for a double click on a node. The first click opens a panel beside the picture, which moves the picture: the second click hits
 * something else at the same place of the page. It belongs to the node that the first click hit, and presses nothing there. Returns the function that ends it.
 */
export function onDoubleClick(stage: HTMLElement, open: (id: string) => void): () => void {
  const over = new AbortController();
  const options = { signal: over.signal, capture: true };
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
  return () => over.abort();
}
