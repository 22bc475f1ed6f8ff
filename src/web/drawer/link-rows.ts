import type { InspectedLink } from "../../contract/schemas/observe.ts";
import { liveOnlyLinks, qualityText } from "../topology/graph/quality-text.ts";

/** A link in the table of all links. */
export interface LinkRow {
  readonly link: InspectedLink;
  readonly from: string;
  readonly to: string;
  readonly state: "connected" | "suspended";
  /** The quality that the host applies, or if it is not known, the declared one; "" without impairments. */
  readonly quality: string;
  /** Whether the declared quality is another one. */
  readonly isLiveOnly: boolean;
}

export const linkColumns = ["from", "to", "state", "quality"] as const;
export type LinkColumn = (typeof linkColumns)[number];

export interface LinkSorting {
  readonly column: LinkColumn;
  readonly isDescending: boolean;
}

export function linkRows(links: readonly InspectedLink[]): readonly LinkRow[] {
  return links.map((link) => ({
    link,
    from: link.endpoints[0] ?? "",
    to: link.endpoints[1] ?? "",
    state: link.suspended ? "suspended" : "connected",
    quality: qualityText(link.quality ?? link.stored_quality ?? {}),
    isLiveOnly: liveOnlyLinks([link]) === 1,
  }));
}

/** Returns the rows in their order. Links without impairments are last in both orders, and equal rows are ordered by their ends. */
export function sortedLinks(rows: readonly LinkRow[], { column, isDescending }: LinkSorting): readonly LinkRow[] {
  const factor = isDescending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [one, other] = [a[column], b[column]];
    if ((one === "") !== (other === "")) return one === "" ? 1 : -1;
    return inOrder(one, other) * factor || inOrder(a.from, b.from) || inOrder(a.to, b.to);
  });
}

/** r2 comes before r10. */
function inOrder(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
