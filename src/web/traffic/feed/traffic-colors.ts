import type { TrafficFilterData } from "../../../contract/schemas/editing.ts";

/** For filters that name no colour, or none that browsers know; each seen on light and on dark paper. */
const palette = ["#d6336c", "#1c7ed6", "#2f9e44", "#e8590c", "#7950f2", "#0c8599", "#b08900", "#c2255c"];
/** Of packets that no filter takes. */
const otherColor = "#868e96";

/** By name of a filter; null: packets that none takes. */
export function trafficColors(
  filters: readonly Pick<TrafficFilterData, "name" | "color">[],
  isColor: (text: string) => boolean,
): ReadonlyMap<string | null, string> {
  const named = filters.map(({ name, color }, index) => {
    const own = color !== undefined && isColor(color) ? color : undefined;
    return [name, own ?? palette[index % palette.length]!] as const;
  });
  return new Map<string | null, string>([...named, [null, otherColor]]);
}
