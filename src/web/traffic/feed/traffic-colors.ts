import type { TrafficFilterData } from "../../../contract/schemas/editing.ts";

/** Colours of filters without a valid colour, visible in both themes. */
const palette = ["#d6336c", "#1c7ed6", "#2f9e44", "#e8590c", "#7950f2", "#0c8599", "#b08900", "#c2255c"];
/** Colour of packets that match no filter. */
const otherColor = "#868e96";

/** Returns the colour of each filter, by name; null is the key of packets that match no filter. */
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
