/** Returns the anchors of headings as GitHub makes them, so that one link works there and in the service's pages. Repeated headings are numbered. */
export function slugger(): (heading: string) => string {
  const used = new Map<string, number>();
  return (heading) => {
    const base = heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
      .replaceAll(" ", "-");
    const count = used.get(base) ?? 0;
    used.set(base, count + 1);
    return count === 0 ? base : `${base}-${count}`;
  };
}
